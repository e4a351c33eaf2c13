// How a loaded value takes the place of a parameter, and who may decide it.
#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

std::vector<std::string> asked;

// Takes a plain value for its payload; leaves everything else to the next class.
class Loads : public Wrapper<Loads> {
 public:
  explicit Loads(Tensor inside) : Wrapper(inside), elem(std::move(inside)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (!call.is<op::detach>()) return std::nullopt;
    return make_tensor<Loads>(elem.detach());
  }
  std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                    bool assign) const override {
    asked.push_back(type_name() + (assign ? " assign" : ""));
    if (src.body().is_wrapper() && !dest.body().is_wrapper()) return std::nullopt;
    return make_tensor<Loads>(src.detach());
  }
  Tensor elem;
};
class LoadsMore final : public Wrapper<LoadsMore, Loads> {
 public:
  explicit LoadsMore(const Tensor& inside) : Wrapper(inside) {}
  std::optional<Tensor> module_load(const Tensor&, const Tensor&, bool) const override {
    asked.push_back(type_name());
    return std::nullopt;
  }
};

class ModuleLoad : public testing::Test {
 protected:
  void SetUp() override { asked.clear(); }
};

TEST_F(ModuleLoad, OfPlainTensorsCopiesOrTakesTheValue) {
  const Tensor own = zeros({2}), value = tensor({1.0, 2.0}, {.dtype = float64});
  const Tensor copied = own.module_load(value);
  EXPECT_FALSE(copied.is(own));
  EXPECT_EQ(copied.data_ptr(), own.data_ptr());
  EXPECT_TRUE(equal(own, value));
  const Tensor taken = own.module_load(value, true);
  EXPECT_FALSE(taken.is(value));
  EXPECT_EQ(taken.data_ptr(), value.data_ptr());
  EXPECT_EQ(taken.dtype(), float64);
}

TEST_F(ModuleLoad, EitherSideMayDecide) {
  const Tensor own = make_tensor<Loads>(zeros({2})), plain = ones({2});
  EXPECT_TRUE(own.module_load(plain, true).as<Loads>()->elem.data_ptr() == plain.data_ptr());
  EXPECT_THAT(asked, testing::ElementsAre("Loads assign"));
  expect_error<NotImplementedError>([&] { plain.module_load(own); }, "'module_load'",
                                    "[Tensor, Loads]");
}

TEST_F(ModuleLoad, ADerivedClassIsAskedFirst) {
  const Tensor own = make_tensor<Loads>(zeros({2})), value = make_tensor<LoadsMore>(ones({2}));
  EXPECT_NE(own.module_load(value).as<Loads>(), nullptr);
  EXPECT_THAT(asked, testing::ElementsAre("LoadsMore", "Loads"));
}

TEST_F(ModuleLoad, AClassThatSaysNothingLoadsAsPlainTensorsDo) {
  const Tensor own = make_tensor<ScaledTensor>(zeros({2}), 0.5),
               value = make_tensor<ScaledTensor>(ones({2}), 2.0);
  EXPECT_EQ(own.module_load(value, true).as<ScaledTensor>()->scale, 2.0);
  expect_error<NotImplementedError>([&] { own.module_load(value); }, "'copy_'", "[ScaledTensor]");
}

TEST_F(ModuleLoad, TheDefaultIsReachedInsideAnOverride) {
  const Tensor own = make_tensor<Loads>(zeros({2})), plain = ones({2});
  {
    const DisableOverridesScope scope;
    EXPECT_EQ(own.module_load(plain, true).as<Loads>(), nullptr);
    {
      const DisableOverridesScope nested;
    }
    own.module_load(plain, true);
  }
  EXPECT_TRUE(asked.empty());
  own.module_load(plain, true);
  EXPECT_EQ(asked.size(), 1U);
}

}  // namespace
}  // namespace tenon
