// Operators as a user writes them: one of every kind, with every kind of argument and result.
#include "tenon/extend/custom_op.h"

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

// The operators.

struct add_scaled {  // pure, an optional tensor among the arguments
  using Signature = Tensor(const Tensor& self, double factor, const std::optional<Tensor>& bias);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo add_scaled::info{"add_scaled", add_scaled::kind};

struct largest {  // pure, two results
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo largest::info{"largest", largest::kind};

struct copies_of {  // pure, a list of results from a list of tensors
  using Signature = std::vector<Tensor>(std::span<const Tensor> tensors, bool reverse);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo copies_of::info{"copies_of", copies_of::kind};

struct increment_ {  // in place
  using Signature = const Tensor&(const Tensor& self, double by);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
constinit OpInfo increment_::info{"increment_", increment_::kind};

struct first_half {  // a view
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
constinit OpInfo first_half::info{"first_half", first_half::kind};

struct total {  // a number
  using Signature = double(const Tensor& self);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};
constinit OpInfo total::info{"total", total::kind};

struct square_of_zeros {  // a factory
  using Signature = Tensor(std::int64_t n);
  static constexpr OpKind kind = OpKind::factory;
  static OpInfo info;
};
constinit OpInfo square_of_zeros::info{"square_of_zeros", square_of_zeros::kind};

struct twice {  // written with another operator
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
constinit OpInfo twice::info{"twice", twice::kind};

// A node with something of its own in it.
class AddScaledNode final : public Node {
 public:
  explicit AddScaledNode(double factor) : factor(factor) {}
  std::string name() const override { return "AddScaledBackward"; }
  double factor;
};

}  // namespace

template <>
struct Rule<add_scaled> {
  static Layout infer(const Tensor& self, double, const std::optional<Tensor>& bias) {
    if (bias && bias->shape() != self.shape()) throw ShapeError("add_scaled: shapes differ");
    return Layout::packed_like(self.layout(), MemoryFormat::contiguous);
  }
  static void cpu(Tensor& out, const Tensor& self, double factor,
                  const std::optional<Tensor>& bias) {
    const Tensor in = self.contiguous(), plus = bias ? bias->contiguous() : Tensor();
    visit(in.dtype(), [&]<class T>() {
      if constexpr (std::same_as<T, float> || std::same_as<T, std::complex<float>>) {
        for (std::int64_t i = 0; i < in.numel(); ++i) {
          out.data<T>()[i] = in.data<T>()[i] * static_cast<float>(factor) +
                             (plus.defined() ? plus.data<T>()[i] : T());
        }
      }
    });
  }
  static Ref<Node> node(const Tensor&, double factor, const std::optional<Tensor>&) {
    return make_ref<AddScaledNode>(factor);
  }
};

template <>
struct Rule<largest> {
  static constexpr std::string_view gradient = "LargestBackward0";
  static std::array<Layout, 2> infer(const Tensor& self) {
    return {Layout::packed({}, self.dtype(), self.device()),
            Layout::packed({}, int64, self.device())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self) {
    const Tensor in = self.contiguous();
    const auto* begin = in.data<float>();
    const auto* found = std::max_element(begin, begin + in.numel());
    *out[0].data<float>() = *found;
    *out[1].data<std::int64_t>() = found - begin;
  }
};

template <>
struct Rule<copies_of> {
  static constexpr std::string_view gradient = no_gradient;
  static std::vector<Layout> infer(std::span<const Tensor> tensors, bool reverse) {
    std::vector<Layout> layouts;
    for (const Tensor& t : tensors) layouts.push_back(Layout::packed_like(t.layout()));
    if (reverse) std::reverse(layouts.begin(), layouts.end());
    return layouts;
  }
  static void run(std::vector<Tensor>& out, std::span<const Tensor> tensors, bool reverse) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].copy_(tensors[reverse ? out.size() - 1 - i : i]);
  }
};

template <>
struct Rule<increment_> {
  static constexpr std::string_view gradient = "IncrementBackward0";
  static void check(const Tensor& self, double) {
    if (!self.is_floating_point() && !self.is_complex())
      throw DTypeError("increment_: not a floating tensor");
  }
  static void cpu(const Tensor& self, double by) {
    // What the kernel is given is plain, whatever the caller's tensor was.
    if (self.is_complex()) {
      for (std::int64_t i = 0; i < self.numel(); ++i)
        self.data<std::complex<float>>()[i] += std::complex<float>(0, static_cast<float>(by));
    } else {
      for (std::int64_t i = 0; i < self.numel(); ++i)
        self.data<float>()[i] += static_cast<float>(by);
    }
  }
};

template <>
struct Rule<first_half> {
  static constexpr std::string_view gradient = "FirstHalfBackward0";
  static Layout view(const Tensor& self) {
    Layout layout = self.layout();
    layout.shape[0] /= 2;
    return layout;
  }
};

template <>
struct Rule<total> {
  static double cpu(const Tensor& self) {
    const Tensor in = self.contiguous();
    double sum = 0;
    for (std::int64_t i = 0; i < in.numel(); ++i) sum += static_cast<double>(in.data<float>()[i]);
    return sum;
  }
};

template <>
struct Rule<square_of_zeros> {
  static Tensor make(std::int64_t n) { return zeros({n, n}); }
};

template <>
struct Rule<twice> {
  static Tensor compose(const Tensor& self) { return call<add_scaled>(self, 2.0, std::nullopt); }
};

namespace {

// What they do.

TEST(CustomOp, EveryKindRunsOnTheCpu) {
  const Tensor x = tensor({1.0, 5.0, 2.0});
  EXPECT_TRUE(equal(call<add_scaled>(x, 3.0, ones({3})), tensor({4.0, 16.0, 7.0})));
  const auto [value, index] = call<largest>(x);
  EXPECT_EQ(value.item<float>(), 5.0f);
  EXPECT_EQ(index.item<int>(), 1);
  const Tensor pair[] = {x, arange(2)};
  const auto copies = call<copies_of>(std::span<const Tensor>(pair), true);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_TRUE(equal(copies[1], x));
  EXPECT_EQ(call<total>(x), 8.0);
  EXPECT_EQ(call<square_of_zeros>(3).shape(), Shape({3, 3}));
  EXPECT_TRUE(equal(call<twice>(x), tensor({2.0, 10.0, 4.0})));
  EXPECT_TRUE(call<first_half>(arange(4.0)).is_view());
}

TEST(CustomOp, InPlaceReturnsItsFirstArgumentAndCounts) {
  const Tensor x = zeros({2});
  EXPECT_TRUE(call<increment_>(x, 1.5).is(x));
  EXPECT_EQ(x.version(), 1);
  EXPECT_TRUE(equal(x, tensor({1.5, 1.5})));
  expect_error<DTypeError>([] { call<increment_>(arange(2), 1.0); }, "increment_");
}

TEST(CustomOp, TheShapeRuleIsTheMetaDevice) {
  const Tensor x = empty({4, 2}, {.device = "meta"});
  EXPECT_EQ(call<add_scaled>(x, 2.0, std::nullopt).shape(), Shape({4, 2}));
  EXPECT_TRUE(std::get<0>(call<largest>(x)).is_meta());
  EXPECT_TRUE(call<increment_>(x, 1.0).is_meta());
  EXPECT_EQ(call<first_half>(x).shape(), Shape({2, 2}));
  EXPECT_TRUE(call<twice>(x).is_meta());
  expect_error<NotImplementedError>([&] { call<total>(x); }, "'total'", "meta");
  expect_error<ShapeError>([&] { call<add_scaled>(x, 1.0, empty({3}, {.device = "meta"})); },
                           "shapes differ");
}

TEST(CustomOp, HistoryIsRecordedByNameOrByItsOwnNode) {
  const Tensor w = ones({4}).requires_grad_(), b = zeros({4});
  const Tensor y = call<add_scaled>(w, 3.0, b);
  ASSERT_NE(dynamic_cast<AddScaledNode*>(y.grad_fn().get()), nullptr);
  EXPECT_EQ(dynamic_cast<AddScaledNode&>(*y.grad_fn()).factor, 3.0);
  EXPECT_EQ(y.grad_fn()->next_edges().size(), 2U);
  EXPECT_TRUE(call<add_scaled>(b, 3.0, w).requires_grad());
  EXPECT_EQ(call<twice>(w).grad_fn()->name(), "AddScaledBackward");
  EXPECT_EQ(call<first_half>(w).grad_fn()->name(), "FirstHalfBackward0");
  const auto [value, index] = call<largest>(w);
  EXPECT_EQ(value.grad_fn()->name(), "LargestBackward0");
  EXPECT_FALSE(index.requires_grad());
  const Tensor list[] = {w};
  EXPECT_FALSE(call<copies_of>(std::span<const Tensor>(list), false)[0].requires_grad());
  EXPECT_EQ(call<increment_>(w.clone(), 1.0).grad_fn()->name(), "IncrementBackward0");
  expect_error<AutogradError>([&] { call<increment_>(w, 1.0); }, "leaf", "increment_");
}

TEST(CustomOp, KernelsSeeElementsAsTheyAreToBeRead) {
  const Tensor x = tensor({std::complex<double>(1, 2), std::complex<double>(3, -4)});
  const Tensor y = call<add_scaled>(x.conj(), 2.0, std::nullopt);
  EXPECT_FALSE(y.is_conj());
  EXPECT_TRUE(equal(y, tensor({std::complex<double>(2, -4), std::complex<double>(6, 8)})));
  EXPECT_EQ(call<total>(x.conj().imag()), 2.0);
  const Tensor conjugated = x.conj();
  EXPECT_TRUE(call<increment_>(conjugated, 10.0).is(conjugated));
  EXPECT_TRUE(equal(x, tensor({std::complex<double>(1, -8), std::complex<double>(3, -14)})));
  EXPECT_EQ(x.version(), 1);
}

TEST(CustomOp, UndefinedTensorsAreRefusedUnlessOptional) {
  expect_error<Error>([] { call<total>(Tensor()); }, "total", "undefined");
  EXPECT_EQ(call<add_scaled>(ones({1}), 2.0, Tensor()).item<float>(), 2.0f);
}

TEST(CustomOp, UserDefinedTensorsSeeItAndCanIssueItAgain) {
  std::vector<std::string> log;
  const Tensor x = make_tensor<LoggingTensor>(tensor({1.0, 5.0}), log);
  const Tensor y = call<add_scaled>(ones({2}), 1.0, x);
  EXPECT_TRUE(equal(y.as<LoggingTensor>()->elem, tensor({2.0, 6.0})));
  const auto copies = call<copies_of>(std::vector<Tensor>{ones({1}), x}, false);
  EXPECT_NE(copies[1].as<LoggingTensor>(), nullptr);
  EXPECT_EQ(call<total>(x), 6.0);
  EXPECT_TRUE(call<increment_>(x, 1.0).is(x));
  EXPECT_TRUE(equal(x.as<LoggingTensor>()->elem, tensor({2.0, 6.0})));
  EXPECT_EQ(x.version(), 1);
  call<twice>(x);  // asked about the composite first, and it answered
  EXPECT_EQ(call<first_half>(x).base().id(), x.id());
  EXPECT_THAT(log, testing::ElementsAre("add_scaled", "copies_of", "total", "increment_", "twice",
                                        "first_half"));
}

TEST(CustomOp, ATupleFromAUserDefinedTensorMustHaveTheRightLength) {
  class Short final : public Wrapper<Short> {
   public:
    explicit Short(const Tensor& like) : Wrapper(like) {}
    std::optional<Value> dispatch(const OpCall&) const override {
      return Value::tuple({ones({1})});
    }
  };
  const Tensor x = make_tensor<Short>(ones({2}));
  expect_error<TypeError>([&] { call<largest>(x); }, "largest", "1 values", "2 tensors");
  expect_error<TypeError>([&] { call<twice>(x); }, "twice", "tuple", "Tensor");
  expect_error<TypeError>([&] { call<total>(x); }, "float", "tuple");
}

struct first_number {  // a number, from a kernel for every device
  using Signature = std::int64_t(const Tensor& self);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};
constinit OpInfo first_number::info{"first_number", first_number::kind};

}  // namespace

template <>
struct Rule<first_number> {
  static std::int64_t run(const Tensor& self) { return *self.data<std::int64_t>(); }
};

namespace {

TEST(CustomOp, AQueryWithoutAnAnswerForMetaIsNotRunThere) {
  EXPECT_EQ(call<first_number>(arange(2)), 0);
  expect_error<NotImplementedError>(
      [] { call<first_number>(empty({2}, {.dtype = int64, .device = "meta"})); }, "first_number",
      "meta");
}

TEST(CustomOp, ATensorThatIsNotThereHasAnEdgeToNowhere) {
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_EQ(call<add_scaled>(x, 2.0, std::nullopt).grad_fn()->next_edges().size(), 2U);
  EXPECT_EQ(call<add_scaled>(x, 2.0, std::nullopt).grad_fn()->next_edges()[1].node, nullptr);
  EXPECT_EQ(call<add_scaled>(x, 2.0, x).grad_fn()->next_edges().size(), 2U);
}

}  // namespace
}  // namespace tenon
