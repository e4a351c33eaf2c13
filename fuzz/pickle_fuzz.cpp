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
  for (int i = 0; i < 4; ++i) {
    // Numbers that indices may be, and some that they may not.
    std::string bytes(std::size_t{16} << i, '\0');
    for (std::size_t at = 0; at < bytes.size(); at += 8)
      bytes[at] = static_cast<char>(at < 24 ? at / 8 : choices.byte() % 5);
    entries.push_back({"archive/data/" + std::to_string(i), bytes, deflated && (how & 16) != 0});
  }
  entries.push_back({"archive/version", "3\n"});
  if ((how & 12) != 0) entries.push_back({"archive/byteorder", (how & 12) == 4 ? "big" : "little"});
  entries.insert(entries.begin(), {"archive/data.pkl", pickle_program(choices), deflated});
  const std::string file = archive_of(entries);
  check_file(std::as_bytes(std::span(file)));
  return 0;
}
