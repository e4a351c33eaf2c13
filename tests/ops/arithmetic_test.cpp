#include "tenon/ops/arithmetic.h"

#include <cmath>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

TEST(Arithmetic, OperatorsAreTheFunctions) {
  const Tensor x = tensor({1.0, 2.0, 4.0}), y = tensor({4.0, 2.0, 1.0});
  EXPECT_TRUE(equal(x + y, tensor({5.0, 4.0, 5.0})));
  EXPECT_TRUE(equal(x - y, tensor({-3.0, 0.0, 3.0})));
  EXPECT_TRUE(equal(x * y, tensor({4.0, 4.0, 4.0})));
  EXPECT_TRUE(equal(x / y, tensor({0.25, 1.0, 4.0})));
  EXPECT_TRUE(equal(-x, tensor({-1.0, -2.0, -4.0})));
  EXPECT_TRUE(equal(2 * x + 1, tensor({3.0, 5.0, 9.0})));
  EXPECT_TRUE(equal(1 / x, tensor({1.0, 0.5, 0.25})));
  EXPECT_TRUE(equal(x % 3, tensor({1.0, 2.0, 1.0})));
  EXPECT_TRUE(equal(x < y, tensor({true, false, false})));
  EXPECT_TRUE(equal(x >= 2, tensor({false, true, true})));
  EXPECT_TRUE(equal(x == y, tensor({false, true, false})));
  EXPECT_TRUE(equal((x != y) & ~(x > y), tensor({true, false, false})));
  EXPECT_TRUE(equal(tensor({1, 2}) << 3, tensor({8, 16})));
  EXPECT_TRUE(equal(tensor({-8, 9}) >> 1, tensor({-4, 4})));
  EXPECT_TRUE(equal(tensor({6, 5}) ^ tensor({3, 5}), tensor({5, 0})));
}

TEST(Arithmetic, InPlaceWritesIntoTheTensorAndCounts) {
  const Tensor x = tensor({1.0, 2.0}), view = x.slice(0, 1);
  x += 1;
  x *= tensor({2.0, 3.0});
  EXPECT_TRUE(equal(x, tensor({4.0, 9.0})));
  EXPECT_TRUE(equal(view, tensor({9.0})));
  EXPECT_EQ(x.version(), 2);
  EXPECT_TRUE(x.sqrt_().is(x));
  EXPECT_TRUE(equal(x, tensor({2.0, 3.0})));
}

TEST(Arithmetic, OutFormsWriteIntoMemoryThatIsThere) {
  const Tensor out = zeros({2}), before = out.detach();
  add_out(out, tensor({1.0, 2.0}), tensor({10.0, 20.0}));
  EXPECT_TRUE(equal(before, tensor({11.0, 22.0})));
  exp_out(out, zeros({2}));
  EXPECT_TRUE(equal(before, ones({2})));
  const Tensor fitted = empty({0});
  mul_out(fitted, ones({2, 3}), full({3}, 2.0));
  EXPECT_TRUE(equal(fitted, full({2, 3}, 2.0)));
  const Tensor wide = empty({2}, {.dtype = float64});
  add_out(wide, tensor({1.0, 2.0}), tensor({1.0, 2.0}));
  EXPECT_TRUE(equal(wide, tensor({2.0, 4.0}, {.dtype = float64})));
  expect_error<ShapeError>([&] { add_out(out, ones({3}), ones({3})); }, "[2]", "[3]");
  expect_error<DTypeError>([&] { add_out(zeros({2}, {.dtype = int32}), ones({2}), ones({2})); },
                           "Float", "Int");
  expect_error<AutogradError>([&] { exp_out(out, ones({2}).requires_grad_()); }, "out",
                              "NoGradScope");
}

