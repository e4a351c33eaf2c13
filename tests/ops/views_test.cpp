// Layouts are compared with PyTorch's in tests/parity; here are sharing, options and messages.
#include <limits>

#include "support/matchers.h"

namespace tenon {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                       kMin = std::numeric_limits<std::int64_t>::min();

TEST(Views, ShareTheBytes) {
  const Tensor x = zeros({2, 3});
  x.view({6}).slice(0, 1, 3).fill_(7);
  EXPECT_EQ(x.repr(), "tensor([[0., 7., 7.],\n        [0., 0., 0.]])");
  x.t()[2].fill_(1);
  EXPECT_EQ(x[1][2].item<float>(), 1.0f);
}

TEST(Views, ReshapeIsAViewWhereItCanBe) {
  const Tensor x = arange(6.0).view({2, 3});
  EXPECT_TRUE(x.reshape({3, 2}).is_view());
  EXPECT_FALSE(x.t().reshape({6}).is_view());
  EXPECT_NE(x.t().reshape({6}).data_ptr(), x.data_ptr());
}

TEST(Views, TakePyTorchsOptions) {
  const Tensor x = arange(24.0).view({2, 3, 4});
  EXPECT_EQ(x.flatten({.start_dim = 1}).shape(), Shape({2, 12}));
  EXPECT_EQ(flatten(x, {.end_dim = 1}).shape(), Shape({6, 4}));
  EXPECT_EQ(x.diagonal({.offset = 1, .dim1 = 1, .dim2 = 2}).shape(), Shape({2, 3}));
  EXPECT_EQ(x.split(2, {.dim = 2}).size(), 2U);
  EXPECT_EQ(x.split({1, 3}, {.dim = -1})[1].shape(), Shape({2, 3, 3}));
  EXPECT_EQ(x.chunk(3, {.dim = 1}).size(), 3U);
  EXPECT_EQ(x.unbind({.dim = 1}).size(), 3U);
  EXPECT_EQ(x.as_strided({2}, {3}, 5)[0].item<float>(), 5.0f);
  EXPECT_EQ(x.view(-1).shape(), Shape({24}));
  EXPECT_EQ(x.view_as(empty({4, 6})).shape(), Shape({4, 6}));
  EXPECT_EQ(x.permute({2, 0, 1}).shape(), Shape({4, 2, 3}));
  EXPECT_EQ(x.movedim(0, 2).shape(), Shape({3, 4, 2}));
  EXPECT_EQ(ones({1}).expand_as(x).shape(), x.shape());
  EXPECT_EQ(broadcast_to(ones({4}), {2, 4}).stride(), Dims({0, 1}));
}

TEST(Views, MessagesHaveTheNumbersInThem) {
  const Tensor x = zeros({2, 3, 4});
  expect_error<ShapeError>([&] { x.view({5}); }, "shape '[5]' is invalid for input of size 24");
  expect_error<ShapeError>([&] { x.view({-1, -1}); }, "only one dimension can be inferred");
  expect_error<ShapeError>([&] { x.view({-2, 12}); }, "invalid shape dimension -2 at index 0");
  expect_error<ShapeError>([&] { x.permute({2, 0, 1}).view({24}); }, "[4, 2, 3]", "[1, 12, 4]",
                           "reshape");
  expect_error<ShapeError>([] { empty({0}).view({-1, 0}); }, "ambiguous");
  expect_error<IndexError>([&] { x.transpose(0, 3); }, "[-3, 2], but got 3");
  expect_error<IndexError>([&] { x.select(0, 2); }, "index 2 out of range", "[2, 3, 4]",
                           "dimension 0");
  expect_error<ShapeError>([&] { x.t(); }, "3D");
  expect_error<ShapeError>([&] { x.narrow(0, 0, 3); },
                           "start (0) + length (3) exceeds dimension size (2)");
  expect_error<ShapeError>([&] { x.expand({3, 3, 4}); }, "(3) must match the existing size (2)",
                           "[3, 3, 4]", "[2, 3, 4]");
  expect_error<ShapeError>([&] { x.as_strided({10, 10}, {1, 10}); }, "400", "96");
  expect_error<ShapeError>([&] { x.permute({0, 1}); }, "input.dim() = 3", "len(dims) = 2");
  expect_error<ShapeError>([&] { x.split({1, 2}, 0); }, "sum exactly to 2", "[1, 2]");
  expect_error<ValueError>([&] { x.chunk(0); }, "greater than 0, got: 0");
  expect_error<ShapeError>([&] { x.unflatten(1, {2, 2}); }, "[2, 2]", "dim 1 (3)");
  expect_error<DTypeError>([&] { x.imag(); }, "imag", "torch.float32");
  expect_error<ShapeError>([] { zeros({3, 3}).view(float64); },
                           "self.size(-1) must be divisible by 2", "Float as Double");
  expect_error<DTypeError>([] { zeros({2}, {.dtype = complex64}).conj().view(float32); },
                           "resolve_conj");
  expect_error<ValueError>([&] { x.slice(0, 0, 2, 0); }, "step", "0");
}

TEST(Views, TheLargestAndSmallestNumbersAreHarmless) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(x.slice(0, kMin, kMax).shape(), Shape({2, 3}));
  EXPECT_EQ(x.slice(0, kMax, kMin).shape(), Shape({0, 3}));
  EXPECT_EQ(x.slice(0, 0, kMax, kMax).shape(), Shape({1, 3}));
  EXPECT_EQ(x.split(kMax).size(), 1U);
  EXPECT_EQ(x.diagonal(kMax).shape(), Shape({0}));
  EXPECT_EQ(x.diagonal(kMin).shape(), Shape({0}));
  EXPECT_EQ(x.unfold(0, 1, kMax).shape(), Shape({1, 3, 1}));
  expect_error<IndexError>([&] { x.select(0, kMin); }, "out of range");
  expect_error<IndexError>([&] { x.narrow(0, kMin, 1); }, "start out of range");
  expect_error<ShapeError>([&] { x.narrow(0, 0, kMax); }, "exceeds");
  expect_error<ShapeError>([&] { x.view({kMax, kMax}); }, "invalid for input");
  expect_error<ShapeError>([&] { x.expand({kMax, kMax, 2, 3}); },
                           "more elements than can be counted");
  expect_error<ShapeError>([&] { x.as_strided({kMax, kMax}, {kMax, kMax}); }, "overflow");
  expect_error<ShapeError>([&] { x.as_strided({2}, {1}, kMax); }, "overflow");
  // The same element again and again fits any memory, but can no longer be counted.
  expect_error<ShapeError>([&] { x.as_strided({kMax, kMax}, {0, 0}); }, "as_strided", "counted");
  const Tensor long_one = empty({std::int64_t{1} << 40}, {.device = "meta"});
  expect_error<ShapeError>([&] { long_one.unfold(0, std::int64_t{1} << 39, 1); }, "unfold",
                           "counted");
  expect_error<ShapeError>([&] { x.as_strided({kMax, kMax, 0}, {0, 0, 1}); }, "counted");
  expect_error<ShapeError>([&] { x.as_strided({2}, {1}, -1); }, "invalid storage offset -1");
  expect_error<ShapeError>([&] { x.as_strided({-2}, {1}); }, "negative");
  expect_error<ShapeError>([&] { x.as_strided({2}, {-1}); }, "Negative strides");
  expect_error<IndexError>([&] { x.unsqueeze(kMax); }, "[-3, 2]");
  expect_error<ShapeError>([&] { x.split({kMax, kMax}, 0); }, "sum exactly to 2");
  expect_error<ValueError>([&] { x.chunk(kMin); }, "got: -9223372036854775808");
  EXPECT_EQ(x.chunk(kMax).size(), 2U);
  expect_error<ValueError>([] { empty({0}).chunk(kMax); }, "chunk", "9223372036854775807");
  expect_error<ValueError>([&] { long_one.split(1); }, "split", "1099511627776");
  expect_error<ValueError>([&] { long_one.unbind(); }, "unbind", "1099511627776");
  // Strides of a dimension with one element are never walked and may be anything.
  const Tensor odd = x.as_strided({1, 2}, {kMax, 1});
  EXPECT_EQ(odd.view({2}).shape(), Shape({2}));
  EXPECT_EQ(odd.unsqueeze(0).unfold(1, 1, 2).clone().numel(), 2);
  EXPECT_EQ(odd.view(int8).shape(), Shape({1, 8}));
  EXPECT_EQ(odd.diagonal().numel(), 1);
  EXPECT_EQ(odd.to(float64).numel(), 2);
  EXPECT_EQ(view_as_real(odd.to(complex64)).numel(), 4);
}

