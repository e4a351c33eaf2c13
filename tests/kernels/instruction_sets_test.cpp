// Every kernel that is compiled for several instruction sets gives the same bits on all of them.
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "hwy/targets.h"
#include "support/matchers.h"

namespace tenon {
namespace {

// Those this machine has, of the ones that are compiled: always at least what every x86-64 has.
std::map<std::string, std::int64_t> instruction_sets() {
  std::map<std::string, std::int64_t> sets{
      {"baseline", HWY_EMU128 | HWY_SCALAR}, {"AVX2", HWY_AVX2}, {"AVX-512", HWY_AVX3}};
#ifdef TENON_SANITIZED
  sets.erase("AVX2");  // see src/kernels/CMakeLists.txt
#endif
  return sets;
}

class InstructionSets : public testing::Test {
 protected:
  ~InstructionSets() override { use(0); }
  static void use(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
  // Runs it on each, and compares the bytes with those of the first.
  static void expect_same_bits(
      const std::function<Tensor()>& calculate, const std::string& what = "",
      const std::map<std::string, std::int64_t>& sets = instruction_sets()) {
    const std::int64_t here = hwy::SupportedTargets();
    Tensor first;
    int ran = 0;
    for (const auto& [name, target] : sets) {
      if (name != "baseline" && (here & target) == 0) continue;
      use(target);
      const Tensor result = calculate().contiguous();
      use(0);
      if (!first.defined()) first = result;
      ASSERT_EQ(result.nbytes(), first.nbytes());
      EXPECT_EQ(std::memcmp(result.data_ptr(), first.data_ptr(),
                            static_cast<std::size_t>(result.nbytes())),
                0)
          << what << " on " << name;
      ++ran;
    }
    EXPECT_GE(ran, sets.contains("baseline") ? 1 : 0);
  }
};

// Where a multiplication and an addition are rounded once, which the baseline cannot do.
std::map<std::string, std::int64_t> fused_instruction_sets() {
  auto sets = instruction_sets();
  sets.erase("baseline");
  return sets;
}

// Numbers of all sizes, and the special ones.
Tensor samples() {
  manual_seed(3);
  const Tensor spread = randn({5003}) * exp(randn({5003}) * 20);
  const double inf = HUGE_VAL;
  return cat({spread, tensor({0.0, -0.0, inf, -inf, std::nan(""), 1e-42, 88.7, -103.9})});
}

// Which NaN it is, is the machine's affair.
Tensor nan_to_zero(const Tensor& t) { return where(isnan(t), 0.0, t); }

TEST_F(InstructionSets, RandomStreams) {
  expect_same_bits([] {
    manual_seed(11);
    return cat({rand({3001}), randn({3001}), empty({777}).uniform_(-0.3, 1.7)});
  });
  expect_same_bits([] {
    manual_seed(12);
    return cat({rand({301}, {.dtype = float64}), randn({301}, {.dtype = float64})});
  });
}

TEST_F(InstructionSets, Casts) {
  const Tensor x = samples();
  for (const DType narrow : {bfloat16, float16}) {
    expect_same_bits([&] { return x.to(narrow); });
    expect_same_bits([&] { return x.to(narrow).to(float32); });
  }
}

TEST_F(InstructionSets, FunctionsOfOneElement) {
  const Tensor x = samples();
  for (const auto& function :
       {+[](const Tensor& t) { return exp(t); }, +[](const Tensor& t) { return sqrt(t); },
        +[](const Tensor& t) { return rsqrt(t); }, +[](const Tensor& t) { return round(t); },
        +[](const Tensor& t) { return floor(t); }, +[](const Tensor& t) { return frac(t); },
        +[](const Tensor& t) { return relu(t); }, +[](const Tensor& t) { return sign(t); }}) {
    expect_same_bits([&] { return nan_to_zero(function(x)); });
  }
}

TEST_F(InstructionSets, FunctionsOfTwoElements) {
  const Tensor x = samples(), y = samples().index({isfinite(samples())}).narrow(0, 0, 5000);
  const Tensor a = x.narrow(0, 0, 5000);
  for (const DType dtype : {float32, float64, bfloat16, int32, uint8, complex64}) {
    const Tensor p = clamp(a, {.min = -100, .max = 100}).to(dtype);
    const Tensor q = clamp(y, {.min = -100, .max = 100}).to(dtype);
    expect_same_bits([&] { return p + q; });
    expect_same_bits([&] { return p * q; });
    expect_same_bits([&] { return (p == q) | (p != 3); });
  }
  expect_same_bits([&] { return nan_to_zero(a / y); });
  expect_same_bits([&] { return nan_to_zero(maximum(a, y)); });
}

TEST_F(InstructionSets, SumsAndFills) {
  const Tensor x = rand({100003});
  expect_same_bits([&] { return x.sum(); }, "sum float32");
  expect_same_bits([&] { return x.to(float64).sum(); }, "sum float64");
  const Tensor large = rand({(std::int64_t{33} << 20) / 2 + 3}).narrow(0, 1, (33 << 20) / 2);
  expect_same_bits([&] { return exp(large); }, "exp");
  expect_same_bits([&] { return large + large; }, "add");
  expect_same_bits([&] { return large.to(bfloat16); }, "cast");
  expect_same_bits([] { return full({(std::int64_t{33} << 20) / 4 + 3}, 2.5); }, "full");
}

TEST_F(InstructionSets, NormsOfRows) {
  for (const DType dtype : {float32, bfloat16, float16}) {
    const Tensor x = (randn({7, 1003}) * 3).to(dtype), weight = randn({1003}).to(dtype);
    expect_same_bits([&] { return layer_norm(x, {1003}, {.weight = weight, .bias = weight}); });
    expect_same_bits([&] { return layer_norm(x, {1003}); });
  }
}

TEST_F(InstructionSets, ProductsOfAFewRows) {
  for (const DType dtype : {float32, bfloat16, float16}) {
    const Tensor many = randn({101, 333}).to(dtype);
    for (const std::int64_t rows : {1, 2, 3}) {
      const Tensor few = randn({rows, 333}).to(dtype);
      expect_same_bits([&] { return mm(few, many.t()); }, "mm", fused_instruction_sets());
      // All of them agree but for rounding.
      const Tensor known = mm(few.to(float64), many.t().to(float64));
      for (const auto& [name, target] : instruction_sets()) {
        if (name != "baseline" && (hwy::SupportedTargets() & target) == 0) continue;
        use(target);
        const Tensor ours = mm(few, many.t());
        use(0);
        EXPECT_LT((ours.to(float64) - known).abs().max().item<double>(),
                  dtype == float32 ? 1e-4 : 0.3)
            << name << dtype;
      }
    }
  }
}

}  // namespace
}  // namespace tenon
