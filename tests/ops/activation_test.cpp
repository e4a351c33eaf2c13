// Activations as functions: beside PyTorch's values, their gradients, dtypes, shapes and errors.
#include "tenon/ops/activation.h"

#include <cmath>
#include <limits>
#include <map>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

// By the names of tests/record/activations_and_losses.py.
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"relu6", [](const Tensor& x) { return relu6(x); }},
      {"threshold", [](const Tensor& x) { return threshold(x, 0.1, 20); }},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x, {.min_val = -0.5, .max_val = 3}); }},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"mish", [](const Tensor& x) { return mish(x); }},
      {"elu", [](const Tensor& x) { return elu(x, {.alpha = 1.5}); }},
      {"celu", [](const Tensor& x) { return celu(x, {.alpha = 0.7}); }},
      {"selu", [](const Tensor& x) { return selu(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.2); }},
      {"rrelu", [](const Tensor& x) { return rrelu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu_tanh", [](const Tensor& x) { return gelu(x, {.approximate = "tanh"}); }},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }},
      {"softshrink", [](const Tensor& x) { return softshrink(x, 0.3); }},
      {"tanhshrink", [](const Tensor& x) { return tanhshrink(x); }},
      {"softsign", [](const Tensor& x) { return softsign(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x, {.beta = 2, .threshold = 5}); }},
      {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"prelu",
       [](const Tensor& x) {
         return prelu(x, full({1}, 0.3, {.dtype = x.dtype(), .device = x.device()}));
       }},
  };
  return all;
}

StateDict recorded() { return recorded::value("ops/cases/activations_and_losses"); }

// Where it is not within the tolerance, or NaN where the other is not; empty if nowhere.
std::string differs(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  const Tensor a = actual.detach().to(float64).reshape({-1}),
               b = expected.detach().to(float64).reshape({-1});
  if (a.numel() != b.numel()) return "another size";
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double x = a[i].item<double>(), y = b[i].item<double>();
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    if (!(std::abs(x - y) <= atol + rtol * std::abs(y)))
      return "element " + std::to_string(i) + ": " + std::to_string(x) + " and not " +
             std::to_string(y);
  }
  return {};
}

TEST(Activations, AreThoseOfPyTorchAtCornersAndElsewhere) {
  const StateDict cases = recorded();
  const Tensor x = cases.at("x").as_tensor(), g = cases.at("g").as_tensor();
  for (const auto& [name, f] : functions()) {
    for (const auto& [dtype, text, rtol, atol] :
         {std::tuple{float64, "64", 1e-12, 1e-13}, std::tuple{float32, "32", 2e-6, 1e-6},
          std::tuple{bfloat16, "16", 1.6e-2, 1e-3}}) {
      const Tensor in = x.to(dtype).clone().requires_grad_(), out = f(in);
      EXPECT_EQ(out.dtype(), dtype) << name;
      out.backward({.gradient = g.to(dtype)});
      const Tensor expected = cases.at(name + "." + text).as_tensor().clone();
      // PyTorch's float32 kernel has NaN for infinity, where its float64 one is right.
      if (name == "gelu") expected[0].masked_fill_(isinf(x).logical_and(x > 0), INFINITY);
      EXPECT_EQ(differs(out, expected[0], rtol, atol), "") << name << text;
      // There 1 / 6 and 1 / alpha are floats.
      const double of_floats = name == "hardsigmoid" || name == "celu" ? 1e-6 : 0;
      // PyTorch's gradient of NaN depends on where in a tensor it stands.
      const Tensor number = logical_not(isnan(x));
      EXPECT_EQ(differs(masked_select(in.grad(), number), masked_select(expected[1], number),
                        rtol + of_floats, atol),
                "")
          << name << text << " gradient";
    }
  }
}

