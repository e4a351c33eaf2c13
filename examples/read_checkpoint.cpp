// Opens a checkpoint, says what is in it, and loads it mapped and eagerly, each in a process of its
// own, with the time and memory it takes. At last it sees whether both ways gave the same bytes.
//
//   read_checkpoint [FILE]
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/checkpoint.h>
#include <tenon/error.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>

using namespace tenon;

namespace {

double milliseconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
      .count();
}

// What the process has taken at most, in MB.
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Runs it in a child, so that one way's memory does not count for the next.
void report(const char* what, const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const double before = peak_memory(), time = milliseconds(work);
    std::printf("%-28s %8.2f ms, %7.1f MB more memory\n", what, time, peak_memory() - before);
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

// How many tensors have the same bytes in both; -1 if one has not.
int same_tensors(const Checkpoint& checkpoint, const Value& a, const Value& b) {
  int count = 0;
  for (const TensorFacts& facts : checkpoint.tensors()) {
    const Value *x = a.find_path(facts.name), *y = b.find_path(facts.name);
    if (x == nullptr || y == nullptr || !x->is_tensor() || !y->is_tensor()) continue;
    const Storage one = x->as_tensor().storage(), two = y->as_tensor().storage();
    if (one.nbytes() != two.nbytes()) return -1;
    if (one.data() != nullptr && std::memcmp(one.data(), two.data(), one.nbytes()) != 0) return -1;
    ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : TENON_EXAMPLE_CHECKPOINT;
  try {
    const Checkpoint checkpoint = Checkpoint::open(file);
    std::int64_t bytes = 0;
    for (const TensorFacts& t : checkpoint.tensors()) bytes += t.shape.numel() * itemsize(t.dtype);
    std::cout << file << ": " << checkpoint.format() << ", " << checkpoint.tensors().size()
              << " tensors of " << bytes << " bytes together\n";
    std::size_t shown = 0;
    for (const TensorFacts& t : checkpoint.tensors()) {
      if (++shown > 8) {
        std::cout << "  ... and " << checkpoint.tensors().size() - 8 << " more\n";
        break;
      }
      std::cout << "  " << t.name << "  " << info(t.dtype).name << "  " << t.shape << "\n";
    }
    struct stat facts{};
    if (stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode))
      std::cout << "the file has " << static_cast<double>(facts.st_size) / (1 << 20) << " MB\n"
                << std::flush;
    const LoadOptions mapped{.mmap = true, .map_location = Device::cpu()};
    const LoadOptions eager{.map_location = Device::cpu()};
    report("headers only", [&] { Checkpoint::open(file); });
    report("mapped, nothing touched", [&] { load(file, mapped); });
    report("eagerly, checksums compared", [&] { load(file, eager); });
    const int same = same_tensors(checkpoint, load(file, mapped), load(file, eager));
    if (same < 0) {
      std::cerr << "mapped and eagerly loaded tensors differ\n";
      return 1;
    }
    std::cout << same << " tensors have the same bytes both ways\n";
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
}