TEST(Arithmetic, OutFormsRefuseBeforeAnythingChanges) {
  const Tensor on_meta = empty({4}, {.device = "meta"}), here = zeros({4});
  expect_error<DeviceError>([&] { add_out(here, on_meta, on_meta); }, "meta", "cpu");
  expect_error<DeviceError>([&] { neg_out(here, on_meta); }, "meta", "cpu");
  expect_error<DeviceError>([&] { neg_out(on_meta, here); }, "meta", "cpu");
  expect_error<DeviceError>([] { tensor(1.0).add_(empty({}, {.device = "meta"})); }, "meta");
  const Tensor empty_out = empty({0}, {.dtype = int32});
  expect_error<DTypeError>([&] { add_out(empty_out, ones({2}), ones({2})); }, "Float", "Int");
  EXPECT_EQ(empty_out.shape(), Shape({0}));
  const Tensor base = zeros({5}), view = base.slice(0, 2, 2);
  expect_error<ShapeError>([&] { add_out(view, ones({2}), ones({2})); }, "view");
}

TEST(Arithmetic, AnOutWithoutElementsTakesTheLayoutOfTheResult) {
  const Tensor out = empty({0}), x = ones({2, 3}).t();
  add_out(out, x, x);
  EXPECT_EQ(out.stride(), Dims({1, 3}));
  // Answers have no gradient, and may be written whatever their arguments are.
  const Tensor answer = empty({0}, {.dtype = bool_});
  eq_out(answer, ones({2}, {.requires_grad = true}), ones({2}));
  EXPECT_TRUE(equal(answer, tensor({true, true})));
}

TEST(Arithmetic, WholeNumbersByZeroAreRefusedBeforeAnythingIsWritten) {
  const Tensor x = tensor({4, 4, 4});
  expect_error<ValueError>([&] { x.floor_divide_(tensor({2, 0, 2})); }, "ZeroDivisionError");
  EXPECT_TRUE(equal(x, tensor({4, 4, 4})));
  EXPECT_EQ(x.version(), 0);
}

TEST(Arithmetic, TheInverseOfErfIsExactToTheEnd) {
  // Values of PyTorch 2.14.
  const std::pair<double, double> known[] = {{1e-9, 4.320005388105362},
                                             {1e-12, 5.042031898572696},
                                             {1e-14, 5.4725525174145355},
                                             {0x1p-53, 5.8635847487551676}};
  for (const auto& [rest, expected] : known) {
    const double ours = erfinv(tensor(1 - rest, {.dtype = float64})).item<double>();
    EXPECT_NEAR(ours, expected, 1e-13 * expected) << rest;
    EXPECT_EQ(erfinv(tensor(rest - 1, {.dtype = float64})).item<double>(), -ours);
  }
}

TEST(Arithmetic, TheLogarithmOfOneAndAComplexNumberIsExactNearTheOtherEnd) {
  const auto log1p_of = [](double re, double im) {
    return log1p(tensor(std::complex<double>(re, im), {.dtype = complex64}))
        .item<std::complex<double>>();
  };
  EXPECT_NEAR(log1p_of(-1, 0.001).real(), std::log(0.001), 1e-5);
  EXPECT_NEAR(log1p_of(1e20, 1).real(), std::log(1e20), 1e-4);
  EXPECT_NEAR(log1p_of(1e-8, 0).real(), 1e-8, 1e-15);
}

TEST(Arithmetic, PowersThatAreRootsAreTakenInTheDtypeOfTheResult) {
  using Complex = std::complex<double>;
  const Tensor root = pow(tensor({-4.0}), Complex(0.5, 0));
  EXPECT_NEAR(root[0].item<Complex>().imag(), 2, 1e-6);
  EXPECT_EQ(pow(tensor({Complex(0, 0)}), 0).item<Complex>(), Complex(1, 0));
  expect_error<ValueError>([] { pow(ones({1}, {.dtype = uint8}), 300); }, "300");
}

TEST(Arithmetic, TheNextOfA16BitFloatIsItsNeighbour) {
  const auto next = [](double from, double towards, DType dtype) {
    return nextafter(tensor({from}, {.dtype = dtype}), tensor({towards}, {.dtype = dtype}))
        .item<double>();
  };
  EXPECT_EQ(next(1, 2, bfloat16), 1.0078125);
  EXPECT_EQ(next(1, 2, float16), 1.0009765625);
  EXPECT_EQ(next(1, 0, float16), 0.99951171875);
  EXPECT_EQ(next(-1, 0, bfloat16), -0.99609375);
  EXPECT_EQ(next(0, -1, float16), -0x1p-24);
  EXPECT_EQ(next(65504, HUGE_VAL, float16), HUGE_VAL);
  EXPECT_TRUE(std::isnan(next(std::nan(""), 1, bfloat16)));
}