TEST(Activations, HaveTheGradientsOfNanThatPyTorchHasForOneElement) {
  for (const auto& [name, expected] : {std::pair{"relu", 1.},
                                       {"hardtanh", 1.},
                                       {"relu6", 1.},
                                       {"hardsigmoid", 0.},
                                       {"hardswish", 1.},
                                       {"elu", 1.},
                                       {"celu", 1.},
                                       {"hardshrink", 1.},
                                       {"leaky_relu", 0.2},
                                       {"softshrink", 1.},
                                       {"prelu", 0.3},
                                       {"threshold", 1.}}) {
    const Tensor x = tensor({std::nan("")}).to(float64).requires_grad_(),
                 y = functions().at(name)(x);
    EXPECT_TRUE(isnan(y).item<bool>()) << name;
    y.backward({.gradient = ones({1}, {.dtype = float64})});
    EXPECT_EQ(x.grad().item<double>(), expected) << name;
  }
}

TEST(Activations, OfFloatsAreThoseOfDoublesRounded) {
  const Tensor x = linspace(-30, 30, 100003), g = ones_like(x);
  for (const char* name :
       {"gelu", "gelu_tanh", "silu", "mish", "elu", "softplus", "logsigmoid", "sigmoid", "tanh"}) {
    const Function& f = functions().at(name);
    const Tensor narrow = x.clone().requires_grad_(), wide = x.to(float64).requires_grad_();
    const Tensor y = f(narrow), expected = f(wide);
    y.backward({.gradient = g});
    expected.backward({.gradient = g.to(float64)});
    // Relative to the result, so that its tail counts as well: what is small is exact, too.
    EXPECT_EQ(differs(y, expected, 8e-6, 1e-12), "") << name;
    EXPECT_EQ(differs(narrow.grad(), wide.grad(), 4e-6, 3e-7), "") << name;
  }
}

TEST(Activations, KeepTheSignOfZeroAsPyTorchDoes) {
  const Tensor zero = tensor({-0.0});
  for (const char* name : {"relu", "relu6", "leaky_relu", "silu", "gelu", "elu", "softshrink"})
    EXPECT_TRUE(signbit(functions().at(name)(zero)).item<bool>()) << name;
  EXPECT_FALSE(signbit(hardshrink(zero)).item<bool>());
}

TEST(Activations, HaveGradientsThatDifferencesAgreeWith) {
  manual_seed(2);
  for (const auto& [name, f] : functions()) {
    const auto of = [&function = f](const std::vector<Tensor>& at) { return function(at[0]); };
    // Away from corners, where there are no derivatives.
    const Tensor x = (randn({3, 4}, {.dtype = float64}) * 2 + 0.013).requires_grad_();
    SCOPED_TRACE(name);
    expect_gradients(of, {x}, {.atol = 1e-5});
    expect_gradient(of, {x.detach().clone().requires_grad_().t()}, {.atol = 1e-5});
  }
  expect_gradients([](const auto& at) { return prelu(at[0], at[1]); },
                   {randn({2, 3, 2}, {.dtype = float64}).requires_grad_(),
                    rand({3}, {.dtype = float64}).requires_grad_()});
}

TEST(Activations, WorkOnAnyStrides) {
  manual_seed(3);
  const Tensor base = randn({7, 33});
  for (const auto& [name, f] : functions()) {
    const Tensor packed = f(base);
    EXPECT_EQ(differs(f(base.t()), packed.t(), 1e-6, 1e-7), "") << name;
    EXPECT_TRUE(equal(f(base.slice(1, 1, 33, 3)), packed.slice(1, 1, 33, 3))) << name;
    EXPECT_TRUE(equal(f(base[0].expand({3, 33})), packed[0].expand({3, 33}))) << name;
    EXPECT_EQ(f(zeros({0, 3})).shape(), Shape({0, 3})) << name;
    EXPECT_EQ(f(base[0][0]).shape(), Shape()) << name;
    const Tensor meta = f(base.to(Device::meta()).t());
    EXPECT_TRUE(meta.is_meta()) << name;
    EXPECT_EQ(meta.shape(), Shape({33, 7})) << name;
  }
  EXPECT_EQ(silu(base.t()).layout().strides, base.t().layout().strides);
}

TEST(Activations, DoNotDependOnTheNumberOfThreads) {
  manual_seed(4);
  const Tensor x = randn({300, 1001});
  const auto before = get_num_threads();
  set_num_threads(1);
  const Tensor one = gelu(x), rows = softmax(x, 1), columns = softmax(x, 0);
  set_num_threads(3);
  EXPECT_TRUE(equal(gelu(x), one));
  EXPECT_TRUE(equal(softmax(x, 1), rows));
  EXPECT_TRUE(equal(softmax(x, 0), columns));
  set_num_threads(before);
}

