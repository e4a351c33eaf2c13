#include <tenon/tenon.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "commands.h"

namespace tenon::cli {

namespace {

// Characters that a terminal would act on, or that turn the direction of text around.
bool is_dangerous(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 ||
         c == 0x2029 || c == 0xfeff;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80    ? 1
                               : first >= 0xf0 ? 4
                               : first >= 0xe0 ? 3
                               : first >= 0xc2 ? 2
                                               : 0;
    bool whole = length != 0 && text.size() - i >= length;
    std::uint32_t c = length == 1 ? first : first & (0x7fu >> length);
    for (std::size_t k = 1; whole && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      whole = (next & 0xc0) == 0x80;
      c = c << 6 | (next & 0x3fu);
    }
    char buffer[16];
    if (!whole) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", first);
      out += buffer;
      ++i;
      continue;
    }
    if (is_dangerous(c)) {
      std::snprintf(buffer, sizeof buffer, "\\u{%x}", c);
      out += buffer;
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

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
  } catch (const Error& error) {
    report(file + ": byte 0: " + error.what());
    return kRefused;
  } catch (const std::bad_alloc&) {
    report(file + ": not enough memory");
    return kSystem;
  }
}

}  // namespace tenon::cli
