#include "tenon/nn/parameter.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon::nn {
namespace {

TEST(Parameter, IsALeafOverTheSameData) {
  const Tensor data = ones({2}), p = make_parameter(data);
  EXPECT_TRUE(p.is_parameter());
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(p.is_leaf());
  EXPECT_EQ(p.data_ptr(), data.data_ptr());
  EXPECT_FALSE(data.is_parameter());
  EXPECT_FALSE(data.requires_grad());
}

TEST(Parameter, TheFlagIsTheArgumentsAndNotTheDatas) {
  EXPECT_FALSE(make_parameter(ones({2}).requires_grad_(), false).requires_grad());
  const Tensor computed = ones({2}).requires_grad_().clone();
  EXPECT_TRUE(make_parameter(computed).is_leaf());
  const NoGradScope scope;
  EXPECT_TRUE(make_parameter(ones({2})).requires_grad());
}

TEST(Parameter, OfAnIntegerTensorCannotRequireGrad) {
  expect_error<DTypeError>([] { make_parameter(arange(2)); }, "floating point and complex",
                           "torch.int64", "requires_grad = false");
  EXPECT_TRUE(make_parameter(arange(2), false).is_parameter());
}

TEST(Parameter, ResultsOfOperatorsAreNone) {
  const Tensor p = make_parameter(ones({2}));
  EXPECT_FALSE(p.clone().is_parameter());
  EXPECT_FALSE(p.detach().is_parameter());
  EXPECT_FALSE(p.view({1, 2}).is_parameter());
  EXPECT_TRUE(p.to(float32).is(p));
  EXPECT_FALSE(p.to(float64).is_parameter());
}

TEST(Parameter, KeepsTheClassOfAUserDefinedTensor) {
  const Tensor data = make_tensor<ScaledTensor>(ones({2}), 0.5);
  const Tensor p = make_parameter(data, false);
  EXPECT_TRUE(p.is_parameter());
  EXPECT_FALSE(p.requires_grad());
  EXPECT_EQ(p.as<ScaledTensor>()->scale, 0.5);
  EXPECT_FALSE(data.is_parameter());
  EXPECT_TRUE(make_parameter(p).requires_grad());
  EXPECT_FALSE(p.requires_grad());
}

TEST(Parameter, NeedsADetachThatReturnsTheClass) {
  class Loses final : public Wrapper<Loses> {
   public:
    explicit Loses(const Tensor& inside) : Wrapper(inside), elem(inside) {}
    std::optional<Value> dispatch(const OpCall&) const override { return elem; }
    Tensor elem;
  };
  class Returns final : public Wrapper<Returns> {
   public:
    explicit Returns(const Tensor& inside) : Wrapper(inside) {}
    std::optional<Value> dispatch(const OpCall& call) const override { return call.tensors()[0]; }
  };
  expect_error<TypeError>([] { make_parameter(make_tensor<Loses>(ones({2}))); }, "Loses",
                          "detach()", "same type", "Tensor");
  expect_error<TypeError>([] { make_parameter(make_tensor<Returns>(ones({2}))); }, "Returns",
                          "itself");
}

TEST(Parameter, OfAUserDefinedClassIsTrainedLikeAPlainOneAndKeepsItsClass) {
  using Make = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;
  const std::vector<Make> optimizers{
      [](const auto& p) { return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.1}); },
      [](const auto& p) {
        return std::make_unique<optim::SGD>(p, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
      },
      [](const auto& p) { return std::make_unique<optim::Adam>(p); },
      [](const auto& p) { return std::make_unique<optim::AdamW>(p); },
      [](const auto& p) { return std::make_unique<optim::RMSprop>(p); },
      [](const auto& p) { return std::make_unique<optim::Adagrad>(p); }};
  const auto plain = [](const Tensor& tensor) {
    const auto* logging = tensor.as<LoggingTensor>();
    return logging != nullptr ? logging->elem : tensor;
  };
  const Tensor x = rand({2, 3});
  for (const Make& make_optimizer : optimizers) {
    std::vector<std::string> log;
    Linear expected(3, 2), net(3, 2);
    for (const auto& [name, value] : expected.named_parameters())
      net.register_parameter(
          name, make_parameter(make_tensor<LoggingTensor>(value.detach().clone(), log)));
    for (Linear* each : {&expected, &net}) {
      const auto optimizer = make_optimizer(each->parameters());
      for (int i = 0; i < 3; ++i) {
        optimizer->zero_grad();
        // (Of linear, which is made of others, a class that answers for it has no gradient.)
        const Tensor y = (each->weight * x).sum({1}) + each->bias;
        (y * y).sum().backward();
        optimizer->step();
      }
    }
    for (const auto& [name, value] : expected.named_parameters()) {
      const Tensor trained = net.get_parameter(name);
      ASSERT_NE(trained.as<LoggingTensor>(), nullptr);
      EXPECT_TRUE(trained.is_parameter());
      EXPECT_TRUE(allclose(plain(trained), value.detach())) << name;
    }
  }
}

}  // namespace
}  // namespace tenon::nn