struct InPlace {
  const char* name;
  std::function<Tensor(const Tensor&)> fresh, written;
};

TEST(Activations, InPlaceAreTheSameAndHaveTheSameGradients) {
  const InPlace all[] = {
      {"relu", [](const Tensor& x) { return relu(x); }, [](const Tensor& x) { return relu_(x); }},
      {"relu6", [](const Tensor& x) { return relu6(x); },
       [](const Tensor& x) { return relu6(x, {.inplace = true}); }},
      {"threshold", [](const Tensor& x) { return threshold(x, 0.1, 20); },
       [](const Tensor& x) { return threshold_(x, 0.1, 20); }},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); },
       [](const Tensor& x) { return hardtanh_(x); }},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); },
       [](const Tensor& x) { return hardsigmoid(x, {.inplace = true}); }},
      {"hardswish", [](const Tensor& x) { return hardswish(x); },
       [](const Tensor& x) { return hardswish(x, {.inplace = true}); }},
      {"silu", [](const Tensor& x) { return silu(x); },
       [](const Tensor& x) { return silu(x, {.inplace = true}); }},
      {"mish", [](const Tensor& x) { return mish(x); },
       [](const Tensor& x) { return mish(x, {.inplace = true}); }},
      {"elu", [](const Tensor& x) { return elu(x, {.alpha = 0.5}); },
       [](const Tensor& x) { return elu_(x, {.alpha = 0.5}); }},
      {"celu", [](const Tensor& x) { return celu(x, {.alpha = 0.5}); },
       [](const Tensor& x) { return celu_(x, {.alpha = 0.5}); }},
      {"selu", [](const Tensor& x) { return selu(x); }, [](const Tensor& x) { return selu_(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); },
       [](const Tensor& x) { return leaky_relu_(x); }},
      {"rrelu", [](const Tensor& x) { return rrelu(x); },
       [](const Tensor& x) { return rrelu_(x); }},
  };
  manual_seed(5);
  for (const InPlace& one : all) {
    const Tensor leaf = randn({2, 5}, {.dtype = float64}).requires_grad_();
    const Tensor work = leaf * 1, written = one.written(work);
    EXPECT_TRUE(written.is(work)) << one.name;
    written.backward({.gradient = ones_like(work) * 2});
    const Tensor again = leaf.detach().clone().requires_grad_(), fresh = one.fresh(again);
    fresh.backward({.gradient = ones_like(work) * 2});
    EXPECT_TRUE(equal(fresh, written)) << one.name;
    EXPECT_TRUE(allclose(leaf.grad(), again.grad(), {.rtol = 1e-12})) << one.name;
  }
  const Tensor steep = ones({2}).requires_grad_() * 1;
  expect_error<AutogradError>([&] { leaky_relu_(steep, -0.5).sum().backward(); }, "leaky_relu_",
                              "negative factor (-0.5)");
  expect_error<AutogradError>(
      [] {
        gelu(zeros({2}).requires_grad_()), silu(zeros({2}).requires_grad_(), {.inplace = true});
      },
      "leaf");
}

TEST(Activations, RecordNodesWithTheNamesOfPyTorch) {
  const Tensor x = ones({2, 4}).requires_grad_();
  const auto name = [](const Tensor& y) { return y.grad_fn()->name(); };
  EXPECT_EQ(name(threshold(x, 0, 0)), "ThresholdBackward0");
  EXPECT_EQ(name(relu6(x)), "HardtanhBackward0");
  EXPECT_EQ(name(selu(x)), "EluBackward0");
  EXPECT_EQ(name(celu(x)), "CeluBackward0");
  EXPECT_EQ(name(gelu(x)), "GeluBackward0");
  EXPECT_EQ(name(silu(x)), "SiluBackward0");
  EXPECT_EQ(name(glu(x)), "GluBackward0");
  EXPECT_EQ(name(prelu(x, ones({1}))), "PreluKernelBackward0");
  EXPECT_EQ(name(rrelu(x, {.training = true})), "RreluWithNoiseBackward0");
  EXPECT_EQ(name(softmax(x, 1)), "SoftmaxBackward0");
  EXPECT_EQ(name(log_softmax(x, 1)), "LogSoftmaxBackward0");
  EXPECT_EQ(name(leaky_relu_(x * 1)), "LeakyReluBackward1");
  EXPECT_EQ(name(logsigmoid(x)), "LogSigmoidBackward0");
}

