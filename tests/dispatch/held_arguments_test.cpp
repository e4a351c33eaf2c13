// A handler may do what it likes with the places that the arguments of its call are in: the call has
// its own.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "tenon/wrapper.h"

namespace tenon {
namespace {

std::function<void()> meanwhile;

// Does that first, and then what was asked for.
class Busy final : public Wrapper<Busy> {
 public:
  explicit Busy(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  static Tensor unwrap(const Tensor& tensor) {
    const auto* busy = tensor.as<Busy>();
    return busy != nullptr ? busy->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (const auto deed = std::exchange(meanwhile, nullptr)) deed();
    return call.call_with(unwrap);
  }
  Tensor elem;
};
Tensor busy(double value) { return make_tensor<Busy>(full({2}, value)); }

TEST(HeldArguments, AreWhatTheCallWasGivenWhateverBecomesOfTheVariables) {
  Tensor a = busy(1), b = full({2}, 2.0);
  meanwhile = [&] { a = b = full({3}, 9.0); };
  EXPECT_EQ((a + b).sum().item<double>(), 6.0);
  EXPECT_EQ(a.numel(), 3);
}

TEST(HeldArguments, OfAListStayThere) {
  std::vector<Tensor> parts{busy(1), full({2}, 2.0), full({2}, 3.0)};
  meanwhile = [&] { parts.clear(); };
  EXPECT_EQ(cat(parts).sum().item<double>(), 12.0);
}

TEST(HeldArguments, ThatAreNoTensorsStayToo) {
  Dims order{1, 0};
  std::string reduction = "a name that is too long to be in the string itself";
  const Tensor matrix = make_tensor<Busy>(ones({2, 3}));
  meanwhile = [&] { order = Dims{7, 7, 7, 7, 7, 7, 7}; };
  EXPECT_EQ(matrix.permute(order).shape(), (Shape{3, 2}));
  reduction = "sum";
  meanwhile = [&] { reduction = "neither of the three that there are"; };
  EXPECT_EQ(mse_loss(busy(1), full({2}, 3.0), {.reduction = reduction}).item<double>(), 8.0);
}

TEST(HeldArguments, OfAnInPlaceCallAreWrittenAndTheVariableIsGivenBack) {
  Tensor a = busy(1);
  const Tensor was = a;
  meanwhile = [&] { a = full({2}, 9.0); };
  const Tensor& result = a.add_(full({2}, 2.0));
  EXPECT_EQ(&result, &a);
  EXPECT_EQ(Busy::unwrap(was).sum().item<double>(), 6.0);
  EXPECT_EQ(a.sum().item<double>(), 18.0);
}

TEST(HeldArguments, AreTheGradientsToo) {
  Tensor a = busy(3), b = full({2}, 2.0);
  a.requires_grad_();
  b.requires_grad_();
  const Tensor was = b;
  meanwhile = [&] { b = full({2}, 9.0); };
  (a * b).sum().backward();
  EXPECT_EQ(was.grad().sum().item<double>(), 6.0);
  EXPECT_FALSE(b.grad().defined());
}

TEST(HeldArguments, AreKeptWhileAutocastConvertsThem) {
  Tensor a = make_tensor<Busy>(ones({2, 2})), b = ones({2, 2});
  const AutocastScope autocast("cpu");
  for (const bool first : {true, false}) {
    Tensor x = first ? a : b, y = first ? b : a;
    meanwhile = [&] { x = y = Tensor(); };
    const Tensor product = mm(x, y);
    EXPECT_EQ(product.dtype(), bfloat16);
    EXPECT_EQ(product.sum().item<double>(), 8.0);
  }
}

}  // namespace
}  // namespace tenon
