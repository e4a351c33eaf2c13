// Scopes of autocast, what is converted once, and where it reaches. Which operators do what is in
// tests/ops/autocast_cases_test.cpp. The values of behaviour are PyTorch 2.14.1's.
#include "tenon/amp.h"

#include <atomic>
#include <thread>

#include "base/thread_pool.h"
#include "support/matchers.h"
#include "support/warnings.h"
#include "support/wrappers.h"
#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor square_of(double value) { return full({3, 3}, value); }
Tensor weight_of(double value) { return square_of(value).requires_grad_(); }
DType product_dtype() { return mm(square_of(1), square_of(1)).dtype(); }

TEST(AutocastScope, DefaultsArePyTorchs) {
  EXPECT_FALSE(is_autocast_enabled("cpu"));
  EXPECT_EQ(get_autocast_dtype("cpu"), bfloat16);
  EXPECT_EQ(get_autocast_dtype("cuda"), float16);
  EXPECT_EQ(get_autocast_dtype("xpu"), float16);
  EXPECT_EQ(get_autocast_dtype("hpu"), bfloat16);
  EXPECT_TRUE(is_autocast_cache_enabled());
  const AutocastScope autocast("cpu");
  EXPECT_TRUE(is_autocast_enabled("cpu"));
  EXPECT_FALSE(is_autocast_enabled("cuda"));
  EXPECT_EQ(product_dtype(), bfloat16);
}

TEST(AutocastScope, ScopesAreNested) {
  {
    const AutocastScope outer("cpu");
    {
      const AutocastScope off("cpu", {.enabled = false});
      EXPECT_EQ(product_dtype(), float32);
      EXPECT_EQ(get_autocast_dtype("cpu"), bfloat16);
      const AutocastScope on("cpu");
      EXPECT_EQ(product_dtype(), bfloat16);
    }
    {
      const AutocastScope half("cpu", {.dtype = float16, .cache_enabled = false});
      EXPECT_EQ(product_dtype(), float16);
      EXPECT_FALSE(is_autocast_cache_enabled());
    }
    EXPECT_TRUE(is_autocast_cache_enabled());
    EXPECT_EQ(product_dtype(), bfloat16);
  }
  EXPECT_EQ(product_dtype(), float32);
}

