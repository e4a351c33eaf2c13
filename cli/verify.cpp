// tenon verify: whether the bytes of a checkpoint match their checksums.
#include <tenon/tenon.h>

#include <cstdio>
#include <string>

#include "commands.h"
#include "options.h"
#include "progress.h"
#include "text.h"

namespace tenon::cli {

namespace {

constexpr char kHelp[] =
    R"(usage: tenon verify [OPTIONS] [--] FILE

Reads every byte of a checkpoint and compares it with its checksum. Nothing in the file is executed.

  --inert          accept pickled objects and TorchScript archives, too
  --follow-links   the files an index names may be links out of its folder
  --raise-limits N reading may take N times the memory and steps that its size warrants

Prints `verified`, or `unverified: no checksums` where the format has none.
Exit: 0 all match, 1 some do not, 2 wrong usage, 3 the file is refused, 4 the system failed.

  tenon verify model.pth && echo fine
)";

}  // namespace

int verify(const std::vector<std::string>& arguments) {
  OpenOptions options;
  std::string name;
  switch (parse("verify", kHelp, arguments,
                {{"--inert", &options.inert},
                 {"--follow-links", &options.follow_links},
                 {.name = "--raise-limits", .limits = &options.limits}},
                name)) {
    case Parsed::wrong: return kUsage;
    case Parsed::help: return written();
    case Parsed::yes: break;
  }
  return guarded(name, [&] {
    try {
      const Checkpoint file = Checkpoint::open(name, options);
      Progress progress("verifying");
      file.verify(progress.watch());
      std::puts(file.has_checksums() ? "verified" : "unverified: no checksums");
      return written();
    } catch (const ChecksumError& error) {
      std::fprintf(stderr, "tenon: %s\n", escaped(error.what()).c_str());
      return kNo;
    }
  });
}

}  // namespace tenon::cli