TEST(Arithmetic, RoundsToDecimals) {
  EXPECT_TRUE(allclose(round(tensor({1.2345, -2.675}), {.decimals = 2}), tensor({1.23, -2.68})));
  EXPECT_EQ(round(tensor({12345.0}), {.decimals = -2}).item<double>(), 12300);
  expect_error<NotImplementedError>([] { round(tensor({12}), {.decimals = 1}); }, "round", "Long");
}

TEST(Arithmetic, ShapesBroadcastOrAreBothNamed) {
  EXPECT_EQ((ones({3, 1}) + ones({4})).shape(), Shape({3, 4}));
  EXPECT_EQ((ones({0, 3}) * ones({1})).shape(), Shape({0, 3}));
  expect_error<ShapeError>([] { ones({2, 3}) + ones({4}); }, "3", "4");
  expect_error<ShapeError>([] { ones({3}).add_(ones({2, 3})); }, "[3]", "[2, 3]");
}

TEST(Arithmetic, NumbersGiveWayAndTensorsWithoutDimensionsToo) {
  EXPECT_EQ((ones({2}, {.dtype = bfloat16}) * 2.5).dtype(), bfloat16);
  EXPECT_EQ((ones({2}, {.dtype = int8}) + 1).dtype(), int8);
  EXPECT_EQ((ones({2}, {.dtype = int8}) + 1.5).dtype(), float32);
  EXPECT_EQ((ones({2}, {.dtype = float16}) * std::complex<double>(0, 1)).dtype(), complex32);
  EXPECT_EQ((ones({2}) + ones({}, {.dtype = float64})).dtype(), float32);
  EXPECT_EQ((ones({}) + ones({}, {.dtype = float64})).dtype(), float64);
  EXPECT_EQ((ones({2}, {.dtype = uint8}) + ones({}, {.dtype = int64})).dtype(), uint8);
  EXPECT_EQ((ones({2}, {.dtype = int32}) / 2).dtype(), float32);
  EXPECT_EQ(result_type(ones({2}, {.dtype = int32}), 1.0), float32);
  const DTypeScope wide(float64);
  EXPECT_EQ((ones({2}, {.dtype = int32}) + 1.0).dtype(), float64);
}

TEST(Arithmetic, DtypesThatDoNotPromoteAreNamed) {
  expect_error<DTypeError>(
      [] { zeros({2}, {.dtype = float8_e4m3fn}) + zeros({2}, {.dtype = float8_e5m2}); },
      "Float8_e4m3fn", "Float8_e5m2");
  expect_error<DTypeError>([] { zeros({2}, {.dtype = int64}).add_(1.5); }, "Float", "Long");
  expect_error<DTypeError>([] { ones({2}).mul_(std::complex<double>(0, 1)); }, "ComplexFloat");
  expect_error<NotImplementedError>([] { tensor({true}) - tensor({true}); }, "Subtraction", "~");
  expect_error<NotImplementedError>([] { -tensor({true}); }, "Negation");
  expect_error<NotImplementedError>([] { ones({2}) & ones({2}); }, "bitwise_and", "Float");
  expect_error<NotImplementedError>([] { erf(ones({2}, {.dtype = complex64})); }, "erf",
                                    "ComplexFloat");
}

