#include "tenon/ops/matmul.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <thread>

#include "ops/onednn/instruction_set.h"
#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

// Sum by sum, in double.
Tensor reference(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(float64), y = b.to(float64);
  return (x.unsqueeze(2) * y.unsqueeze(0)).sum(1);
}

TEST(Matmul, EveryDtypeAndEveryOrderInMemory) {
  manual_seed(1);
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int8, uint8}) {
    for (const auto& [m, k, n] :
         {std::tuple(1, 1, 1), std::tuple(3, 5, 7), std::tuple(17, 70, 33), std::tuple(1, 300, 20),
          std::tuple(130, 9, 1), std::tuple(1, 16, 1), std::tuple(2, 37, 21), std::tuple(3, 64, 9),
          std::tuple(23, 37, 3), std::tuple(1001, 70, 2), std::tuple(70, 129, 1)}) {
      const auto make = [&](std::int64_t rows, std::int64_t columns) {
        return is_integral(dtype) ? randint(0, 3, {rows, columns}, {.dtype = dtype})
                                  : randn({rows, columns}).to(dtype);
      };
      const Tensor plain_a = make(m, k), plain_b = make(k, n);
      const Tensor turned_a = make(k, m).t(), turned_b = make(n, k).t();
      const Tensor wide_a = make(m, 2 * k).slice(1, {}, {}, 2),
                   wide_b = make(k, 2 * n).slice(1, 0, n);
      const double close = is_integral(dtype) ? 0
                           : dtype == float64 ? 1e-12
                           : dtype == float32 ? 1e-4
                                              : 0.05;
      for (const Tensor& a : {plain_a, turned_a, wide_a}) {
        for (const Tensor& b : {plain_b, turned_b, wide_b}) {
          const Tensor ours = mm(a, b);
          EXPECT_EQ(ours.dtype(), dtype);
          const Tensor known = reference(a, b);
          const Tensor expected = is_integral(dtype) ? known.to(int64).to(dtype) : known;
          EXPECT_TRUE(
              allclose(ours.to(float64), expected.to(float64), {.rtol = close, .atol = close * 4}))
              << dtype << " " << m << "x" << k << "x" << n;
        }
      }
    }
  }
}

// One token's query beside all keys: a few rows, many times over.
TEST(Matmul, BatchesOfAFewRowsAreRightInEveryMatrix) {
  manual_seed(6);
  const Tensor keys = randn({2, 90, 4, 40}).transpose(1, 2), query = randn({2, 4, 1, 40});
  const Tensor values = randn({2, 1, 90, 40}).expand({2, 4, 90, 40});
  for (const DType dtype : {float32, bfloat16, float16}) {
    const Tensor k = keys.to(dtype), q = query.to(dtype), v = values.to(dtype);
    const double close = dtype == float32 ? 1e-5 : 0.05;
    const auto expect_close = [&](const Tensor& ours, const Tensor& known) {
      EXPECT_TRUE(allclose(ours.to(float64), known, {.rtol = close, .atol = close * 4})) << dtype;
    };
    expect_close(matmul(q, k.mT()), matmul(q.to(float64), k.to(float64).mT()));
    expect_close(matmul(k, q.mT()), matmul(k.to(float64), q.to(float64).mT()));
    const Tensor weights = matmul(q, k.mT());
    expect_close(matmul(weights, v), matmul(weights.to(float64), v.to(float64)));
  }
}

// Products of several blocks, which are shared out.
TEST(Matmul, LargeProductsAreRightInEveryBlock) {
  manual_seed(4);
  for (const DType dtype : {float32, bfloat16, float64}) {
    for (const auto& [m, k, n] : {std::tuple(600, 50, 700), std::tuple(520, 300, 40)}) {
      const Tensor a = randn({m, k}).to(dtype), b = randn({k, n}).to(dtype);
      const Tensor known = mm(a.to(float64), b.to(float64));
      // Doubles are compared with sums taken one by one.
      const Tensor column = (a.to(float64) * b.select(1, n - 1).to(float64)).sum(1);
      EXPECT_TRUE(allclose(known.select(1, n - 1), column, {.rtol = 1e-10, .atol = 1e-10}));
      const double close = dtype == float64 ? 1e-12 : dtype == float32 ? 1e-4 : 0.05;
      for (const Tensor& left : {a, a.t().contiguous().t()}) {
        for (const Tensor& right : {b, b.t().contiguous().t()}) {
          EXPECT_TRUE(allclose(mm(left, right).to(float64), known,
                               {.rtol = close, .atol = close * std::sqrt(static_cast<double>(k))}))
              << dtype << m;
        }
      }
    }
  }
}

