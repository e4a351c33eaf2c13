#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Fill, WritesEveryElementAndNothingElse) {
  const Tensor x = zeros({3, 4});
  x.slice(1, 1, 4, 2).fill_(2.5);
  EXPECT_TRUE(equal(x[1], tensor({0.0, 2.5, 0.0, 2.5})));
  x.zero_();
  EXPECT_TRUE(equal(x, zeros({3, 4})));
  zeros({1}).expand({3}).fill_(1);  // the same place three times is the same
}

TEST(Fill, AValueThatDoesNotFitChangesNothing) {
  const Tensor x = ones({2}, {.dtype = int8});
  expect_error<ValueError>([&] { x.fill_(300); }, "int8", "300");
  expect_error<ValueError>([] { zeros({2}).fill_(std::complex<double>(0, 1)); }, "float32", "1j");
  expect_error<ValueError>([] { empty({2}, {.dtype = int8, .device = "meta"}).fill_(300); },
                           "int8");
  EXPECT_EQ(x[0].item<int>(), 1);
  EXPECT_EQ(x.version(), 0);
}

TEST(Fill, IsReadBackThroughConjugatesAndNegatives) {
  const Tensor c = zeros({2}, {.dtype = complex64});
  c.conj().fill_(std::complex<double>(1, 2));
  EXPECT_EQ(c[0].item<std::complex<double>>(), std::complex<double>(1, -2));
  c.conj().imag().fill_(3);
  EXPECT_EQ(c.conj().imag()[1].item<double>(), 3.0);
}

TEST(Fill, FromATensorOfNoDimensions) {
  const Tensor x = zeros({2});
  x.fill_(tensor(4));
  EXPECT_EQ(x[1].item<float>(), 4.0f);
  expect_error<ShapeError>([&] { x.fill_(ones({2})); }, "0-dimension", "1 dimensions");
  expect_error<NotImplementedError>([&] { x.fill_(empty({}, {.device = "meta"})); }, "no data!");
}

TEST(Fill, FromATensorCountsAsOneWrite) {
  const Tensor x = zeros({2});
  x.fill_(ones({}));
  EXPECT_EQ(x.version(), 1);
}

}  // namespace
}  // namespace tenon