TEST(Arithmetic, WholeNumbersWrapAndDivideAsInPython) {
  const auto bytes = [](std::initializer_list<NestedNumbers> v) {
    return tensor(v, {.dtype = int8});
  };
  EXPECT_TRUE(equal(bytes({127, -128}) + bytes({1, -1}), bytes({-128, 127})));
  EXPECT_TRUE(equal(-bytes({-128}), bytes({-128})));
  EXPECT_TRUE(equal(abs(bytes({-128, -3})), bytes({-128, 3})));
  EXPECT_TRUE(
      equal(floor_divide(tensor({7, -7, 7, -7}), tensor({2, 2, -2, -2})), tensor({3, -4, -4, 3})));
  EXPECT_TRUE(equal(div(tensor({7, -7}), 2, {.rounding_mode = "trunc"}), tensor({3, -3})));
  EXPECT_TRUE(equal(remainder(tensor({7, -7, 7}), tensor({3, 3, -3})), tensor({1, 2, -2})));
  EXPECT_TRUE(equal(fmod(tensor({7, -7, 7}), tensor({3, 3, -3})), tensor({1, -1, 1})));
  EXPECT_TRUE(equal(floor_divide(bytes({-128}), bytes({-1})), bytes({-128})));  // PyTorch dies here
  EXPECT_TRUE(equal(remainder(bytes({-128}), bytes({-1})), bytes({0})));
  EXPECT_TRUE(equal(bitwise_left_shift(tensor({1, 1, 1}), tensor({62, 64, -1})),
                    tensor({std::int64_t{1} << 62, 0, 0})));
  EXPECT_TRUE(equal(pow(tensor({2, -1, 3}), tensor({10, -3, -1})), tensor({1024, -1, 0})));
  expect_error<ValueError>([] { floor_divide(tensor({1}), tensor({0})); }, "ZeroDivisionError");
  expect_error<ValueError>([] { remainder(tensor({1}), 0); }, "ZeroDivisionError");
  expect_error<ValueError>([] { pow(tensor({2}), -1); }, "negative integer powers");
  expect_error<ValueError>([] { div(ones({1}), 2, {.rounding_mode = "up"}); }, "up");
}

TEST(Arithmetic, NanWinsInMaximumAndLosesInFmax) {
  const double nan = std::nan("");
  const Tensor x = tensor({nan, 1.0}), y = tensor({0.0, nan});
  EXPECT_TRUE(equal(isnan(maximum(x, y)), tensor({true, true})));
  EXPECT_TRUE(equal(fmax(x, y), tensor({0.0, 1.0})));
  EXPECT_TRUE(equal(isfinite(tensor({nan, 1.0, HUGE_VAL})), tensor({false, true, false})));
}

TEST(Arithmetic, TensorsThatOverlapAreReadBeforeTheyAreWritten) {
  const Tensor x = arange(6.0);
  x.narrow(0, 1, 5).add_(x.narrow(0, 0, 5));
  EXPECT_TRUE(equal(x, tensor({0.0, 1.0, 3.0, 5.0, 7.0, 9.0})));
  const Tensor square = arange(4.0).view({2, 2});
  square.add_(square.t());
  EXPECT_TRUE(equal(square, tensor({{0.0, 3.0}, {3.0, 6.0}})));
  expect_error<Error>([] { zeros({1}).expand({3}).add_(1); }, "single memory location");
}

TEST(Arithmetic, ConjugatesAndNegativesAreReadAsTheyAre) {
  const Tensor z = tensor({std::complex<double>(1, 2)}), w = z.conj();
  EXPECT_TRUE(equal(z * w, tensor({std::complex<double>(5, 0)})));
  w.mul_(std::complex<double>(0, 1));
  EXPECT_TRUE(equal(w.resolve_conj(), tensor({std::complex<double>(2, 1)})));
  EXPECT_TRUE(equal(w.imag() + 1, tensor({2.0})));
}

TEST(Arithmetic, OnMetaThereAreShapesOnly) {
  const DeviceScope meta("meta");
  const Tensor x = empty({1000000, 1, 1000000}), y = empty({3, 1});
  EXPECT_EQ((x * y + 1).shape(), Shape({1000000, 3, 1000000}));
  EXPECT_EQ((x > 0).dtype(), bool_);
  EXPECT_TRUE(exp(x).is_meta());
  EXPECT_TRUE(x.mul_(2).is_meta());
  EXPECT_THROW(x + empty({7}), ShapeError);
  EXPECT_THROW(x + ones({2}, {.device = "cpu"}), DeviceError);
}

