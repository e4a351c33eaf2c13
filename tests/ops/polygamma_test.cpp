#include <cmath>
#include <limits>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"

namespace tenon {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Polygamma, IsExactToAFewUnitsInTheLastPlace) {
  for (const recorded::Line& row : recorded::rows("ops/cases/polygamma", 90)) {
    const std::int64_t n = std::stoll(row.at(0));
    const double x = recorded::real(row.at(1)), y = recorded::real(row.at(2));
    const double got = polygamma(n, full({}, x, {.dtype = float64})).item<double>();
    EXPECT_NEAR(got, y, 4e-15 * std::fabs(y)) << n << " of " << x;
    const double single = polygamma(n, full({}, x, {.dtype = float32})).item<double>();
    if (std::fabs(y) > 1e-37 && std::fabs(y) < 1e38 && x > 0) {
      EXPECT_NEAR(single, y, 1e-5 * std::fabs(y)) << n << " of " << x;
    }
  }
}

// Infinities at the poles with PyTorch's sign; what it tends to at infinity.
TEST(Polygamma, AtItsPolesAndEnds) {
  const Tensor x =
      tensor({0., -0., -1., -7., -1e17, kInf, -kInf, std::nan("")}, {.dtype = float64});
  const Tensor first = polygamma(1, x), second = polygamma(2, x);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(first[i].item<double>(), kInf) << i;
    EXPECT_EQ(second[i].item<double>(), -kInf) << i;
  }
  EXPECT_EQ(first[5].item<double>(), 0);
  EXPECT_EQ(second[5].item<double>(), 0);
  for (int i = 6; i < 8; ++i) {
    EXPECT_TRUE(std::isnan(first[i].item<double>())) << i;
    EXPECT_TRUE(std::isnan(second[i].item<double>())) << i;
  }
  EXPECT_EQ(polygamma(1, tensor({1e-300})).item<double>(), kInf);
  // More than a factorial that fits: -200! * 2^201.
  EXPECT_EQ(polygamma(200, tensor({0.5}, {.dtype = float64})).item<double>(), -kInf);
  EXPECT_EQ(polygamma(200, tensor({1e5})).item<double>(), -0.0);
  EXPECT_NEAR(
      polygamma(200, tensor({20.}, {.dtype = float64})).item<double>() / -2.45405013879815533e113,
      1, 1e-12);
}

TEST(Polygamma, HasTheDtypesOfDigamma) {
  EXPECT_TRUE(equal(polygamma(0, tensor({0.5, 3.}, {.dtype = float64})),
                    digamma(tensor({0.5, 3.}, {.dtype = float64}))));
  EXPECT_EQ(polygamma(1, tensor({1, 2})).dtype(), float32);
  EXPECT_EQ(polygamma(1, tensor({true})).dtype(), float32);
  EXPECT_EQ(polygamma(1, ones({2}, {.dtype = bfloat16})).dtype(), bfloat16);
  EXPECT_EQ(ones({1}, {.dtype = bfloat16}).polygamma(1).item<double>(), 1.6484375);
  const Tensor x = tensor({{1., 2., 3.}, {4., 5., 6.}}, {.dtype = float64}).t();
  EXPECT_EQ(x.polygamma(1).stride(), x.stride());
  const Tensor same = x.clone();
  EXPECT_TRUE(same.polygamma_(1).is(same));
  EXPECT_TRUE(equal(same, x.polygamma(1)));
  EXPECT_EQ(polygamma(1, zeros({0})).numel(), 0);
  EXPECT_TRUE(polygamma(1, zeros({2}, {.device = "meta"})).is_meta());
  expect_error<ValueError>([&] { polygamma(-1, x); },
                           "polygamma(n, x) does not support negative n");
  expect_error<NotImplementedError>([] { polygamma(1, ones({1}, {.dtype = complex64})); },
                                    "polygamma", "ComplexFloat");
  expect_error<DTypeError>([] { tensor({1, 2}).polygamma_(1); },
                           "result type Float can't be cast to the desired output type Long");
}

TEST(Polygamma, IsTheDerivativeOfDigammaAndOfItself) {
  const Tensor x = tensor({0.3, -0.7, 2.5, -3.2}, {.dtype = float64}).requires_grad_();
  expect_gradients([](const std::vector<Tensor>& t) { return lgamma(t[0]); }, {x});
  expect_gradients([](const std::vector<Tensor>& t) { return digamma(t[0]); }, {x});
  expect_gradients([](const std::vector<Tensor>& t) { return polygamma(1, t[0]); }, {x});
  expect_gradients([](const std::vector<Tensor>& t) { return polygamma(2, t[0]); }, {x});
  EXPECT_EQ(polygamma(2, x).grad_fn()->name(), "PolygammaBackward0");
  EXPECT_EQ(digamma(x).grad_fn()->name(), "DigammaBackward0");
}

// lgamma and its derivatives one after the other, as PyTorch gives them.
TEST(Polygamma, FollowsLgammaAsOftenAsWanted) {
  const double expected[][3] = {{1.0957979948180756, 1.4524729387568078, 0.2846828704729192},
                                {-3.502524222200133, -2.073952793628704, 0.7031566406452431},
                                {12.245364544940365, 14.286180872300749, 0.4903577562398206},
                                {-75.27253658872601, -69.44163279863852, -0.23620405164172736},
                                {743.1417646550497, 768.1313523268523, 0.2239058488172521}};
  const Tensor x = tensor({0.3, -0.7, 2.5}, {.dtype = float64}).requires_grad_();
  Tensor y = lgamma(x);
  for (const auto& row : expected) {
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(y[i].item<double>(), row[i], 1e-9 * std::fabs(row[i])) << i;
    y = autograd::grad({y.sum()}, {x}, {.create_graph = true})[0];
  }
}

TEST(Polygamma, InPlaceKeepsWhatItsGradientNeeds) {
  const Tensor x = tensor({0.3, 2.5}, {.dtype = float64}).requires_grad_();
  const Tensor y = x * 1;
  y.polygamma_(1);
  y.sum().backward();
  EXPECT_TRUE(allclose(x.grad(), polygamma(2, x.detach())));
  const Tensor z = tensor({0.3, 2.5}, {.dtype = float64}).requires_grad_();
  const Tensor w = z * 1;
  w.digamma_();
  w.sum().backward();
  EXPECT_TRUE(allclose(z.grad(), polygamma(1, z.detach())));
}

}  // namespace
}  // namespace tenon
