// The rules are tested against PyTorch's own text in tests/parity; here is what that does not
// reach.
#include "tenon/printing.h"

#include <functional>
#include <locale>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

// Destroys a tensor, or swaps it, when it is asked for its text.
class Vanishing final : public Wrapper<Vanishing> {
 public:
  explicit Vanishing(std::function<void()> deed)
      : Wrapper(ones({2})), deed_(std::move(deed)), payload_(ones({3})) {}
  std::optional<std::string> repr() const override {
    deed_();
    return std::nullopt;
  }
  std::string type_name() const override { return "Vanishing"; }

 private:
  std::function<void()> deed_;
  Tensor payload_;
};

class Printing : public testing::Test {
 protected:
  void TearDown() override { set_printoptions({.profile = "default"}); }
};

TEST_F(Printing, GradFnAndRequiresGradAreShown) {
  const Tensor w = ones({2}).requires_grad_();
  EXPECT_EQ(w.repr(), "tensor([1., 1.], requires_grad=True)");
  EXPECT_EQ(w.clone().repr(), "tensor([1., 1.], grad_fn=<CloneBackward0>)");
}

TEST_F(Printing, ParametersSayWhatTheyAre) {
  EXPECT_EQ(nn::make_parameter(ones({2})).repr(),
            "Parameter containing:\ntensor([1., 1.], requires_grad=True)");
  const Tensor scaled = make_tensor<ScaledTensor>(ones({1}), 0.5);
  EXPECT_EQ(nn::make_parameter(scaled).repr(), "ScaledTensor(tensor([1.]), scale=0.5)");
}

TEST_F(Printing, AUserDefinedTensorWithoutTextOfItsOwnShowsWhatIsKnown) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(ones({5, 3}), log);
  EXPECT_EQ(t.repr(), "LoggingTensor(..., size=(5, 3))");
  EXPECT_EQ(nn::make_parameter(t).repr(),
            "Parameter(LoggingTensor(..., size=(5, 3), requires_grad=True))");
}

TEST_F(Printing, ProfilesAreThoseOfPyTorch) {
  set_printoptions({.profile = "short"});
  EXPECT_EQ(get_printoptions().precision, 2);
  EXPECT_EQ(get_printoptions().edgeitems, 2);
  set_printoptions({.profile = "FULL"});
  EXPECT_GT(get_printoptions().threshold, 1'000'000'000);
  EXPECT_EQ(get_printoptions().precision, 4);
  set_printoptions({.precision = 7, .profile = "default"});
  EXPECT_EQ(get_printoptions().precision, 7);
  EXPECT_EQ(get_printoptions().threshold, 1000);
}

TEST_F(Printing, WhatIsNotNamedStaysExceptSciMode) {
  set_printoptions({.linewidth = 40, .sci_mode = true});
  EXPECT_EQ(tensor({1.0, 2.0}).repr(), "tensor([1.0000e+00, 2.0000e+00])");
  set_printoptions({.precision = 2});
  EXPECT_EQ(get_printoptions().linewidth, 40);
  EXPECT_EQ(get_printoptions().sci_mode, std::nullopt);
}

TEST_F(Printing, BadOptionsChangeNothing) {
  expect_error<ValueError>([] { set_printoptions({.precision = 2, .edgeitems = -1}); }, "negative");
  expect_error<ValueError>([] { set_printoptions({.profile = "tiny"}); }, "tiny", "short");
  expect_error<ValueError>([] { set_printoptions({.precision = 100'000}); }, "100000", "1000");
  EXPECT_EQ(get_printoptions().precision, 4);
}

// A comma for a point and points between thousands, as in German; the machine need not know any.
class Commas final : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(Printing, TheLocaleHasNoSay) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new Commas));
  EXPECT_EQ(tensor({1.5}).repr(), "tensor([1.5000])");
  EXPECT_EQ(tensor({12345}).repr(), "tensor([12345])");
  std::ostringstream out;
  out << zeros({1000000}).shape();
  EXPECT_EQ(out.str(), "torch.Size([1000000])");
  std::locale::global(before);
}

TEST_F(Printing, QuantisedElementsAreShownAsTheyAreStored) {
  std::int8_t bytes[] = {1, -2};
  EXPECT_EQ(from_blob(bytes, {2}, {.dtype = qint8}).repr(), "tensor([ 1, -2], dtype=torch.qint8)");
}

TEST_F(Printing, GoesToAStream) {
  std::ostringstream out;
  out << arange(2) << " " << arange(2).shape() << " " << arange(2).stride();
  EXPECT_EQ(out.str(), "tensor([0, 1]) torch.Size([2]) (1,)");
}

TEST_F(Printing, AsManyEdgeItemsAsThereAreNumbersShowEverything) {
  set_printoptions({.threshold = 2, .edgeitems = std::int64_t{1} << 62});
  EXPECT_EQ(arange(4).repr(), "tensor([0, 1, 2, 3])");
}

TEST_F(Printing, OfAUserDefinedTensorMayDestroyOrSwapIt) {
  auto gone = std::make_unique<Tensor>();
  *gone = make_tensor<Vanishing>([&] { gone.reset(); });
  EXPECT_EQ(gone->repr(), "Vanishing(..., size=(2,))");
  auto other = std::make_unique<Tensor>(full({3}, 1.0));
  const Tensor swapped = make_tensor<Vanishing>([&] {
    if (!other) return;
    swap_tensors(swapped, *other);
    other.reset();
  });
  EXPECT_EQ(swapped.repr(), "tensor([1., 1., 1.])");
}

}  // namespace
}  // namespace tenon