TEST(Matmul, CalculatesOnTheCpuInsideAnotherDevicesScope) {
  const Tensor whole = ones({3, 3}, {.dtype = int64}), half = ones({3, 3}, {.dtype = float16});
  const Tensor complex = ones({3, 3}, {.dtype = complex64});
  with_device("meta", [&] {
    EXPECT_EQ(mm(whole, whole)[0][0].item<int>(), 3);
    EXPECT_EQ(mm(half, half)[0][0].item<int>(), 3);
    EXPECT_EQ(mm(complex, complex)[0][0].item<std::complex<double>>(), 3.0);
  });
}

TEST(Matmul, ComplexNumbersAndTheirConjugates) {
  using C = std::complex<double>;
  const Tensor a = tensor({{C(1, 2), C(0, 1)}}), b = tensor({{C(2, 0)}, {C(0, 1)}});
  EXPECT_EQ(mm(a, b).item<C>(), C(1, 4));
  EXPECT_EQ(mm(a.conj(), b).item<C>(), C(3, -4));
}

TEST(Matmul, ShapesAreThoseOfPyTorch) {
  const auto shape = [](const Shape& a, const Shape& b) {
    return matmul(ones(a), ones(b)).shape();
  };
  EXPECT_EQ(shape({3}, {3}), Shape({}));
  EXPECT_EQ(shape({2, 3}, {3}), Shape({2}));
  EXPECT_EQ(shape({3}, {3, 4}), Shape({4}));
  EXPECT_EQ(shape({5, 2, 3}, {3}), Shape({5, 2}));
  EXPECT_EQ(shape({3}, {5, 3, 2}), Shape({5, 2}));
  EXPECT_EQ(shape({5, 2, 3}, {3, 4}), Shape({5, 2, 4}));
  EXPECT_EQ(shape({4, 1, 2, 3}, {5, 3, 2}), Shape({4, 5, 2, 2}));
  EXPECT_EQ(shape({2, 0}, {0, 3}), Shape({2, 3}));
  EXPECT_TRUE(equal(matmul(ones({2, 0}), ones({0, 3})), zeros({2, 3})));
  EXPECT_TRUE(equal(outer(tensor({1, 2}), tensor({3, 4})), tensor({{3, 4}, {6, 8}})));
}

TEST(Matmul, WhatDoesNotFitIsNamed) {
  expect_error<ShapeError>([] { mm(ones({2, 3}), ones({4, 5})); }, "2x3", "4x5");
  expect_error<ShapeError>([] { mm(ones({2}), ones({2, 5})); }, "self must be a matrix", "1");
  expect_error<ShapeError>([] { bmm(ones({2, 3, 2}), ones({3, 2, 3})); }, "[2, 2]", "[3, 2]");
  expect_error<ShapeError>([] { dot(ones({2}), ones({3})); }, "[2]", "[3]");
  expect_error<ShapeError>([] { mv(ones({2, 3}), ones({2})); }, "2x3", "2");
  expect_error<ShapeError>([] { matmul(ones({}), ones({3})); }, "0D", "1D");
  expect_error<ShapeError>([] { matmul(ones({5, 2, 3}), ones({4, 3, 2})); }, "5", "4");
  expect_error<DTypeError>([] { mm(ones({2, 2}), ones({2, 2}, {.dtype = float64})); }, "float32",
                           "float64");
  expect_error<NotImplementedError>(
      [] { mm(ones({2, 2}, {.dtype = bool_}), ones({2, 2}, {.dtype = bool_})); }, "mm", "Bool");
  expect_error<DeviceError>([] { mm(ones({2, 2}), empty({2, 2}, {.device = "meta"})); }, "meta");
  EXPECT_EQ(mm(empty({2, 3}, {.device = "meta"}), empty({3, 4}, {.device = "meta"})).shape(),
            Shape({2, 4}));
}