TEST(Views, OfNothingCanBeWrittenToAndHaveGradients) {
  const Tensor a = ones({0, 0}).requires_grad_();
  const Tensor b = a * 2.0;
  b.view({0, 0}).mul_(2.0);
  b.sum().backward();
  EXPECT_EQ(a.grad().shape(), Shape({0, 0}));
  const Tensor c = ones({3, 4}).requires_grad_(), d = c * 2.0;
  d.narrow(0, 3, 0).mul_(2.0);
  d.sum().backward();
  EXPECT_TRUE(equal(c.grad(), full({3, 4}, 2.0f)));
}

TEST(Views, ComplexPartsAreViews) {
  const Tensor c = tensor({std::complex<double>(1, 2), std::complex<double>(3, 4)});
  c.imag().fill_(9);
  EXPECT_EQ(c[0].item<std::complex<double>>(), std::complex<double>(1, 9));
  c.conj().imag().fill_(5);
  EXPECT_EQ(c[1].item<std::complex<double>>(), std::complex<double>(3, -5));
  EXPECT_TRUE(c.conj().is_conj());
  EXPECT_FALSE(c.conj().conj().is_conj());
  EXPECT_TRUE(c.conj().imag().is_neg());
  EXPECT_FALSE(c.conj().real().is_neg());
  const Tensor x = ones({2});
  EXPECT_TRUE(x.conj().is(x));
  EXPECT_TRUE(x.real().is(x));
  EXPECT_TRUE(x.resolve_conj().is(x));
  EXPECT_TRUE(c.conj().resolve_conj().is_contiguous());
  EXPECT_FALSE(c.conj().resolve_conj().is_conj());
}

TEST(Views, OfManyDimensionsWork) {
  Tensor x = arange(4.0).view({2, 2});
  for (int i = 0; i < 60; ++i) x = x.unsqueeze(i % 3);
  EXPECT_EQ(x.dim(), 62);
  EXPECT_TRUE(equal(x.clone().squeeze(), arange(4.0).view({2, 2})));
  EXPECT_TRUE(equal(x.transpose(0, 61).reshape({2, 2}).squeeze(), x.transpose(0, 61).squeeze()));
}

}  // namespace
}  // namespace tenon
