// Archives that are right, around programs that nearly are: flipped bits in an archive end at its
// checksums.
#include <cstdint>

#include "archive.h"
#include "checks.h"
#include "pickle_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  Choices choices(data, size);
  const std::uint8_t how = choices.byte();
  std::vector<ArchiveEntry> entries;
  const bool deflated = (how & 3) == 3;
  // Numbers that indices may be: 0, 1, 2, and then sometimes others.
  std::string bytes(kProgramStorageBytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8)
    bytes[at] = static_cast<char>(at < 24 ? at / 8 : choices.below(5));
  for (std::size_t i = 0; i < kProgramStorages; ++i)
    entries.push_back({"archive/data/" + std::to_string(i), bytes, deflated && (how & 16) != 0});
  entries.push_back({"archive/version", "3\n"});
  if ((how & 12) != 0) entries.push_back({"archive/byteorder", (how & 12) == 4 ? "big" : "little"});
  entries.insert(entries.begin(), {"archive/data.pkl", pickle_program(choices), deflated});
  const std::string file = archive_of(entries);
  check_file(std::as_bytes(std::span(file)));
  return 0;
}