TEST(Activations, OfWholeNumbersAreThoseThatCompare) {
  const Tensor x = tensor({-3, 0, 5, 9});
  EXPECT_TRUE(equal(relu6(x), tensor({0, 0, 5, 6})));
  EXPECT_TRUE(equal(threshold(x, 4, -1), tensor({-1, -1, 5, 9})));
  for (const auto& [name, f] : functions()) {
    if (name == "relu" || name == "relu6" || name == "threshold" || name == "hardtanh") continue;
    if (name == "sigmoid" || name == "tanh" || name == "softsign" || name == "tanhshrink") continue;
    if (name == "prelu") continue;
    expect_error<NotImplementedError>([&function = f, &x] { function(x); },
                                      "not implemented for 'Long'");
  }
  expect_error<NotImplementedError>([&] { softmax(x, 0); }, "softmax", "'Long'");
  expect_error<NotImplementedError>([] { relu6(tensor({true})); }, "'Bool'");
}

TEST(Activations, OfWholeNumbersHaveBoundsThatFit) {
  const Tensor bytes = tensor({1, 200}).to(uint8), small = tensor({1, 100}).to(int8);
  expect_error<ValueError>([&] { hardtanh(bytes); },
                           "cannot do hardtanh on an unsigned type with negative limits");
  expect_error<ValueError>([&] { hardtanh(bytes, {.min_val = 0, .max_val = 300}); }, "uint8");
  expect_error<ValueError>([&] { hardtanh(small, {.min_val = -300, .max_val = 1}); }, "int8");
  expect_error<ValueError>([&] { threshold(small, 3, 1000); }, "int8");
  expect_error<ValueError>([&] { threshold_(small, 300, 1); }, "int8");
  const Tensor x = tensor({-3, 0, 5});
  expect_error<ValueError>([&] { hardtanh(x, {.min_val = -1e30, .max_val = 1e30}); }, "int64");
  expect_error<ValueError>([&] { threshold(x, std::nan(""), 1); }, "int64");
  EXPECT_TRUE(equal(threshold(bytes, 3, -1), tensor({255, 200}).to(uint8)));
  EXPECT_TRUE(equal(hardtanh(x, {.min_val = -0.5, .max_val = 0.5}), tensor({0, 0, 0})));
}

TEST(Activations, OfTensorsOnTheCpuIgnoreTheDefaultDevice) {
  const Tensor x = tensor({-1.0f, 0.5f, 2.0f}), small = x.to(bfloat16);
  const Tensor expected = softmax(x, 0).to(bfloat16);
  const DeviceScope meta("meta");
  EXPECT_TRUE(equal(softmax(small, 0), expected));
  EXPECT_TRUE(rrelu(x, {.training = true}).is_cpu());
}

TEST(Activations, SayWhatIsWrong) {
  expect_error<ValueError>([] { hardtanh(zeros({2}), {.min_val = 1, .max_val = 0}); },
                           "min_val (1.0)", "max_val (0.0)");
  expect_error<ValueError>([] { celu(zeros({2}), {.alpha = 0}); }, "alpha cannot be 0");
  expect_error<ValueError>([] { softshrink(zeros({2}), -1.); }, "greater or equal to 0", "-1.0");
  expect_error<ValueError>([] { gelu(zeros({2}), {.approximate = "fast"}); }, "none or tanh",
                           "fast");
  expect_error<ValueError>([] { rrelu(zeros({2}), {.lower = 1, .upper = 0}); }, "1.0", "0.0");
  expect_error<ShapeError>([] { glu(zeros({2, 3})); }, "dimension 1 is size 3", "[2, 3]");
  expect_error<ShapeError>([] { glu(tensor(1.)); }, "0-dimensional");
  expect_error<ShapeError>([] { prelu(zeros({2, 3}), zeros({4})); }, "parameter numbers = 4",
                           "channel size = 3", "[2, 3]");
  expect_error<ShapeError>([] { prelu(zeros({2, 3}), zeros({3, 1})); }, "ndim = 2");
  expect_error<DTypeError>([] { prelu(zeros({2}), zeros({1}, {.dtype = float64})); },
                           "torch.float32", "torch.float64");
  expect_error<DeviceError>([] { prelu(zeros({2}), zeros({1}, {.device = Device::meta()})); },
                            "meta", "cpu");
  expect_error<IndexError>([] { softmax(zeros({2, 3}), 2); }, "out of range", "2");
}