TEST(Matmul, WritesIntoMemoryThatIsThere) {
  const Tensor a = rand({4, 4}), b = rand({4, 4}), product = mm(a, b), out = empty({4, 4});
  const void* const memory = out.data_ptr();
  mm_out(out, a, b);
  EXPECT_TRUE(equal(out, product));
  EXPECT_EQ(out.data_ptr(), memory);
  EXPECT_EQ(out.version(), 1);
  mm_out(out.t(), a, b);  // another order in memory
  EXPECT_TRUE(equal(out.t(), product));
  mm_out(a, a, b);  // what is read is what is written
  EXPECT_TRUE(equal(a, product));
  const Tensor batch = empty({0});
  matmul_out(batch, rand({2, 3, 4}), b);
  EXPECT_EQ(batch.shape(), Shape({2, 3, 4}));
  const Tensor none = zeros({3, 0});
  mm_out(none, none, zeros({0, 4}));  // read before it takes the shape of the result
  EXPECT_TRUE(equal(none, zeros({3, 4})));
  expect_error<DTypeError>([&] { mm_out(empty({4, 4}, {.dtype = float64}), rand({4, 4}), b); },
                           "float64");
  expect_error<ShapeError>([&] { mm_out(out, rand({2, 4}), b); }, "[4, 4]", "[2, 4]");
}

TEST(Matmul, ResultsDoNotDependOnTheNumberOfThreads) {
  manual_seed(3);
  const int before = get_num_threads();
  for (const DType dtype : {float32, bfloat16, float64}) {
    for (const auto& [m, k, n] :
         {std::tuple(300, 700, 500), std::tuple(1, 4000, 1000), std::tuple(2000, 64, 40)}) {
      const Tensor a = randn({m, k}).to(dtype);
      const Tensor b = m == 1 ? randn({n, k}).to(dtype).t() : randn({k, n}).to(dtype);
      set_num_threads(1);
      const Tensor one = mm(a, b);
      for (const int threads : {2, 3, 8}) {
        set_num_threads(threads);
        EXPECT_TRUE(equal(mm(a, b), one)) << dtype << threads;
      }
    }
  }
  set_num_threads(before);
}

// oneDNN's OpenMP would wait for threads that a fork leaves behind.
TEST(Matmul, AForkedChildMultipliesToo) {
  for (const DType dtype : {float32, bfloat16}) {
    const Tensor a = rand({400, 400}).to(dtype), b = rand({400, 400}).to(dtype), product = mm(a, b);
    // Somebody is always in the middle of one.
    std::atomic<bool> stop = false;
    std::thread other([&] {
      for (std::int64_t n = 1; !stop; ++n) mm(a.narrow(0, 0, n % 300 + 1), b);
    });
    for (int i = 0; i < 10; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);  // a child that waits forever is a failure, not a hang
        _exit(equal(mm(a, b), product) ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << dtype;
    }
    stop = true;
    other.join();
  }
}

TEST(Matmul, HistoryHasTheNamesOfPyTorch) {
  const Tensor x = ones({2, 2}, {.requires_grad = true});
  EXPECT_EQ(matmul(x, x).grad_fn()->name(), "MmBackward0");
  // A product of a batch is nobody's view, and may be written into.
  const Tensor batch = matmul(ones({3, 2, 2}), x);
  EXPECT_EQ(batch.grad_fn()->name(), "UnsafeViewBackward0");
  batch.add_(1);
  EXPECT_EQ(batch.grad_fn()->name(), "AddBackward0");
  EXPECT_EQ(mv(x, x[0]).grad_fn()->name(), "MvBackward0");
  EXPECT_EQ(dot(x[0], x[1]).grad_fn()->name(), "DotBackward0");
  EXPECT_EQ(bmm(x.unsqueeze(0), x.unsqueeze(0)).grad_fn()->name(), "BmmBackward0");
  expect_error<AutogradError>([&] { mm_out(empty({2, 2}), x, x); }, "out");
}

// A processor in words: the highest leaf, whether it claims tiles, and what it says of them.
CpuidRegisters registers(std::uint32_t leaf, std::uint32_t subleaf, std::uint32_t highest,
                         bool claims, std::uint32_t palettes, std::uint32_t tiles) {
  if (leaf == 0) return {highest, 0, 0, 0};
  if (leaf == 7) return {0, 0, 0, claims ? (1u << 22) | (1u << 24) | (1u << 25) : 0};
  if (leaf == 0x1D && subleaf == 0) return {palettes, 0, 0, 0};
  if (leaf == 0x1D && subleaf == 1) return {0x04002000, tiles, 16, 0};
  return {};
}
bool missing(std::uint32_t highest, bool claims, std::uint32_t palettes, std::uint32_t tiles) {
  return claims_missing_tiles([&](std::uint32_t leaf, std::uint32_t subleaf) {
    return registers(leaf, subleaf, highest, claims, palettes, tiles);
  });
}

