// Gradients of functions of one and of two tensors.
#include <map>

#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

// Float64 between two numbers, none too near to where a function has a corner.
Tensor between(double from, double to, const Shape& shape, std::uint64_t seed = 1) {
  Generator generator;
  generator.manual_seed(seed);
  return empty(shape, {.dtype = float64}).uniform_(from, to, generator).requires_grad_();
}

struct Function {
  const char* name;
  Tensor (*f)(const Tensor&);
  double from, to;
};

class UnaryGradients : public testing::TestWithParam<Function> {};

TEST_P(UnaryGradients, AreWhatDifferencesSay) {
  const auto& [name, f, from, to] = GetParam();
  const auto call = [f](const std::vector<Tensor>& x) { return f(x[0]); };
  expect_gradients(call, {between(from, to, {2, 3})});
  expect_gradients(call, {between(from, to, {})});
  // Over other strides, of a part that is used twice.
  expect_gradients(
      [f](const std::vector<Tensor>& x) { return f(x[0].t()) + f(x[0].t().narrow(0, 1, 1)); },
      {between(from, to, {2, 3}, 2)});
}

INSTANTIATE_TEST_SUITE_P(
    Functions, UnaryGradients,
    testing::Values(Function{"neg", neg, -2, 2}, Function{"abs", abs, 0.5, 2},
                    Function{"square", square, -2, 2}, Function{"reciprocal", reciprocal, 0.5, 2},
                    Function{"sqrt", sqrt, 0.5, 2}, Function{"rsqrt", rsqrt, 0.5, 2},
                    Function{"exp", exp, -1, 1}, Function{"exp2", exp2, -1, 1},
                    Function{"expm1", expm1, -1, 1}, Function{"log", log, 0.5, 2},
                    Function{"log2", log2, 0.5, 2}, Function{"log10", log10, 0.5, 2},
                    Function{"log1p", log1p, -0.5, 2}, Function{"sin", sin, -2, 2},
                    Function{"cos", cos, -2, 2}, Function{"tan", tan, -1, 1},
                    Function{"asin", asin, -0.8, 0.8}, Function{"acos", acos, -0.8, 0.8},
                    Function{"atan", atan, -2, 2}, Function{"sinh", sinh, -1, 1},
                    Function{"cosh", cosh, -1, 1}, Function{"tanh", tanh, -1, 1},
                    Function{"asinh", asinh, -2, 2}, Function{"acosh", acosh, 1.5, 3},
                    Function{"atanh", atanh, -0.8, 0.8}, Function{"sigmoid", sigmoid, -2, 2},
                    Function{"relu", relu, 0.1, 2}, Function{"erf", erf, -1, 1},
                    Function{"erfc", erfc, -1, 1}, Function{"erfinv", erfinv, -0.8, 0.8},
                    Function{"floor", floor, 0.1, 0.9}, Function{"ceil", ceil, 0.1, 0.9},
                    Function{"round", round, 0.1, 0.4}, Function{"trunc", trunc, 0.1, 0.9},
                    Function{"frac", frac, 0.1, 0.9}, Function{"sign", sign, 0.1, 0.9},
                    Function{"sgn", sgn, 0.1, 0.9}, Function{"angle", angle, 0.1, 0.9}),
    [](const auto& one) { return one.param.name; });

TEST(UnaryGradient, OfLgammaIsThere) {
  expect_gradient([](const std::vector<Tensor>& x) { return lgamma(x[0]); },
                  {between(0.5, 3, {4})});
}

TEST(UnaryGradient, OfDigammaIsThere) {
  expect_gradients([](const std::vector<Tensor>& x) { return digamma(x[0]); },
                   {between(0.5, 3, {4})});
}

TEST(UnaryGradient, OfReluIsZeroWhereItIsFlat) {
  const Tensor x = tensor({-1.0, 0.0, 2.0}).requires_grad_();
  relu(x).sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({0.0, 0.0, 1.0})));
}

TEST(UnaryGradient, InPlaceIsTheSame) {
  for (const auto& f : std::vector<std::function<void(const Tensor&)>>{
           [](const Tensor& x) { x.sin_(); }, [](const Tensor& x) { x.exp_(); },
           [](const Tensor& x) { x.square_(); }, [](const Tensor& x) { x.tanh_(); },
           [](const Tensor& x) { x.neg_(); }, [](const Tensor& x) { x.log_().sqrt_(); }}) {
    expect_gradients(
        [&](const std::vector<Tensor>& x) {
          const Tensor y = x[0] * 1;
          f(y);
          return y;
        },
        {between(1.5, 2, {2, 2})});
  }
}

