#include <cmath>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor four(const std::string& word) { return tensor(recorded::reals(word)); }

Tensor numbers(const Shape& shape, double from) {
  return (arange(shape.numel(), {.dtype = float64}) * 0.7 + from).sin().reshape(shape);
}

TEST(ScatterReduce, GivesWhatPyTorchGivesAndItsGradients) {
  const Tensor index = tensor({0, 0, 1, 3});
  for (const recorded::Line& row : recorded::rows("ops/cases/scatter_reduce", 25)) {
    SCOPED_TRACE(recorded::joined(row));
    ASSERT_EQ(row.size(), 7);
    const bool include_self = *recorded::flag(row[1]);
    const Tensor self = four(row[2]).requires_grad_(), src = four(row[3]).requires_grad_();
    const Tensor y = scatter_reduce(self, 0, index, src, row[0], {.include_self = include_self});
    EXPECT_EQ(y.grad_fn()->name(), "ScatterReduceBackward0");
    EXPECT_TRUE(equal(y.detach(), four(row[4])));
    (y * tensor({1, 2, 3, 4})).sum().backward();
    EXPECT_TRUE(allclose(self.grad(), four(row[5]))) << self.grad();
    EXPECT_TRUE(allclose(src.grad(), four(row[6]))) << src.grad();
  }
}

TEST(ScatterReduce, HasTheGradientsThatDifferencesSay) {
  const Tensor index = tensor({{0, 1, 2}, {2, 0, 2}});
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"}) {
    for (const bool include_self : {true, false}) {
      SCOPED_TRACE(testing::Message() << reduce << " include_self " << include_self);
      for (const std::int64_t dim : {0, 1}) {
        expect_gradients(
            [&](const Tensors& x) {
              return scatter_reduce(x[0], dim, index, x[1], reduce, {.include_self = include_self});
            },
            {numbers({3, 3}, 0.2).requires_grad_(), numbers({2, 3}, 1.1).requires_grad_()});
      }
      // An index that is smaller than the source.
      expect_gradient(
          [&](const Tensors& x) {
            return scatter_reduce(x[0], 0, index, x[1], reduce, {.include_self = include_self});
          },
          {numbers({3, 4}, 0.2).requires_grad_(), numbers({3, 4}, 1.1).requires_grad_()});
    }
  }
}

TEST(ScatterReduce, SharesAnExtremeAmongThoseThatTakePart) {
  const Tensor self = tensor({2., 0.}).requires_grad_(),
               src = tensor({2., 2., 0.}).requires_grad_();
  scatter_reduce(self, 0, tensor({0, 0, 1}), src, "amax", {.include_self = false}).sum().backward();
  EXPECT_TRUE(equal(src.grad(), tensor({0.5, 0.5, 1.})));
  EXPECT_TRUE(equal(self.grad(), tensor({0., 0.})));
}

TEST(ScatterReduce, OfOtherDtypesIsAsInPyTorch) {
  const Tensor index = tensor({0, 0, 1, 3});
  const Tensor self = tensor({7, -3, 0, 1}), src = tensor({1, -5, -4, 2});
  const auto of = [&](DType dtype, const char* reduce, bool include_self = true) {
    return scatter_reduce(self.to(dtype), 0, index, src.to(dtype), reduce,
                          {.include_self = include_self})
        .to(float32);
  };
  for (const DType dtype : {int64, int32}) {
    EXPECT_TRUE(equal(of(dtype, "mean"), tensor({1., -4., 0., 1.})));
    EXPECT_TRUE(equal(of(dtype, "mean", false), tensor({-2., -4., 0., 2.})));
    EXPECT_TRUE(equal(of(dtype, "prod"), tensor({-35., 12., 0., 2.})));
    EXPECT_TRUE(equal(of(dtype, "amax", false), tensor({1., -4., 0., 2.})));
    EXPECT_TRUE(equal(of(dtype, "amin"), tensor({-5., -4., 0., 1.})));
  }
  EXPECT_TRUE(equal(of(bfloat16, "mean"), tensor({1., -3.5, 0., 1.5})));
  EXPECT_TRUE(equal(of(bfloat16, "amin"), tensor({-5., -4., 0., 1.})));
  EXPECT_TRUE(equal(of(bool_, "amax"), tensor({1., 1., 0., 1.})));
  EXPECT_TRUE(equal(of(uint8, "amax"), tensor({251., 253., 0., 2.})));
  expect_error<NotImplementedError>([&] { of(bool_, "mean"); }, "mean", "Bool");
  expect_error<NotImplementedError>([&] { of(complex64, "amax"); }, "ComplexFloat");
}

TEST(ScatterReduce, OfNanIsNan) {
  const double nan = std::nan("");
  for (const char* reduce : {"amax", "amin"}) {
    const Tensor y =
        tensor({1., nan, 2.}).scatter_reduce(0, tensor({0, 0, 1}), tensor({nan, 1., 1.}), reduce);
    EXPECT_TRUE(std::isnan(y[0].item<double>()) && std::isnan(y[1].item<double>())) << reduce;
    EXPECT_EQ(y[2].item<double>(), 2);
  }
}

TEST(ScatterReduce, InPlaceWritesOnceAndReturnsItself) {
  const Tensor x = ones({3}), index = tensor({0, 1});
  const std::int64_t version = x.version();
  EXPECT_TRUE(x.scatter_reduce_(0, index, tensor({3.f, 4.f}), "mean").is(x));
  EXPECT_EQ(x.version(), version + 1);
  EXPECT_TRUE(equal(x, tensor({2.f, 2.5f, 1.f})));
  // Reading what is written is as if it were a copy.
  x.scatter_reduce_(0, tensor({2, 1, 0}), x, "sum");
  EXPECT_TRUE(equal(x, tensor({3.f, 5.f, 3.f})));
  EXPECT_TRUE(equal(x.scatter_reduce(0, zeros({0}, {.dtype = int64}), zeros({0}), "prod"), x));
}

TEST(ScatterReduce, SaysWhatIsWrong) {
  const Tensor x = ones({3}), index = tensor({0, 5}), src = ones({2});
  expect_error<ValueError>([&] { scatter_reduce(x, 0, index, src, "max"); },
                           "reduce argument must be either sum, prod, mean, amax or amin, got max");
  expect_error<IndexError>([&] { scatter_reduce(x, 0, index, src, "sum"); }, "5", "out of bounds");
  expect_error<DTypeError>([&] { scatter_reduce(x, 0, index, src.to(float64), "sum"); },
                           "Expected self.dtype to be equal to src.dtype");
}

// PyTorch has none for these, and says so.
TEST(Scatter, WithAReductionHasAGradient) {
  const Tensor index = tensor({{0, 1, 2}, {2, 0, 2}});
  for (const char* reduce : {"add", "multiply"}) {
    expect_gradients(
        [&](const Tensors& x) { return scatter(x[0], 1, index, x[1], {.reduce = reduce}); },
        {numbers({3, 3}, 0.2).requires_grad_(), numbers({2, 3}, 1.1).requires_grad_()});
    expect_gradients(
        [&](const Tensors& x) { return scatter(x[0], 1, index, 2.5, {.reduce = reduce}); },
        {numbers({3, 3}, 0.2).requires_grad_()});
    const Tensor plain = numbers({3, 3}, 0.2), src = numbers({2, 3}, 1.1);
    EXPECT_TRUE(equal(
        scatter(plain, 1, index, src, {.reduce = reduce}),
        scatter(plain.detach().requires_grad_(), 1, index, src, {.reduce = reduce}).detach()));
  }
}

}  // namespace
}  // namespace tenon
