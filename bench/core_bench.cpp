// What does it cost to have a tensor: making one, looking at a part of it, swapping two, copying.
// bench/peer_torch.py and bench/peer_libtorch.cpp have the same names.
#include <benchmark/benchmark.h>
#include <tenon/tenon.h>

namespace {

using namespace tenon;

void swap(benchmark::State& state) {
  const Tensor a = arange(2), b = arange(3);
  for (auto _ : state) swap_tensors(a, b);
}
BENCHMARK(swap);

void swap_parameters(benchmark::State& state) {
  const Tensor a = nn::make_parameter(zeros({4})), b = nn::make_parameter(ones({4}));
  for (auto _ : state) swap_tensors(a, b);
}
BENCHMARK(swap_parameters);

void empty_4(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(empty({4}));
}
BENCHMARK(empty_4);

void empty_4_meta(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(empty({4}, {.device = Device::meta()}));
}
BENCHMARK(empty_4_meta);

void narrow(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) benchmark::DoNotOptimize(t.narrow(0, 1, 2));
}
BENCHMARK(narrow);

void view(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) benchmark::DoNotOptimize(t.view({3, 1}));
}
BENCHMARK(view);

void detach(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) benchmark::DoNotOptimize(t.detach());
}
BENCHMARK(detach);

void clone_3(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) benchmark::DoNotOptimize(t.clone());
}
BENCHMARK(clone_3);

void fill_3(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) t.fill_(1);
}
BENCHMARK(fill_3);

void size(benchmark::State& state) {
  const Tensor t = arange(3);
  for (auto _ : state) benchmark::DoNotOptimize(t.size(0));
}
BENCHMARK(size);

void print_1000(benchmark::State& state) {
  const Tensor t = linspace(-3, 3, 1000);
  for (auto _ : state) benchmark::DoNotOptimize(t.repr());
}
BENCHMARK(print_1000)->Unit(benchmark::kMicrosecond);

void transpose_64mb(benchmark::State& state) {
  const Tensor t = ones({4096, 4096});
  const Tensor out = empty({4096, 4096});
  for (auto _ : state) out.copy_(t.t());
}
BENCHMARK(transpose_64mb)->Unit(benchmark::kMillisecond)->UseRealTime();

void copy_64mb(benchmark::State& state) {
  const Tensor t = ones({4096, 4096});
  const Tensor out = empty({4096, 4096});
  for (auto _ : state) out.copy_(t);
}
BENCHMARK(copy_64mb)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
