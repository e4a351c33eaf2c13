// How fast are numbers: conversions, fills, arithmetic and sums of 400 MB, random numbers, and the
// overhead of a calculation with four of them.
#include <benchmark/benchmark.h>
#include <tenon/tenon.h>

#include <cstring>
#include <thread>

namespace {

using namespace tenon;

constexpr std::int64_t kMany = 100'000'000;

// The same for all, made once.
struct Operands {
  Tensor a = rand({kMany}), b = rand({kMany}), out = full({kMany}, 1.0);
  Tensor narrow = full({kMany}, 1.0, {.dtype = bfloat16});
};
const Operands& operands() {
  static const Operands all;
  return all;
}

// What the machine can do: as many threads as we use, copying the source of the cast.
void memcpy_400mb(benchmark::State& state) {
  const Operands& o = operands();
  const auto threads = static_cast<std::size_t>(get_num_threads());
  const std::size_t part = kMany * sizeof(float) / threads;
  for (auto _ : state) {
    std::vector<std::thread> others;
    const auto copy = [&](std::size_t i) {
      std::memcpy(static_cast<char*>(o.out.data_ptr()) + i * part,
                  static_cast<const char*>(o.a.data_ptr()) + i * part, part);
    };
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(copy, i);
    copy(0);
    for (std::thread& other : others) other.join();
  }
}
void cast_400mb(benchmark::State& state) {
  for (auto _ : state) operands().narrow.copy_(operands().a);
}
void fill_400mb(benchmark::State& state) {
  for (auto _ : state) operands().out.fill_(3.0);
}
void add_400mb(benchmark::State& state) {
  for (auto _ : state) add_out(operands().out, operands().a, operands().b);
}
void mul_400mb(benchmark::State& state) {
  for (auto _ : state) mul_out(operands().out, operands().a, operands().b);
}
void exp_400mb(benchmark::State& state) {
  for (auto _ : state) exp_out(operands().out, operands().a);
}
void sum_400mb(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(operands().a.sum());
}
#define TENON_BIG(name) BENCHMARK(name)->Unit(benchmark::kMillisecond)->UseRealTime()
TENON_BIG(memcpy_400mb);
TENON_BIG(cast_400mb);
TENON_BIG(fill_400mb);
TENON_BIG(add_400mb);
TENON_BIG(mul_400mb);
TENON_BIG(exp_400mb);
TENON_BIG(sum_400mb);

void rand_1e7(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(rand({10'000'000}));
}
void randn_1e7(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(randn({10'000'000}));
}
TENON_BIG(rand_1e7);
TENON_BIG(randn_1e7);

void multiply(benchmark::State& state, std::int64_t n, DType dtype) {
  const Tensor a = rand({n, n}).to(dtype), b = rand({n, n}).to(dtype);
  const Tensor out = empty({n, n}, {.dtype = dtype});
  for (auto _ : state) mm_out(out, a, b);
}
void mm_1024(benchmark::State& state) { multiply(state, 1024, float32); }
void mm_1024_bfloat16(benchmark::State& state) { multiply(state, 1024, bfloat16); }
void mm_1024_float64(benchmark::State& state) { multiply(state, 1024, float64); }
void mm_64(benchmark::State& state) { multiply(state, 64, float32); }
TENON_BIG(mm_1024);
TENON_BIG(mm_1024_bfloat16);
TENON_BIG(mm_1024_float64);
TENON_BIG(mm_64);

void sort_1e6(benchmark::State& state) {
  const Tensor x = rand({1'000'000});
  for (auto _ : state) benchmark::DoNotOptimize(sort(x));
}
void topk_1e6(benchmark::State& state) {
  const Tensor x = rand({1'000'000});
  for (auto _ : state) benchmark::DoNotOptimize(topk(x, 10));
}
// Rows of a table of words.
void index_select_64mb(benchmark::State& state) {
  const Tensor table = rand({50'000, 1024}), words = randint(0, 50'000, {16'384});
  const Tensor out = empty({16'384, 1024});
  for (auto _ : state) index_select_out(out, table, 0, words);
}
TENON_BIG(sort_1e6);
TENON_BIG(topk_1e6);
TENON_BIG(index_select_64mb);

void add_4(benchmark::State& state) {
  const Tensor x = rand({4}), y = rand({4});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}
BENCHMARK(add_4);
void sum_4(benchmark::State& state) {
  const Tensor x = rand({4});
  for (auto _ : state) benchmark::DoNotOptimize(x.sum());
}
BENCHMARK(sum_4);

}  // namespace