TEST(Softmax, IsThatOfPyTorchAlongEveryDimension) {
  const StateDict cases = recorded();
  const Tensor m = cases.at("m").as_tensor(), g = cases.at("mg").as_tensor();
  for (const std::int64_t dim : {-1, 0, 1}) {
    for (const char* name : {"softmax", "log_softmax", "softmin"}) {
      const Tensor x = m.clone().requires_grad_();
      const std::string key = name + std::to_string(dim);
      const Tensor y = name == std::string("softmax")       ? softmax(x, dim)
                       : name == std::string("log_softmax") ? log_softmax(x, dim)
                                                            : softmin(x, dim);
      y.backward({.gradient = g});
      const Tensor expected = cases.at(key).as_tensor();
      EXPECT_EQ(differs(y, expected[0], 2e-6, 1e-7), "") << key;
      EXPECT_EQ(differs(x.grad(), expected[1], 1e-5, 1e-6), "") << key << " gradient";
    }
  }
}

TEST(Softmax, OfLongAndShortRowsAddsUpToOne) {
  manual_seed(6);
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 1000, 5003}) {
    const Tensor x = randn({3, n}) * 5, expected = x.to(float64).exp();
    const Tensor p = expected / sum(expected, {1}, {.keepdim = true});
    EXPECT_EQ(differs(softmax(x, 1), p, 3e-6, 1e-12), "") << n;
    EXPECT_EQ(differs(log_softmax(x, 1), p.log(), 1e-6, 2e-6), "") << n;
    EXPECT_EQ(differs(softmax(x.t(), 0), p.t(), 3e-6, 1e-12), "") << n;
    EXPECT_EQ(differs(softmax(x.t().contiguous(), 0), p.t(), 3e-6, 1e-12), "") << n;
    EXPECT_EQ(differs(softmax(x.to(float64), 1), p, 1e-6, 0), "") << n;
    EXPECT_EQ(differs(softmax(x.unsqueeze(2).expand({3, n, 70}), 1).select(2, 69), p, 3e-6, 1e-12),
              "")
        << n;
  }
}

TEST(Softmax, HasGradientsThatDifferencesAgreeWith) {
  manual_seed(7);
  for (const std::int64_t dim : {0, 1, 2}) {
    const Tensor x = randn({2, 3, 4}, {.dtype = float64}).requires_grad_();
    expect_gradients([&](const auto& at) { return softmax(at[0], dim); }, {x});
    expect_gradients([&](const auto& at) { return log_softmax(at[0], dim); }, {x});
  }
  expect_gradients([](const auto& at) { return glu(at[0], 1); },
                   {randn({2, 4, 3}, {.dtype = float64}).requires_grad_()});
  expect_gradients([](const auto& at) { return normalize(at[0], {.p = 3, .dim = {0, 1}}); },
                   {randn({2, 3}, {.dtype = float64}).requires_grad_()});
}