TEST(AutocastScope, OtherDtypesSwitchItOffWithAWarning) {
  for (const DType dtype : {float32, float64, int32}) {
    Warnings warnings;
    const AutocastScope autocast("cpu", {.dtype = dtype});
    EXPECT_FALSE(is_autocast_enabled("cpu"));
    EXPECT_EQ(get_autocast_dtype("cpu"), dtype);
    EXPECT_EQ(warnings.said,
              std::vector<std::string>{
                  "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                  "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."});
  }
  EXPECT_EQ(get_autocast_dtype("cpu"), bfloat16);
}

TEST(AutocastScope, WithoutCudaItIsOff) {
  Warnings warnings;
  const AutocastScope autocast("cuda");
  EXPECT_FALSE(is_autocast_enabled("cuda"));
  EXPECT_EQ(warnings.said, std::vector<std::string>{"CUDA is not available or torch_xla is "
                                                    "imported. Disabling autocast."});
}

TEST(AutocastScope, DevicesWithoutAutocastAreRefused) {
  for (const char* name : {"meta", "hip", "vulkan"}) {
    expect_error<DeviceError>([&] { const AutocastScope autocast(name); },
                              "unsupported autocast device_type", name);
    expect_error<DeviceError>([&] { is_autocast_enabled(name); }, name);
  }
  const AutocastScope autocast("cpu");
  EXPECT_EQ(mm(square_of(1).to(Device::meta()), square_of(1).to(Device::meta())).dtype(), float32);
}

TEST(AutocastScope, SetDtypeIsWhatScopesUse) {
  set_autocast_dtype("cpu", float16);
  {
    const AutocastScope autocast("cpu");
    EXPECT_EQ(product_dtype(), float16);
  }
  set_autocast_dtype("cpu", bfloat16);
}

TEST(AutocastScope, BelongsToItsThread) {
  const AutocastScope autocast("cpu");
  std::thread([] { EXPECT_EQ(product_dtype(), float32); }).join();
  EXPECT_EQ(product_dtype(), bfloat16);
}

TEST(AutocastScope, EndsWithAnException) {
  expect_error<ShapeError>(
      [] {
        const AutocastScope autocast("cpu");
        mm(zeros({2, 3}), zeros({2, 3}));
      },
      "cannot be multiplied");
  EXPECT_EQ(product_dtype(), float32);
}

TEST(AutocastScope, Float64AndWholeNumbersStay) {
  const AutocastScope autocast("cpu");
  EXPECT_EQ(mm(square_of(1).to(float64), square_of(1).to(float64)).dtype(), float64);
  EXPECT_EQ(mm(square_of(1).to(int32), square_of(1).to(int32)).dtype(), int32);
  expect_error<DTypeError>([] { mm(square_of(1).to(float64), square_of(1)); }, "same dtype");
}

TEST(AutocastScope, AnotherSixteenBitFloatIsNotPromoted) {
  const AutocastScope autocast("cpu");
  EXPECT_EQ(cat({square_of(1), square_of(1).to(bfloat16)}).dtype(), float32);
  EXPECT_EQ(cat({square_of(1).to(float64), square_of(1)}).dtype(), float64);
  EXPECT_EQ(cat({square_of(1).to(int32), square_of(1).to(int32)}).dtype(), int32);
  expect_error<DTypeError>([] { cat({square_of(1).to(float16), square_of(1).to(float16)}); },
                           "Unexpected floating ScalarType in at::autocast::prioritize", "cat");
}

TEST(AutocastScope, OutFormsAreLeftAlone) {
  const AutocastScope autocast("cpu");
  const Tensor a = square_of(1.001), b = square_of(3);
  const Tensor out = empty({3, 3});
  EXPECT_EQ(mm_out(out, a, b)[0][0].item<float>(), 3 * 1.001f * 3);
  expect_error<DTypeError>([&] { mm_out(empty({3, 3}, {.dtype = bfloat16}), a, b); }, "float32");
  const Tensor batch = empty({2, 3, 3});
  matmul_out(batch, full({2, 3, 3}, 1.001), b);
  EXPECT_EQ(batch.dtype(), float32);
  EXPECT_EQ(batch[0][0][0].item<float>(), 3 * 1.001f * 3);
  const Tensor c = square_of(1).to(bfloat16);
  EXPECT_EQ(c.exp_().dtype(), bfloat16);
}

TEST(AutocastScope, GradientsAreOfTheDtypeOfTheirTensors) {
  const Tensor w = weight_of(1.001), x = square_of(2).to(bfloat16).requires_grad_();
  Tensor y;
  {
    const AutocastScope autocast("cpu");
    y = mm(x, w);
  }
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(y.grad_fn()->name(), "MmBackward0");
  EXPECT_EQ(y.grad_fn()->next_edges()[1].node->name(), "ToCopyBackward0");
  y.to(float32).sum().backward();
  EXPECT_EQ(w.grad().dtype(), float32);
  EXPECT_EQ(x.grad().dtype(), bfloat16);
  EXPECT_EQ(w.grad()[0][0].item<float>(), 6);
}

// PyTorch's engine works with the state of who calls it.
TEST(AutocastScope, BackwardInsideMultipliesInTheLowerDtype) {
  const Tensor x = tensor({1.001, 2.003, 3.007, 4.009}).view({2, 2});
  const Tensor w = tensor({1.00001, 2.1, 3.3, 4.7}).view({2, 2}).requires_grad_();
  const Tensor y = mm(x, w), g = full({2, 2}, 1.3);
  {
    const AutocastScope autocast("cpu");
    y.backward({.gradient = g});
  }
  const Tensor expected = mm(x.t().to(bfloat16), g.to(bfloat16)).to(float32);
  EXPECT_TRUE(equal(w.grad(), expected));
  EXPECT_FALSE(equal(w.grad(), mm(x.t(), g)));
}

const Node* cast_of(const Tensor& product) { return product.grad_fn()->next_edges()[1].node.get(); }

TEST(AutocastCache, AParameterIsConvertedOnce) {
  const Tensor w = weight_of(1), x = square_of(1);
  const AutocastScope autocast("cpu");
  const Tensor first = mm(x, w), second = mm(x, w);
  EXPECT_EQ(cast_of(first), cast_of(second));
  clear_autocast_cache();
  EXPECT_NE(cast_of(first), cast_of(mm(x, w)));
  {
    const AutocastScope without("cpu", {.cache_enabled = false});
    EXPECT_NE(cast_of(mm(x, w)), cast_of(mm(x, w)));
  }
  // What is calculated, and views, are not.
  const Tensor double_w = w * 2, view = w.t();
  EXPECT_NE(cast_of(mm(x, double_w)), cast_of(mm(x, double_w)));
  EXPECT_NE(cast_of(mm(x, view)), cast_of(mm(x, view)));
}

TEST(AutocastCache, TheOutermostScopeEndsIt) {
  const Tensor w = weight_of(1), x = square_of(1);
  Tensor first, second;
  {
    const AutocastScope outer("cpu");
    {
      const AutocastScope inner("cpu");
      first = mm(x, w);
    }
    second = mm(x, w);
  }
  EXPECT_EQ(cast_of(first), cast_of(second));
  const AutocastScope again("cpu");
  EXPECT_NE(cast_of(first), cast_of(mm(x, w)));
}

// PyTorch goes on with what it has converted: 27 three times.
TEST(AutocastCache, WhatWasWrittenToIsConvertedAgain) {
  const Tensor w = weight_of(1), x = square_of(1);
  const AutocastScope autocast("cpu");
  const auto sum = [&] { return mm(x, w).to(float32).sum().item<float>(); };
  EXPECT_EQ(sum(), 27);
  {
    const NoGradScope no_grad;
    w.mul_(2);
  }
  EXPECT_EQ(sum(), 54);
  w.set_data(square_of(3));
  EXPECT_EQ(sum(), 81);
}

TEST(AutocastCache, SwappedParametersHaveTheirOwn) {
  const Tensor a = weight_of(1), b = weight_of(2), x = square_of(1);
  const AutocastScope autocast("cpu");
  {
    // Graphs from before a swap are not to be run.
    mm(x, a);
    mm(x, b);
  }
  swap_tensors(a, b);
  const Tensor y = mm(x, a);
  EXPECT_EQ(y.to(float32).sum().item<float>(), 54);
  y.to(float32).sum().backward();
  EXPECT_TRUE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

// PyTorch gives the product a weight of the other dtype, and refuses it.
TEST(AutocastCache, AnotherDtypeInsideHasItsOwn) {
  const Tensor w = weight_of(1), x = square_of(1);
  const AutocastScope outer("cpu");
  EXPECT_EQ(mm(x, w).dtype(), bfloat16);
  const AutocastScope inner("cpu", {.dtype = float16});
  EXPECT_EQ(mm(x, w).dtype(), float16);
}

TEST(AutocastCache, WhatWasConvertedWithoutRecordingIsNotRecorded) {
  const Tensor w = weight_of(1), x = square_of(1);
  const AutocastScope autocast("cpu");
  {
    const NoGradScope no_grad;
    EXPECT_FALSE(mm(x, w).requires_grad());
  }
  EXPECT_TRUE(mm(x, w).requires_grad());
  {
    const InferenceModeScope inference;
    EXPECT_FALSE(mm(x, w).requires_grad());
  }
  mm(x, w).to(float32).sum().backward();
  EXPECT_EQ(w.grad()[0][0].item<float>(), 3);
}

TEST(AutocastCache, TwoBackwardPassesInsideOfOneScope) {
  const Tensor w = weight_of(1), x = square_of(1);
  const AutocastScope autocast("cpu");
  mm(x, w).sum().backward();
  mm(x, w).sum().backward();
  EXPECT_EQ(w.grad()[0][0].item<float>(), 6);
}

// A user-defined tensor is converted before it is asked what a product is.
class Seen final : public Wrapper<Seen> {
 public:
  explicit Seen(Tensor e) : Wrapper(e), elements(std::move(e)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    const Tensor result = call.call_with([](const Tensor& t) {
                                const auto* own = t.as<Seen>();
                                return own != nullptr ? own->elements : t;
                              })
                              .as_tensor();
    log.push_back(std::string(call.name()) + " " + std::string(info(dtype_of(call)).name));
    return make_tensor<Seen>(result);
  }
  static DType dtype_of(const OpCall& call) { return call.tensors()[0].dtype(); }
  Tensor elements;
  static inline std::vector<std::string> log;
};

TEST(AutocastScope, ComesBeforeUserDefinedTensors) {
  Seen::log.clear();
  const Tensor t = make_tensor<Seen>(square_of(1));
  const AutocastScope autocast("cpu");
  EXPECT_EQ(mm(t, square_of(1)).dtype(), bfloat16);
  EXPECT_EQ(Seen::log, (std::vector<std::string>{"to_copy float32", "mm bfloat16"}));
}

// An operator of a program's own, with one tensor that it may have, a list, and a dtype.
struct widest {
  using Signature = Tensor(const Tensor& self, const std::optional<Tensor>& other,
                           std::span<const Tensor> more, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
constinit OpInfo widest::info{"widest", kind};
std::vector<std::string> seen;

}  // namespace

template <>
struct Rule<widest> {
  static constexpr AutocastPolicies autocast = {AutocastPolicy::promote, AutocastPolicy::banned};
  static Tensor compose(const Tensor& self, const std::optional<Tensor>& other,
                        std::span<const Tensor> more, std::optional<DType> dtype) {
    seen.clear();
    seen.emplace_back(info(self.dtype()).name);
    if (other) seen.emplace_back(info(other->dtype()).name);
    for (const Tensor& one : more) seen.emplace_back(info(one.dtype()).name);
    EXPECT_FALSE(dtype);
    EXPECT_EQ(product_dtype(), float32);  // it runs without autocast
    return self;
  }
};

namespace {

TEST(AutocastScope, OperatorsOfUsersTakePart) {
  const Tensor half = square_of(1).to(bfloat16), whole = square_of(1).to(int64);
  const AutocastScope autocast("cpu");
  call<widest>(half, std::nullopt, std::vector<Tensor>{whole}, std::nullopt);
  EXPECT_EQ(seen, (std::vector<std::string>{"bfloat16", "int64"}));
  call<widest>(half, half, std::vector<Tensor>{whole, square_of(1)}, std::nullopt);
  EXPECT_EQ(seen, (std::vector<std::string>{"float32", "float32", "int64", "float32"}));
}

TEST(AutocastScope, ThreadsThatWorkForItHaveIt) {
  const Tensor w = weight_of(1);
  const AutocastScope autocast("cpu");
  std::atomic<int> lower{0};
  parallel_for(0, 64, 1, [&](std::int64_t first, std::int64_t last) {
    for (; first < last; ++first) lower += mm(square_of(1), w).dtype() == bfloat16;
  });
  EXPECT_EQ(lower, 64);
}

}  // namespace
}  // namespace tenon
