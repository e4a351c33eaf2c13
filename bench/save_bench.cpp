// Writing a checkpoint, beside plain writes of the same bytes. bench/save_suite.py asks PyTorch and
// safetensors the same.
#include <fcntl.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// As large as ours.
constexpr std::size_t kWrite = std::size_t{256} << 10;

struct Part {
  const char* data;
  std::size_t bytes;
  off_t place;
};

// The bytes of all tensors, one behind the other, on as many threads as we use, with the same steps
// to make them durable.
double plain_writes(const std::vector<Part>& parts, const std::string& folder, bool sync) {
  const std::string name = folder + "/plain", other = folder + "/plain.part";
  ::unlink(name.c_str());
  const auto begin = Clock::now();
  const int descriptor = ::open(other.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) std::abort();
  // As fast as it gets: without it, two threads that make a file longer wait for each other.
  const off_t end = parts.empty() ? 0 : parts.back().place + static_cast<off_t>(parts.back().bytes);
  if (::fallocate(descriptor, 0, 0, end) != 0) std::perror("fallocate");
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < parts.size(); i = next++) {
      for (std::size_t done = 0; done < parts[i].bytes;) {
        const ssize_t n =
            ::pwrite(descriptor, parts[i].data + done, std::min(kWrite, parts[i].bytes - done),
                     parts[i].place + static_cast<off_t>(done));
        if (n <= 0) std::abort();
        done += static_cast<std::size_t>(n);
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < tenon::get_num_threads(); ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (sync && ::fsync(descriptor) != 0) std::abort();
  if (::rename(other.c_str(), name.c_str()) != 0) std::abort();
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (sync && ::fsync(directory) != 0) std::abort();
  ::close(directory);
  const double spent = seconds_since(begin);
  ::close(descriptor);
  return spent;
}

double save(const tenon::Value& state, const std::string& path, bool sync) {
  ::unlink(path.c_str());
  const auto begin = Clock::now();
  tenon::save(state, path, {.durable = sync});
  return seconds_since(begin);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("usage: save_bench FILE FOLDER sync|nosync plain|pth|safetensors\n", stderr);
    return 2;
  }
  const std::string folder = arguments[2], what = arguments[4];
  const bool sync = std::string(arguments[3]) == "sync";
  tenon::StateDict state = tenon::load(arguments[1]);
  std::vector<Part> parts;
  off_t place = 0;
  constexpr std::size_t kPart = std::size_t{4} << 20;
  for (auto& [name, tensor] : state.tensors()) {
    const auto* data = static_cast<const char*>(tensor.data_ptr());
    const auto bytes = static_cast<std::size_t>(tensor.numel() * tensor.element_size());
    for (std::size_t at = 0; at < bytes; at += kPart) {
      const std::size_t n = std::min(kPart, bytes - at);
      parts.push_back({data + at, n, place});
      place += static_cast<off_t>(n);
    }
  }
  const tenon::Value value = state;
  const double seconds = what == "plain" ? plain_writes(parts, folder, sync)
                                         : save(value, folder + "/ours." + what, sync);
  std::printf("{\"bytes\": %lld, \"seconds\": %.6f}\n", static_cast<long long>(place), seconds);
  return 0;
}