struct Function2 {
  const char* name;
  Tensor (*f)(const Tensor&, const Tensor&);
  double from, to;
};

class BinaryGradients : public testing::TestWithParam<Function2> {};

TEST_P(BinaryGradients, AreWhatDifferencesSayWhateverIsBroadcast) {
  const auto& [name, f, from, to] = GetParam();
  const auto call = [f](const std::vector<Tensor>& x) { return f(x[0], x[1]); };
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}},
                                            {{}, {2, 2}},     {{3}, {1}},    {{}, {}}};
  for (const auto& [one, other] : shapes) {
    expect_gradients(call, {between(from, to, one, 3), between(from, to, other, 4)});
    // One of the two alone.
    expect_gradients(call, {between(from, to, one, 5), between(from, to, other, 6).detach()});
    expect_gradients(call, {between(from, to, one, 7).detach(), between(from, to, other, 8)});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, BinaryGradients,
    testing::Values(Function2{"add", add, -2, 2}, Function2{"sub", sub, -2, 2},
                    Function2{"mul", mul, -2, 2}, Function2{"div", div, 0.5, 2},
                    Function2{"remainder", remainder, 2.1, 2.9}, Function2{"fmod", fmod, 2.1, 2.9},
                    Function2{"pow", pow, 0.5, 2}, Function2{"maximum", maximum, -2, 2},
                    Function2{"minimum", minimum, -2, 2}, Function2{"fmax", fmax, -2, 2},
                    Function2{"fmin", fmin, -2, 2}, Function2{"atan2", atan2, 0.5, 2},
                    Function2{"hypot", hypot, 0.5, 2}, Function2{"copysign", copysign, 0.5, 2},
                    Function2{"logaddexp", logaddexp, -1, 1},
                    Function2{"logaddexp2", logaddexp2, -1, 1}, Function2{"xlogy", xlogy, 0.5, 2}),
    [](const auto& one) { return one.param.name; });

TEST(BinaryGradient, OfOneTensorWithItselfIsBothParts) {
  expect_gradients([](const std::vector<Tensor>& x) { return x[0] * x[0] / (x[0] + 2); },
                   {between(0.5, 2, {3})});
}

TEST(BinaryGradient, WithNumbers) {
  expect_gradients(
      [](const std::vector<Tensor>& x) { return (x[0] * 3 - 1) / 2 + x[0].pow(3) + x[0].pow(0); },
      {between(0.5, 2, {3})});
}

TEST(BinaryGradient, InPlaceIsTheSame) {
  const Tensor one = between(0.5, 2, {2, 3}, 1), other = between(0.5, 2, {3}, 2);
  expect_gradients(
      [](const std::vector<Tensor>& x) {
        const Tensor y = x[0] * 1;
        y.mul_(x[1]).add_(x[1]).div_(x[1] + 1).sub_(x[0]).pow_(2);
        return y;
      },
      {one, other});
}

TEST(BinaryGradient, OfComparisonsInPlaceIsZero) {
  const Tensor x = between(0.5, 2, {3});
  const Tensor y = x * 1;
  y.gt_(1);
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), zeros({3}, {.dtype = float64})));
}

TEST(BinaryGradient, OfMixedDtypesHasTheArguments) {
  const Tensor half = ones({2}, {.dtype = float16}).requires_grad_();
  const Tensor wide = full({2}, 3.0, {.dtype = float64}).requires_grad_();
  (half * wide).sum().backward();
  EXPECT_EQ(half.grad().dtype(), float16);
  EXPECT_EQ(wide.grad().dtype(), float64);
  EXPECT_TRUE(equal(half.grad(), full({2}, 3, {.dtype = float16})));
}

TEST(BinaryGradient, OfComplexNumbersIsPyTorchs) {
  using C = std::complex<double>;
  const Tensor z = tensor({C(1, 2), C(-0.5, 1)}).requires_grad_();
  (z * z.conj()).real().sum().backward();
  // PyTorch gives 2 z: the conjugate of the derivative by z's conjugate.
  EXPECT_TRUE(allclose(z.grad(), z.detach() * 2));
  z.set_grad({});
  z.abs().sum().backward();
  EXPECT_TRUE(allclose(z.grad(), z.detach() / z.detach().abs()));
}

}  // namespace
}  // namespace tenon