TEST(InstructionSet, TilesThatAreClaimedAndNotDescribedAreFound) {
  EXPECT_FALSE(missing(0x20, true, 1, 0x00080040));  // a real one
  EXPECT_FALSE(missing(0x20, false, 0, 0));          // one before AMX
  EXPECT_FALSE(missing(0x06, false, 0, 0));          // an old one
  EXPECT_TRUE(missing(0x20, true, 0, 0));            // a virtual one with an empty leaf,
  EXPECT_TRUE(missing(0x20, true, 1, 0));            // with a palette of nothing,
  EXPECT_TRUE(missing(0x16, true, 1, 0x00080040));   // or without the leaf
}

TEST(InstructionSet, OneDnnIsLimitedBeforeItIsUsed) { EXPECT_TRUE(limit_instruction_set()); }

TEST(Addmm, AddsAProductToWhatBroadcasts) {
  const Tensor a = tensor({{1., 2.}, {3., 4.}}), b = tensor({{1., 0., 1.}, {0., 1., 1.}});
  EXPECT_TRUE(
      equal(addmm(tensor({10., 20., 30.}), a, b), tensor({{11., 22., 33.}, {13., 24., 37.}})));
  EXPECT_TRUE(equal(addmm(tensor({{10.}, {20.}}), a, b, {.beta = 0.5, .alpha = 2}),
                    tensor({{7., 9., 11.}, {16., 18., 24.}})));
  EXPECT_TRUE(equal(addmm(tensor(std::nan("")), a, b, {.beta = 0}), mm(a, b)));
  EXPECT_TRUE(equal(addmm(ones({3}), zeros({2, 0}), zeros({0, 3})), ones({2, 3})));
  EXPECT_TRUE(equal(addmm(arange(2), ones({1, 3}, {.dtype = int64}), ones({3, 2}, {.dtype = int64}),
                          {.alpha = 2}),
                    tensor({{6, 7}})));
  EXPECT_EQ(addmm(zeros({3}), a, b).version(), 0);
  const Tensor out = empty({0});
  EXPECT_TRUE(addmm_out(out, ones({3}), a, b).is(out));
  EXPECT_TRUE(equal(out, mm(a, b) + 1));
  EXPECT_EQ(addmm(ones({3}).requires_grad_(), a, b).grad_fn()->name(), "AddmmBackward0");
}

TEST(Addmm, RoundsSixteenBitNumbersOnce) {
  manual_seed(3);
  for (const DType dtype : {bfloat16, float16}) {
    const Tensor a = randn({64, 40}).to(dtype), b = randn({50, 40}).to(dtype).t(),
                 bias = randn({50}).to(dtype);
    const Tensor exact = mm(a.to(float64), b.to(float64)) + bias.to(float64);
    const Tensor ours = addmm(bias, a, b);
    const auto differ = [&](const Tensor& t) {
      return sum(t != exact.to(dtype)).item<std::int64_t>();
    };
    // Sums in float are not exact, but nearly always round as if they were.
    EXPECT_LE(differ(ours), 30);
    EXPECT_GT(differ(mm(a, b) + bias), 300);
  }
}

TEST(Addmm, SaysWhatDoesNotFit) {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  expect_error<ShapeError>([&] { addmm(zeros({5}), a, b); }, "self of shape [5]", "[2, 4]");
  expect_error<ShapeError>([&] { addmm(zeros({6, 2, 4}), a, b); }, "[6, 2, 4]");
  expect_error<ShapeError>([&] { addmm(zeros({4}), a, a); }, "2x3 and 2x3");
  expect_error<DTypeError>([&] { addmm(zeros({4}, {.dtype = float64}), a, b); }, "float64",
                           "float32");
  expect_error<DTypeError>([&] { addmm(arange(4), a.to(int64), b.to(int64), {.alpha = 0.5}); },
                           "alpha", "int64");
}

}  // namespace
}  // namespace tenon
