#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text.h"

namespace tenon::cli {

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100))
    return;
  last_ = now;
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string bar(static_cast<std::size_t>(share * 30), '#');
  bar.resize(30, '.');
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(total - std::min(done, total)) / rate : 0;
  std::fprintf(stderr, "\r\x1b[K%s [%s] %3.0f%%  %s of %s  %s/s  %.0f:%02.0f left", what_.c_str(),
               bar.c_str(), share * 100, human_bytes(done).c_str(), human_bytes(total).c_str(),
               human_bytes(static_cast<unsigned long long>(rate)).c_str(), std::floor(left / 60),
               std::floor(std::fmod(left, 60)));
  shown_ = true;
}

Watch Progress::watch() {
  Watch watch;
  watch.progress = [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
  return watch;
}

}  // namespace tenon::cli