TEST(Softmax, TakesADTypeAndEdges) {
  const Tensor half = tensor({1.F, 2.F, 3.F}).to(bfloat16);
  EXPECT_EQ(softmax(half, 0).dtype(), bfloat16);
  EXPECT_EQ(softmax(half, 0, {.dtype = float64}).dtype(), float64);
  EXPECT_EQ(softmax(tensor({1, 2}), {.dim = 0, .dtype = float32}).dtype(), float32);
  EXPECT_EQ(half.softmax(-1).dtype(), bfloat16);
  EXPECT_TRUE(equal(half.log_softmax(0, {.dtype = float32}), log_softmax(half.to(float32), 0)));
  EXPECT_TRUE(equal(softmax(tensor(3.F), 0), tensor(1.F)));
  EXPECT_EQ(softmax(zeros({0, 3}), 0).shape(), Shape({0, 3}));
  EXPECT_EQ(softmax(zeros({2, 0}), 1).shape(), Shape({2, 0}));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(all(isnan(softmax(tensor({-inf, -inf}), 0))).item<bool>());
  EXPECT_TRUE(equal(softmax(tensor({-inf, 0.}), 0), tensor({0., 1.})));
}

TEST(Softmax, WithoutADimensionWarnsAndChoosesAsPyTorchDid) {
  std::vector<std::string> said;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { said.push_back(text); });
  const Tensor x = arange(24.).view({2, 3, 4});
  EXPECT_TRUE(equal(softmax(x), softmax(x, 0)));
  EXPECT_TRUE(equal(log_softmax(x[0]), log_softmax(x[0], 1)));
  set_warning_handler(before);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_THAT(said[0], testing::HasSubstr("Implicit dimension choice for softmax"));
}

TEST(RandomActivations, DrawWhatPyTorchDraws) {
  const StateDict cases = recorded();
  const Tensor m = cases.at("m").as_tensor(), x = cases.at("loss.x").as_tensor();
  manual_seed(5);
  EXPECT_EQ(
      differs(rrelu(m, {.training = true}), cases.at("drawn.rrelu_drawn").as_tensor(), 1e-6, 0),
      "");
  manual_seed(5);
  EXPECT_EQ(
      differs(gumbel_softmax(x, {.tau = 0.7}), cases.at("drawn.gumbel").as_tensor(), 1e-5, 1e-7),
      "");
  manual_seed(5);
  EXPECT_EQ(differs(gumbel_softmax(x, {.hard = true}), cases.at("drawn.gumbel_hard").as_tensor(),
                    1e-6, 1e-6),
            "");
  const Tensor ones_ = ones({6, 4, 2, 3});
  manual_seed(5);
  EXPECT_TRUE(equal(dropout1d(ones_[0]), cases.at("drawn.dropout1d").as_tensor()));
  manual_seed(5);
  EXPECT_TRUE(equal(dropout2d(ones_, {.p = 0.3}), cases.at("drawn.dropout2d").as_tensor()));
  manual_seed(5);
  EXPECT_TRUE(equal(dropout3d(ones_, {.p = 0.3}), cases.at("drawn.dropout3d").as_tensor()));
  manual_seed(5);
  EXPECT_TRUE(allclose(alpha_dropout(ones_, {.p = 0.3, .training = true}),
                       cases.at("drawn.alpha_dropout").as_tensor()));
  manual_seed(5);
  EXPECT_TRUE(allclose(feature_alpha_dropout(ones_, {.p = 0.3, .training = true}),
                       cases.at("drawn.feature_alpha_dropout").as_tensor()));
}

TEST(ChannelDropout, LeavesOutWholeChannelsAndWritesInPlace) {
  manual_seed(8);
  const Tensor x = ones({5, 7, 3}), y = dropout1d(x, {.p = 0.4});
  EXPECT_TRUE(equal(amax(y, {2}), amin(y, {2})));
  EXPECT_TRUE(dropout1d(x, {.training = false}).is(x));
  const Tensor one = ones({7, 3});
  EXPECT_TRUE(dropout1d(one, {.inplace = true}).is(one));
  EXPECT_TRUE(any(one == 0).item<bool>());
  EXPECT_TRUE(equal(dropout2d(ones({2, 3, 4, 4}), {.p = 1}), zeros({2, 3, 4, 4})));
  expect_error<ValueError>([&] { dropout2d(x, {.p = 1.5}); }, "between 0 and 1", "1.5");
  expect_error<ShapeError>([] { dropout1d(ones({3})); }, "2D or 3D", "1D input");
  expect_error<ShapeError>([] { feature_alpha_dropout(ones({3}), {.training = true}); },
                           "at least 2 dimensions", "[3]");
}

}  // namespace
}  // namespace tenon
