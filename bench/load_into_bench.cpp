// Loading a file into a module, converted on the way: how long it takes, and how much memory the
// process had at most. bench/modules_suite.py makes the file and asks PyTorch the same.
#include <tenon/load_into.h>
#include <tenon/tenon.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace tenon;

// As modules_suite.py's: 64 matrices of 64 MB.
class Large final : public nn::Module {
 public:
  Large() {
    for (int i = 0; i < 64; ++i) linears->append(nn::make<nn::Linear>(4096, 4096));
  }
  nn::Child<nn::ModuleList<nn::Linear>> linears{this, "linears"};
};

long peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  }
  return -1;
}

// The call that is measured.
void load(nn::Module& module, const std::string& file) {
  load_into(module, file, {.dtype = bfloat16});
}

}  // namespace

int load_into_bench(const std::string& file) {
  const auto module = with_device("meta", [] { return nn::make<Large>(); });
  const auto begin = std::chrono::steady_clock::now();
  load(*module, file);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const long peak = peak_kilobytes();
  std::int64_t bytes = 0;
  double sum = 0;  // of one number of each, so that nobody is fast by leaving the work for later
  for (const Tensor& parameter : module->parameters()) {
    if (parameter.dtype() != bfloat16) return 1;
    bytes += parameter.numel() * parameter.element_size();
    sum += parameter.flatten()[-1].item<double>();
  }
  std::printf("{\"seconds\": %.6f, \"peak\": %ld, \"result\": %lld, \"sum\": %.17g}\n",
              spent.count(), peak * 1024, static_cast<long long>(bytes), sum);
  return 0;
}
