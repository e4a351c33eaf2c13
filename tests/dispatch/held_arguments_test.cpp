// A handler, or a Rule of the user's, may do what it likes with the places that the arguments of
// its call are in: the call has its own.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "tenon/extend/custom_op.h"
#include "tenon/extend/wrapper.h"

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

// Operators of the user's own, whose functions do what is to be done at one of their calls.

int calls = 0;
std::pair<int, std::function<void()>> at_call;
void rule_runs() {
  if (++calls == at_call.first) at_call.second();
}

struct sum_of {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo sum_of::info{"sum_of", sum_of::kind};
struct sum_of_all {
  using Signature = Tensor(std::span<const Tensor> tensors, std::string_view note);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo sum_of_all::info{"sum_of_all", sum_of_all::kind};
struct sum_into_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
constinit OpInfo sum_into_::info{"sum_into_", sum_into_::kind};
struct first_of {
  using Signature = double(const Tensor& self);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};
constinit OpInfo first_of::info{"first_of", first_of::kind};
struct sum_and_half {
  using Signature = Tensor(const Tensor& self, const std::optional<Tensor>& other);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
constinit OpInfo sum_and_half::info{"sum_and_half", sum_and_half::kind};

class SumNode final : public Node {
 public:
  std::string name() const override { return "SumOfBackward"; }
  std::vector<Tensor> apply(std::vector<Tensor> grads) override { return {grads[0], grads[0]}; }
};

}  // namespace

template <>
struct Rule<sum_of> {
  static Layout infer(const Tensor& self, const Tensor& /*other*/) {
    rule_runs();
    return Layout::packed_like(self.layout());
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    rule_runs();
    out.copy_(self).add_(other);
  }
  static Ref<Node> node(const Tensor& /*self*/, const Tensor& /*other*/) {
    rule_runs();
    return make_ref<SumNode>();
  }
};
template <>
struct Rule<sum_of_all> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout infer(std::span<const Tensor> tensors, std::string_view /*note*/) {
    rule_runs();
    return Layout::packed_like(tensors[0].layout());
  }
  static void cpu(Tensor& out, std::span<const Tensor> tensors, std::string_view note) {
    rule_runs();
    out.zero_();
    for (const Tensor& tensor : tensors) out.add_(tensor);
    out.add_(static_cast<double>(note.size()));
  }
};
template <>
struct Rule<sum_into_> {
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor& /*self*/, const Tensor& /*other*/) { rule_runs(); }
  static void cpu(const Tensor& self, const Tensor& other) {
    rule_runs();
    self.add_(other);
  }
};
template <>
struct Rule<first_of> {
  static double run(const Tensor& self) {
    rule_runs();
    return self[0].item<double>();
  }
};
template <>
struct Rule<sum_and_half> {
  static Tensor compose(const Tensor& self, const std::optional<Tensor>& other) {
    rule_runs();
    return (self + *other) * 0.5;
  }
};

namespace {

// The library's own do not pay for it.
static_assert(detail::is_user_defined<sum_of> && detail::is_user_defined<first_of>);
// Neither is one that is made of ours.
struct my_add : op::add {};
template <class O>
struct counted {};
static_assert(detail::is_user_defined<my_add> && detail::is_user_defined<counted<op::add>>);
static_assert(!detail::is_user_defined<op::add> && !detail::is_user_defined<op::copy_>);

TEST(HeldArguments, OfAnOperatorOfTheUsersStayWhateverItDoes) {
  for (const bool recorded : {false, true}) {
    for (int when = 1; when <= (recorded ? 3 : 2); ++when) {
      const Tensor kept = ones({3}).requires_grad_(recorded);
      auto a = std::make_unique<Tensor>(recorded ? kept : ones({3}));
      auto b = std::make_unique<Tensor>(full({3}, 2.0));
      calls = 0;
      at_call = {when, [&] {
                   a.reset();
                   b.reset();
                 }};
      const Tensor sum = call<sum_of>(*a, *b);
      EXPECT_EQ(a, nullptr);
      EXPECT_EQ(sum.detach().sum().item<double>(), 9.0);
      if (recorded) {
        sum.sum().backward();
        EXPECT_EQ(kept.grad().sum().item<double>(), 3.0);
      }
    }
  }
  at_call = {};
}

TEST(HeldArguments, OfAnOperatorOfTheUsersStayInListsTextsAndOptionals) {
  for (int when = 1; when <= 2; ++when) {
    auto all = std::make_unique<std::vector<Tensor>>(std::vector<Tensor>{ones({2}), ones({2})});
    auto note = std::make_unique<std::string>(40, 'x');
    calls = 0;
    at_call = {when, [&] {
                 all.reset();
                 note.reset();
               }};
    EXPECT_EQ(call<sum_of_all>(*all, *note).sum().item<double>(), 84.0);
    EXPECT_EQ(all, nullptr);
  }
  auto a = std::make_unique<Tensor>(ones({2}));
  auto b = std::make_unique<std::optional<Tensor>>(ones({2}));
  calls = 0;
  at_call = {1, [&] {
               a.reset();
               b.reset();
             }};
  EXPECT_EQ(call<sum_and_half>(*a, *b).sum().item<double>(), 2.0);
  a = std::make_unique<Tensor>(ones({2}));
  calls = 0;
  EXPECT_EQ(call<first_of>(*a), 1.0);
  EXPECT_EQ(a, nullptr);
  at_call = {};
}

TEST(HeldArguments, OfAnOperatorOfTheUsersThatWritesAreWritten) {
  for (int when = 1; when <= 2; ++when) {
    const Tensor was = ones({2});
    Tensor a = was;
    auto b = std::make_unique<Tensor>(ones({2}));
    calls = 0;
    at_call = {when, [&] {
                 a = Tensor();
                 b.reset();
               }};
    EXPECT_EQ(&call<sum_into_>(a, *b), &a);
    EXPECT_EQ(was.sum().item<double>(), 4.0);
    EXPECT_EQ(b, nullptr);
  }
  at_call = {};
}

}  // namespace
}  // namespace tenon
