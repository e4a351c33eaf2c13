#include <tenon/tenon.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "commands.h"
#include "text.h"

namespace tenon::cli {

int written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kYes;
  if (errno == EPIPE) return kYes;
  std::fprintf(stderr, "tenon: cannot write: %s\n", std::strerror(errno));
  return kSystem;
}

int guarded(const std::string& file, const std::function<int()>& run) {
  const auto report = [](const std::string& text) {
    std::fprintf(stderr, "tenon: %s\n", escaped(text).c_str());
  };
  try {
    return run();
  } catch (const IoError& error) {
    report(error.what());
    return kSystem;
  } catch (const OutOfMemoryError& error) {
    report(file + ": " + error.what());
    return kSystem;
  } catch (const FormatError& error) {
    report(error.what());
    return kRefused;
  } catch (const ValueError& error) {
    report(file + ": " + error.what());  // about what was asked for, and not about its bytes
    return kRefused;
  } catch (const Error& error) {
    report(file + ": byte 0: " + error.what());
    return kRefused;
  } catch (const std::bad_alloc&) {
    report(file + ": not enough memory");
    return kSystem;
  } catch (const std::exception& error) {
    report(file + ": " + error.what());
    return kSystem;
  }
}

}  // namespace tenon::cli