TEST(Arithmetic, HistoryHasTheNamesOfPyTorch) {
  const Tensor x = ones({2}).requires_grad_();
  EXPECT_EQ((x + 1).grad_fn()->name(), "AddBackward0");
  EXPECT_EQ((x * x).grad_fn()->name(), "MulBackward0");
  EXPECT_EQ(exp(x).grad_fn()->name(), "ExpBackward0");
  EXPECT_FALSE((x > 0).requires_grad());
  EXPECT_THROW(x.add_(1), AutogradError);
  const Tensor y = x * 2;
  y.add_(1);
  EXPECT_EQ(y.grad_fn()->name(), "AddBackward0");
  y.eq_(2);  // an answer is no longer a function of x
  EXPECT_EQ(y.grad_fn()->name(), "EqBackward1");
  EXPECT_EQ(pow(x, 2).grad_fn()->name(), "PowBackward0");
  EXPECT_EQ(pow(2, x).grad_fn()->name(), "PowBackward2");
  EXPECT_EQ(pow(x, x).grad_fn()->name(), "PowBackward1");
}

TEST(Arithmetic, UserDefinedTensorsSeeTheFunctionWithItsNumbersAsTensors) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(tensor({1.0, 2.0}), log);
  const Tensor twice = 2 * t, y = twice + exp(t);
  EXPECT_THAT(log, testing::ElementsAre("mul", "exp", "add"));
  t.add_(1);
  EXPECT_EQ(log.back(), "add_");
  EXPECT_TRUE(equal(t.as<LoggingTensor>()->elem, tensor({2.0, 3.0})));
}

TEST(Arithmetic, ResultsDoNotDependOnTheNumberOfThreads) {
  const Tensor x = linspace(-20, 20, 300001), y = linspace(1, 2, 300001);
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor one = exp(x) * y + x;
  set_num_threads(7);
  const Tensor seven = exp(x) * y + x;
  set_num_threads(before);
  EXPECT_TRUE(equal(one, seven));
}

TEST(Arithmetic, TheExponentialIsWithinOneUnit) {
  const Tensor x =
      cat({linspace(-104, 89, 200001), tensor({0.0, -0.0, 88.72283, 88.72284, -103.97})});
  const Tensor y = exp(x);
  double worst = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double exact = std::exp(static_cast<double>(x.data<float>()[i]));
    const float ours = y.data<float>()[i];
    if (static_cast<float>(exact) == ours) continue;
    const double unit = std::nextafter(ours, INFINITY) - static_cast<double>(ours);
    worst = std::max(worst, std::fabs(exact - ours) / unit);
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(exp(tensor({HUGE_VAL}))[0].item<float>(), HUGE_VALF);
  EXPECT_EQ(exp(tensor({-HUGE_VAL}))[0].item<float>(), 0.0f);
  EXPECT_TRUE(std::isnan(exp(tensor({std::nan("")}))[0].item<float>()));
}

TEST(Arithmetic, ResultsLargerThanTheCachesAreTheSame) {
  constexpr std::int64_t kCount = (std::int64_t{33} << 20) / 4 + 5;
  const Tensor x = rand({kCount + 3}), y = rand({kCount + 3});
  for (const std::int64_t shift : {0, 1, 3}) {
    const Tensor a = x.narrow(0, shift, kCount), b = y.narrow(0, 3 - shift, kCount);
    const Tensor out = full({kCount + 3}, 7.0), inside = out.narrow(0, shift, kCount);
    add_out(inside, a, b);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kCount; ++i)
      wrong += inside.data<float>()[i] == a.data<float>()[i] + b.data<float>()[i] ? 0 : 1;
    EXPECT_EQ(wrong, 0) << shift;
    EXPECT_EQ(out[kCount + shift < kCount + 3 ? kCount + shift : 0].item<float>(), 7.0f);
    inside.mul_(b);
    EXPECT_EQ(inside[kCount - 1].item<float>(),
              (a[kCount - 1] + b[kCount - 1]).item<float>() * b[kCount - 1].item<float>());
  }
}

}  // namespace
}  // namespace tenon
