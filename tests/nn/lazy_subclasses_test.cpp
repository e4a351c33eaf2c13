// Subclasses of the lazy layers, with tensors and constructors of their own.
#include "support/matchers.h"
#include "support/modules.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class Lora final : public LazyLinear {
 public:
  Parameter lora{this, "lora", uninitialized_parameter()};
  Lora() : LazyLinear(4) {}
  void initialize_parameters(const Tensor& input) override {
    LazyLinear::initialize_parameters(input);
    EXPECT_TRUE(is_lazy(lora));
    materialize(lora, {2, input.size(-1)});
    init::zeros_(lora);
  }
};

TEST(LazySubclass, InitialisesItsOwnTensorsItself) {
  Lora layer;
  layer(ones({2, 3}));
  EXPECT_EQ(layer.lora->shape(), Shape({2, 3}));
  EXPECT_EQ(layer.weight->shape(), Shape({4, 3}));
  EXPECT_EQ(layer.in_features, 3);
}

// The sentence is PyTorch's.
TEST(LazySubclass, ATensorThatNobodyInitialisesIsAnError) {
  LazyLinear layer(4);
  layer.register_parameter("extra", uninitialized_parameter());
  for (int i = 0; i < 2; ++i) {
    expect_error<Error>([&] { layer(ones({2, 3})); },
                        "module LazyLinear has not been fully initialized");
  }
  EXPECT_TRUE(is_lazy(layer.get_parameter("extra")));
  LazyBatchNorm1d norm;
  norm.register_buffer("ema", uninitialized_buffer());
  expect_error<Error>([&] { norm(rand({2, 3})); },
                      "module LazyBatchNorm1d has not been fully initialized");
}

TEST(LazySubclass, ASecondNameOfATensorIsOfOneShape) {
  class Twice final : public LazyLinear {
   public:
    Parameter again{this, "again"};
    Twice() : LazyLinear(3) { again = weight; }
  };
  manual_seed(0);
  Twice twice;
  const Tensor held = twice.weight;
  twice(ones({1, 2}));
  manual_seed(0);
  LazyLinear once(3);
  once(ones({1, 2}));
  EXPECT_TRUE(twice.again.get().is(twice.weight));
  EXPECT_TRUE(held.is(twice.weight));
  EXPECT_TRUE(equal(twice.weight, once.weight));
  // Also if the layer knows both names.
  LazyBatchNorm1d norm;
  norm.bias = norm.weight;
  norm(rand({2, 3}));
  EXPECT_TRUE(norm.bias.get().is(norm.weight));
  EXPECT_TRUE(equal(norm.weight, zeros({3})));  // the bias's values come last
}

TEST(LazySubclass, OfANormMayHaveBuffersOfOtherSizes) {
  class Ema final : public LazyBatchNorm1d {
   public:
    Buffer ema{this, "ema", zeros({7})};
  };
  Ema called;
  called(rand({2, 3}));
  EXPECT_EQ(called.num_features, 3);
  EXPECT_EQ(called.ema->shape(), Shape({7}));
  StateDict state = BatchNorm1d(3).state_dict();
  state.set("ema", ones({7}));
  Ema loaded;
  loaded.load_state_dict(state);
  EXPECT_EQ(loaded.num_features, 3);
  LazyBatchNorm1d open;
  open.register_buffer("ema", uninitialized_buffer());
  open.load_state_dict(state);
  EXPECT_EQ(open.get_buffer("ema").shape(), Shape({7}));
  EXPECT_EQ(open.num_features, 3);
}

class Scale : public Layer {
 public:
  Parameter scale{this, "scale"};
  Scale() = default;

 protected:
  Tensor forward(const Tensor& x) override { return x * scale; }
};
class LazyScale final : public Lazy<Scale> {
 public:
  LazyScale() { scale = uninitialized_parameter(); }
  LazyScale(const LazyScale& other) : Lazy(other) {}
  void initialize_parameters(const Tensor& input) override {
    ++calls;
    if (!has_uninitialized_params()) return;
    materialize(scale, {input.size(-1)});
    init::ones_(scale);
  }
  int calls = 0;
};

TEST(LazySubclass, ItsCopyConstructorCopiesTheLazyModule) {
  const auto lazy = make<LazyScale>();
  const auto copy = clone(*lazy);
  for (int i = 0; i < 3; ++i) (*copy)(ones({2, 3}));
  EXPECT_EQ(copy->calls, 1);
  EXPECT_EQ(copy->type_name(), "Scale");
  EXPECT_EQ(lazy->type_name(), "LazyScale");
  const auto plain = clone(*copy);
  EXPECT_FALSE(plain->is_waiting());
  EXPECT_EQ(plain->type_name(), "Scale");
  (*plain)(ones({2, 3}));
  EXPECT_EQ(plain->calls, 0);
}

TEST(LazySubclass, OfAnAbstractClassPassesArgumentsToIt) {
  class Times : public Layer {
   public:
    explicit Times(double factor_in) : factor(factor_in) {}
    double factor;
  };
  class LazyTimes final : public Lazy<Times> {
   public:
    Parameter scale{this, "scale", uninitialized_parameter()};
    LazyTimes() : Lazy(3.0) {}
    void initialize_parameters(const Tensor& input) override {
      materialize(scale, {input.size(-1)});
      init::ones_(scale);
    }

   protected:
    Tensor forward(const Tensor& x) override { return x * scale * factor; }
  };
  LazyTimes lazy;
  EXPECT_TRUE(equal(lazy(ones({2})), full({2}, 3.0)));
  EXPECT_FALSE(lazy.is_waiting());
}

// PyTorch draws nothing then, and leaves what was in memory.
TEST(LazyWithoutElements, DrawsNothingAndHasZeros) {
  manual_seed(0);
  const Tensor wanted = rand({1});
  manual_seed(0);
  LazyLinear layer(4);
  layer(ones({2, 0}));
  EXPECT_TRUE(equal(rand({1}), wanted));
  EXPECT_TRUE(equal(layer.bias, zeros({4})));
  EXPECT_EQ(layer.repr(), "Linear(in_features=0, out_features=4, bias=True)");
}

}  // namespace
}  // namespace tenon::nn
