// tenon: looking into checkpoints from a shell.
#include <tenon/tenon.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.h"
#include "text.h"

namespace {

constexpr char kHelp[] =
    R"(tenon: look into, check and convert checkpoints of PyTorch and safetensors

usage: tenon COMMAND [OPTIONS] FILE

  inspect FILE         what is in it
  verify FILE          whether its bytes match their checksums
  convert IN OUT       another format, dtype, or other names
  extract FILE NAME    one tensor, for NumPy or as bytes
  --version            the version
  --help               this; `tenon COMMAND --help` says more

Exit: 0 yes, 1 a negative answer, 2 wrong usage, 3 the input was refused, 4 the system failed.

  tenon inspect model.pth
  tenon inspect --json --hash --filter '^layers\.0\.' model.safetensors
  tenon verify folder_with_an_index/
  tenon extract model.pth layers.0.weight -o weight.npy
  tenon convert --dtype bfloat16 model.pth model.safetensors
)";

}  // namespace

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Large blocks go back to the system when they are freed: what was needed to read a file is not
  // held while something is made of it.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has seen enough is no error
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::fputs(kHelp, stderr);
    return tenon::cli::kUsage;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kHelp, stdout);
    return tenon::cli::written();
  }
  if (command == "--version") {
    std::printf("tenon %s\n", std::string(tenon::kVersion).c_str());
    return tenon::cli::written();
  }
  if (command == "convert") return tenon::cli::convert(rest);
  if (command == "extract") return tenon::cli::extract(rest);
  if (command == "inspect") return tenon::cli::inspect(rest);
  if (command == "verify") return tenon::cli::verify(rest);
  std::fprintf(stderr, "tenon: there is no command %s; tenon --help lists them\n",
               tenon::cli::escaped(command).c_str());
  return tenon::cli::kUsage;
}
