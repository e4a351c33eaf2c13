// PyTorch's side of the benchmarks, from C++: what its operators cost without Python. Built by
// bench/run.py against the libraries in PyTorch's own wheel. Prints one JSON object: name to
// nanoseconds. (libtorch has no swap_tensors.)
#include <ATen/ATen.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

template <class F>
double per_call(F&& f, double seconds) {
  for (long calls = 1;; calls *= 4) {
    const auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < calls; ++i) f();
    const double spent =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (spent > seconds / 4) return spent / static_cast<double>(calls) * 1e9;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.2;
  const at::Tensor t = at::arange(3), big = at::ones({4096, 4096}), out = at::empty({4096, 4096});
  const auto meta = at::TensorOptions().device(at::kMeta);
  const char* separator = "{";
  const auto report = [&](const char* name, double nanoseconds) {
    std::printf("%s\"%s\": %.3f", separator, name, nanoseconds);
    separator = ", ";
  };
  report("empty_4", per_call([] { at::Tensor x = at::empty({4}); }, seconds));
  report("empty_4_meta", per_call([&] { at::Tensor x = at::empty({4}, meta); }, seconds));
  report("narrow", per_call([&] { at::Tensor x = t.narrow(0, 1, 2); }, seconds));
  report("view", per_call([&] { at::Tensor x = t.view({3, 1}); }, seconds));
  report("detach", per_call([&] { at::Tensor x = t.detach(); }, seconds));
  report("clone_3", per_call([&] { at::Tensor x = t.clone(); }, seconds));
  report("fill_3", per_call([&] { t.fill_(1); }, seconds));
  report("size", per_call([&] { [[maybe_unused]] const volatile auto s = t.size(0); }, seconds));
  report("transpose_64mb", per_call([&] { out.copy_(big.t()); }, seconds));
  report("copy_64mb", per_call([&] { out.copy_(big); }, seconds));
  std::printf("}\n");
}
