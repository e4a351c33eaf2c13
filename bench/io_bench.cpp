// How fast checkpoints are read. One question a run, the answer as JSON: bench/io_suite.py asks
// them, and asks the peers the same.
//
//   io_bench open FILE SECONDS     nanoseconds to load a file mapped and drop it; tensors in it
//   io_bench once FILE             the same once, for counting instructions
//   io_bench eager FILE            seconds to load it into memory, with and without checksums, and
//                                  to read the same bytes with parallel preads
//   io_bench resident FILE         bytes of memory the process has with the file open, mapped
#include <fcntl.h>
#include <sys/mman.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::size_t open_and_drop(const std::string& file) {
  return tenon::load(file, {.mmap = true}).entries().size();
}

int open(const std::string& file, double seconds) {
  std::size_t tensors = open_and_drop(file);
  for (long calls = 1;; calls *= 4) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) tensors = open_and_drop(file);
    const double spent = seconds_since(begin);
    if (spent < seconds / 4) continue;
    std::printf("{\"nanoseconds\": %.1f, \"tensors\": %zu}\n",
                spent / static_cast<double>(calls) * 1e9, tensors);
    return 0;
  }
}

// The bytes of the file into new memory, on as many threads as we use.
double parallel_pread(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const auto size = static_cast<std::size_t>(::lseek(descriptor, 0, SEEK_END));
  constexpr std::size_t kPart = std::size_t{8} << 20;
  const auto begin = Clock::now();
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (descriptor < 0 || memory == MAP_FAILED) std::abort();
  ::madvise(memory, size, MADV_HUGEPAGE);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = next++ * kPart; at < size; at = next++ * kPart) {
      for (std::size_t done = 0, n = std::min(kPart, size - at); done < n;) {
        const ssize_t got = ::pread(descriptor, static_cast<char*>(memory) + at + done, n - done,
                                    static_cast<off_t>(at + done));
        if (got <= 0) std::abort();
        done += static_cast<std::size_t>(got);
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < tenon::get_num_threads(); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  const double spent = seconds_since(begin);
  ::munmap(memory, size);
  ::close(descriptor);
  return spent;
}

double eager_load(const std::string& file, bool verify) {
  const auto begin = Clock::now();
  const tenon::Value state = tenon::load(file, {.verify = verify});
  return seconds_since(begin);
}

int eager(const std::string& file) {
  std::vector<double> with, without, limit;
  eager_load(file, true);  // the file is in the cache, and the threads are there
  for (int i = 0; i < 5; ++i) {
    with.push_back(eager_load(file, true));
    limit.push_back(parallel_pread(file));
    without.push_back(eager_load(file, false));
    limit.push_back(parallel_pread(file));
  }
  const auto median = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  std::printf("{\"checked\": %.6f, \"unchecked\": %.6f, \"pread\": %.6f}\n", median(with),
              median(without), median(limit));
  return 0;
}

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  }
  return -1;
}

int resident(const std::string& file) {
  const auto begin = Clock::now();
  const tenon::Value state = tenon::load(file, {.mmap = true});
  const double spent = seconds_since(begin);
  std::printf("{\"resident\": %ld, \"seconds\": %.6f, \"tensors\": %zu}\n",
              resident_kilobytes() * 1024, spent, state.entries().size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "", file = argc > 2 ? argv[2] : "";
  if (what == "open") return open(file, argc > 3 ? std::atof(argv[3]) : 0.5);
  if (what == "once") return open_and_drop(file) == 0 ? 1 : 0;
  if (what == "eager") return eager(file);
  if (what == "resident") return resident(file);
  std::fputs("usage: io_bench open|once|eager|resident FILE [SECONDS]\n", stderr);
  return 2;
}
