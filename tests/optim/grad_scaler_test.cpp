// GradScaler beside PyTorch's (cases/scaling.cases and cases/unscaling.cases), and its rules.
#include "tenon/optim/grad_scaler.h"

#include <cmath>
#include <limits>

#include "support/matchers.h"
#include "support/near.h"
#include "support/recorded.h"
#include "support/temp_dir.h"
#include "support/warnings.h"
#include "tenon/tenon.h"

namespace tenon::amp {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Net final : nn::Layer {
  nn::Child<nn::Linear> first{this, "0", 6, 16};
  nn::Child<nn::LayerNorm> norm{this, "1", Dims{16}};
  nn::Child<nn::Linear> last{this, "3", 16, 4};
  Tensor forward(const Tensor& x) override { return (*last)(relu((*norm)((*first)(x)))); }
};

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const nn::Module& net) {
  if (name == "SGD") {
    return std::make_unique<optim::SGD>(net.parameters(),
                                        optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
  }
  return std::make_unique<optim::Adam>(net.parameters(), optim::AdamOptions{.lr = 0.01});
}

std::vector<double> reals(const Value& list) {
  std::vector<double> all;
  for (const Value& item : list.items()) all.push_back(item.as_real());
  return all;
}

// Fourteen steps of a net with autocast, three with gradients that are not finite, every second
// with clipping.
TEST(GradScaler, TrainsAsPyTorchDoes) {
  const auto runs = recorded::values("optim/cases/scaling");
  ASSERT_EQ(runs.size(), 4U);
  for (const Value& run : runs) {
    const std::string name = run.find("optimizer")->as_string();
    const DType dtype = run.find("dtype")->as_string() == "torch.bfloat16" ? bfloat16 : float16;
    SCOPED_TRACE(name + " " + std::string(info(dtype).name));
    const auto net = nn::make<Net>();
    const auto parameters = net->parameters();
    {
      const NoGradScope no_grad;
      for (std::size_t i = 0; i < parameters.size(); ++i)
        parameters[i].copy_(run.find("before")->items()[i].as_tensor());
    }
    const auto optimizer = make_optimizer(name, *net);
    GradScaler scaler({.device = "cpu",
                       .init_scale = 1000,
                       .growth_factor = 1.7,
                       .backoff_factor = 0.3,
                       .growth_interval = 3});
    const std::vector<double> scales = reals(*run.find("scales")),
                              losses = reals(*run.find("losses"));
    for (std::size_t step = 0; step < scales.size(); ++step) {
      SCOPED_TRACE(step);
      optimizer->zero_grad();
      Tensor loss;
      {
        const AutocastScope autocast("cpu", {.dtype = dtype});
        const auto at = static_cast<std::int64_t>(step);
        const Tensor out = (*net)(run.find("inputs")->as_tensor()[at]);
        ASSERT_EQ(out.dtype(), dtype);
        loss = mse_loss(out, run.find("targets")->as_tensor()[at]);
      }
      ASSERT_EQ(loss.dtype(), float32);
      EXPECT_NEAR(loss.item<double>(), losses[step], 0.01 * losses[step]);
      scaler.scale(loss).backward();
      if (step == 4 || step == 5) parameters[0].grad()[2][3].fill_(kNan);
      if (step == 9) parameters[5].grad()[1].fill_(-kInfinity);
      if (step % 2 == 1) {
        scaler.unscale_(*optimizer);
        nn::utils::clip_grad_norm_(parameters, 1.0);
      }
      std::vector<Tensor> before;
      for (const Tensor& parameter : parameters) before.push_back(parameter.detach().clone());
      const bool taken = run.find("taken")->items()[step].as_bool();
      EXPECT_EQ(scaler.step(*optimizer), taken);
      for (std::size_t i = 0; i < parameters.size() && !taken; ++i)
        EXPECT_TRUE(equal(parameters[i], before[i]));
      scaler.update();
      EXPECT_EQ(scaler.get_scale(), scales[step]);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      expect_near(parameters[i], run.find("after")->items()[i].as_tensor(), "parameter", 0.02);
      expect_near(
          optimizer->state(parameters[i]).tensor(name == "SGD" ? "momentum_buffer" : "exp_avg"),
          run.find("kept")->items()[i].as_tensor(), "kept", 0.05);
    }
    EXPECT_EQ(scaler.state_dict().repr(), run.find("scaler")->repr());
  }
}

TEST(GradScaler, UnscalesToTheLastBit) {
  const auto rows = recorded::values("optim/cases/unscaling");
  ASSERT_EQ(rows.size(), 3U);
  for (const Value& row : rows) {
    const Tensor grad = row.find("grad")->as_tensor(), expected = row.find("unscaled")->as_tensor();
    const Tensor parameter = zeros(grad.shape(), {.dtype = grad.dtype()}).requires_grad_();
    parameter.set_grad(grad.clone());
    optim::SGD optimizer({parameter});
    GradScaler scaler({.device = "cpu", .init_scale = 3.3});
    scaler.scale(ones({}));
    scaler.unscale_(optimizer);
    EXPECT_TRUE(equal(parameter.grad(), expected)) << info(grad.dtype()).name;
  }
}

// A parameter with a gradient, an optimizer and a scaler that has scaled.
struct One {
  explicit One(float grad = 1, const GradScalerOptions& options = {.device = "cpu"})
      : parameter(ones({1}).requires_grad_()),
        optimizer({parameter}, {.lr = 0.5, .momentum = 0.9}),
        scaler(options) {
    scaler.scale(ones({}));
    give(grad);
  }
  void give(float grad) { parameter.set_grad(full({1}, static_cast<double>(grad))); }
  float value() const { return parameter.item<float>(); }

  Tensor parameter;
  optim::SGD optimizer;
  GradScaler scaler;
};

// PyTorch's numbers, to the last bit.
TEST(GradScaler, ScalesGrowAndShrinkAsPyTorchs) {
  One one(1, {.device = "cpu",
              .init_scale = 3.3,
              .growth_factor = 1.7,
              .backoff_factor = 0.3,
              .growth_interval = 1});
  const double expected[] = {0x1.670a3ep+2, 0x1.aed918p+0, 0x1.6e3888p+1,
                             0x1.3749a6p+2, 0x1.758b94p+0, 0x1.3d837p+1};
  for (int i = 0; i < 6; ++i) {
    one.give(i % 3 == 1 ? kNan : 1);
    EXPECT_EQ(one.scaler.step(one.optimizer), i % 3 != 1);
    one.scaler.update();
    EXPECT_EQ(one.scaler.get_scale(), expected[i]);
  }
}

TEST(GradScaler, StopsBeforeInfinityAndBeforeZero) {
  One one(1, {.device = "cpu", .init_scale = 0x1p127, .growth_interval = 1});
  one.scaler.step(one.optimizer);
  one.scaler.update();
  EXPECT_EQ(one.scaler.get_scale(), 0x1p127);
  for (int i = 0; i < 300; ++i) {
    one.give(kInfinity);
    EXPECT_FALSE(one.scaler.step(one.optimizer));
    one.scaler.update();
  }
  EXPECT_EQ(one.scaler.get_scale(), std::numeric_limits<float>::min());
  one.give(0);
  EXPECT_TRUE(one.scaler.step(one.optimizer));
  EXPECT_TRUE(std::isfinite(one.value()));
}

TEST(GradScaler, AGradientThatIsNotFiniteStopsTheStep) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    One one;
    one.scaler.step(one.optimizer);
    one.scaler.update();
    const float value = one.value();
    const Tensor kept = one.optimizer.state(one.parameter).tensor("momentum_buffer").clone();
    one.give(bad);
    EXPECT_FALSE(one.scaler.step(one.optimizer));
    EXPECT_EQ(one.value(), value);
    EXPECT_TRUE(equal(one.optimizer.state(one.parameter).tensor("momentum_buffer"), kept));
    one.scaler.update();
    EXPECT_EQ(one.scaler.get_scale(), 32768);
  }
}

// One among two million elements, at any place, in tensors of several kinds.
TEST(GradScaler, FindsItAnywhere) {
  for (const std::int64_t place : {0L, 17L, 999'999L, 1'999'999L}) {
    const Tensor small = zeros({3}).requires_grad_(), large = zeros({2'000'000}).requires_grad_(),
                 other = zeros({4, 5}, {.dtype = bfloat16}).requires_grad_();
    optim::SGD optimizer({small, large, other});
    small.set_grad(ones({3}));
    large.set_grad(ones({2'000'000}));
    other.set_grad(ones({5, 4}, {.dtype = bfloat16}).t());
    GradScaler scaler({.device = "cpu", .init_scale = 4});
    scaler.scale(ones({}));
    large.grad()[place].fill_(kNan);
    EXPECT_FALSE(scaler.step(optimizer));
    EXPECT_EQ(small.grad()[2].item<float>(), 0.25f);
    EXPECT_EQ(large.grad()[5].item<float>(), 0.25f);
    EXPECT_EQ(other.grad()[3][4].item<float>(), 0.25f);
    scaler.update();
    large.grad()[place].fill_(1);
    EXPECT_TRUE(scaler.step(optimizer));
  }
}

TEST(GradScaler, GradientsOfEveryLayoutAreUnscaledOnce) {
  const Tensor flat = ones({12}), p = zeros({3, 2}).requires_grad_(),
               q = zeros({6}).requires_grad_(), r = zeros({2}).requires_grad_();
  p.set_grad(flat.narrow(0, 0, 6).view({2, 3}).t());
  q.set_grad(flat.narrow(0, 6, 6));
  const Tensor wide = ones({4});
  r.set_grad(wide.slice(0, 0, 4, 2));  // not packed
  Warnings warnings;
  optim::SGD optimizer({p, q, r, p});
  GradScaler scaler({.device = "cpu", .init_scale = 4});
  scaler.scale(ones({}));
  const auto version = q.grad().version();
  scaler.unscale_(optimizer);
  EXPECT_TRUE(equal(flat, full({12}, 0.25)));
  EXPECT_TRUE(equal(wide, tensor({0.25, 1.0, 0.25, 1.0})));
  EXPECT_GT(q.grad().version(), version);
}

TEST(GradScaler, ScalesAsATensorDoes) {
  GradScaler scaler({.device = "cpu"});
  const Tensor loss = ones({}, {.dtype = bfloat16}).requires_grad_();
  const Tensor scaled = scaler.scale(loss);
  EXPECT_EQ(scaled.dtype(), float32);
  EXPECT_EQ(scaled.item<float>(), 65536);
  scaled.backward();
  EXPECT_EQ(loss.grad().item<float>(), 65536);
  const std::vector<Tensor> several =
      scaler.scale({ones({2}, {.dtype = bfloat16}), ones({2}, {.dtype = float64})});
  EXPECT_EQ(several[0].dtype(), bfloat16);
  EXPECT_EQ(several[1].dtype(), float64);
}

TEST(GradScaler, TwoOptimizersShareAScale) {
  One one;
  const Tensor other = ones({1}).requires_grad_();
  optim::SGD second({other}, {.lr = 0.5});
  other.set_grad(full({1}, static_cast<double>(kNan)));
  EXPECT_TRUE(one.scaler.step(one.optimizer));
  EXPECT_FALSE(one.scaler.step(second));
  one.scaler.update();
  EXPECT_EQ(one.scaler.get_scale(), 32768);
}

TEST(GradScaler, SaysWhatIsOutOfOrder) {
  GradScaler fresh({.device = "cpu"});
  One one;
  for (const auto& [name, call] : std::vector<std::pair<std::string, std::function<void()>>>{
           {"unscale_", [&] { fresh.unscale_(one.optimizer); }},
           {"step", [&] { fresh.step(one.optimizer); }},
           {"update", [&] { fresh.update(); }}}) {
    expect_error<Error>(call, "Attempted " + name +
                                  " but _scale is None.  This may indicate your script did not use "
                                  "scaler.scale(loss or outputs) earlier in the iteration.");
  }
  expect_error<Error>([&] { one.scaler.update(); }, "No inf checks were recorded prior to update.");
  one.scaler.unscale_(one.optimizer);
  expect_error<Error>(
      [&] { one.scaler.unscale_(one.optimizer); },
      "unscale_() has already been called on this optimizer since the last update().");
  one.scaler.step(one.optimizer);
  expect_error<Error>([&] { one.scaler.step(one.optimizer); },
                      "step() has already been called since the last update().");
  expect_error<Error>([&] { one.scaler.unscale_(one.optimizer); },
                      "unscale_() is being called after step().");
  one.scaler.update();
  one.parameter.set_grad({});
  expect_error<Error>([&] { one.scaler.step(one.optimizer); },
                      "No inf checks were recorded for this optimizer.");
  expect_error<Error>([&] { one.scaler.step(one.optimizer, [] { return ones({}); }); },
                      "Closure use is not currently supported if GradScaler is enabled.");
}

TEST(GradScaler, Float16GradientsAreRefusedAndLeftAlone) {
  const Tensor a = zeros({1}).requires_grad_(), b = zeros({1}, {.dtype = float16}).requires_grad_();
  a.set_grad(ones({1}));
  b.set_grad(ones({1}, {.dtype = float16}));
  optim::SGD optimizer({a, b});
  GradScaler scaler({.device = "cpu"});
  scaler.scale(ones({}));
  expect_error<ValueError>([&] { scaler.unscale_(optimizer); },
                           "Attempting to unscale FP16 gradients.");
  EXPECT_EQ(a.grad().item<float>(), 1);
}

TEST(GradScaler, AHookOfTheStepMayUpdateIt) {
  const Tensor p = zeros({2}).requires_grad_();
  optim::SGD optimizer({p}, {.lr = 1});
  GradScaler scaler({.device = "cpu", .init_scale = 4, .growth_interval = 1});
  optimizer.register_step_post_hook([&](optim::Optimizer&) { scaler.update(); });
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    scaler.scale(p.sum()).backward();
    EXPECT_TRUE(scaler.step(optimizer));
  }
  EXPECT_EQ(scaler.get_scale(), 32);
  EXPECT_TRUE(equal(p, full({2}, -3)));
}

TEST(GradScaler, AGradientThatCannotBeWrittenToLeavesTheOthersAlone) {
  const Tensor p = zeros({2}).requires_grad_(), q = zeros({2}).requires_grad_();
  optim::SGD optimizer({p, q}, {.lr = 1});
  GradScaler scaler({.device = "cpu", .init_scale = 4});
  scaler.scale(p.sum() + q.sum()).backward();
  q.set_grad(full({1}, 4.0).expand({2}));
  EXPECT_THROW(scaler.step(optimizer), Error);
  EXPECT_TRUE(equal(p.grad(), full({2}, 4.0)));
  q.set_grad(full({2}, 4.0));
  scaler.step(optimizer);
  EXPECT_TRUE(equal(p, full({2}, -1)));
}

TEST(GradScaler, RefusesFactorsAndScalesThatCannotBe) {
  expect_error<ValueError>([] { GradScaler({.device = "cpu", .growth_factor = 1.0}); },
                           "The growth factor must be > 1.0.");
  expect_error<ValueError>([] { GradScaler({.device = "cpu", .backoff_factor = 1.0}); },
                           "The backoff factor must be < 1.0.");
  expect_error<ValueError>([] { GradScaler({.device = "cpu", .backoff_factor = -1.0}); }, "> 0");
  for (const double scale : {0.0, -1.0, double{kNan}, double{kInfinity}, 1e40, 1e-40}) {
    expect_error<ValueError>([&] { GradScaler({.device = "cpu", .init_scale = scale}); },
                             "The scale must be a positive float");
    One one;
    expect_error<ValueError>([&] { one.scaler.update(scale); }, "positive float");
  }
  One one;
  expect_error<ValueError>([&] { one.scaler.set_growth_factor(0.5); }, "> 1.0");
  expect_error<ValueError>([&] { one.scaler.set_backoff_factor(2); }, "< 1.0");
  for (const Tensor& bad : {ones({2}), ones({1}).requires_grad_(), ones({1}).to(Device::meta())})
    expect_error<ValueError>([&] { one.scaler.update(bad); }, "new_scale should be a float");
}

TEST(GradScaler, TakesANewScale) {
  One one;
  one.scaler.step(one.optimizer);
  one.scaler.update(5.5);
  EXPECT_EQ(one.scaler.get_scale(), 5.5);
  one.scaler.update(full({1}, 7.0));
  EXPECT_EQ(one.scaler.get_scale(), 7.0);
  one.scaler.set_growth_factor(3);
  one.scaler.set_backoff_factor(0.25);
  one.scaler.set_growth_interval(1);
  EXPECT_EQ(one.scaler.get_growth_factor(), 3);
  EXPECT_EQ(one.scaler.get_backoff_factor(), 0.25);
  EXPECT_EQ(one.scaler.get_growth_interval(), 1);
  one.give(7);
  one.scaler.step(one.optimizer);
  one.scaler.update();
  EXPECT_EQ(one.scaler.get_scale(), 21);
}

TEST(GradScaler, DisabledItDoesNothing) {
  One one(kNan, {.device = "cpu", .growth_factor = 0.5, .enabled = false});
  EXPECT_FALSE(one.scaler.is_enabled());
  EXPECT_EQ(one.scaler.get_scale(), 1);
  const Tensor loss = ones({});
  EXPECT_TRUE(one.scaler.scale(loss).is(loss));
  one.scaler.unscale_(one.optimizer);
  EXPECT_TRUE(one.scaler.step(one.optimizer));
  EXPECT_TRUE(std::isnan(one.value()));
  EXPECT_EQ(one.scaler.step(one.optimizer, [] { return full({}, 4.0); }).item<float>(), 4);
  one.scaler.update();
  EXPECT_EQ(one.scaler.state_dict().repr(), "{}");
  one.scaler.load_state_dict(Value::dict({}));
}

TEST(GradScaler, WithoutCudaItIsDisabled) {
  Warnings warnings;
  EXPECT_FALSE(GradScaler().is_enabled());
  EXPECT_EQ(warnings.said,
            std::vector<std::string>{
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."});
}

TEST(GradScaler, StateDictsGoOnWhereTheyWere) {
  One one(1, {.device = "cpu", .init_scale = 8, .growth_interval = 2});
  one.scaler.step(one.optimizer);
  one.scaler.update();
  const Value state = one.scaler.state_dict();
  EXPECT_EQ(state.repr(),
            "{'scale': 8.0, 'growth_factor': 2.0, 'backoff_factor': 0.5, 'growth_interval': 2, "
            "'_growth_tracker': 1}");
  const TempDir dir;
  save(state, dir.file("scaler.pth"));
  One other;
  other.scaler.load_state_dict(load(dir.file("scaler.pth")));
  other.scaler.step(other.optimizer);
  other.scaler.update();
  EXPECT_EQ(other.scaler.get_scale(), 16);
}

TEST(GradScaler, AStateDictThatDoesNotFitChangesNothing) {
  One one;
  expect_error<LoadError>([&] { one.scaler.load_state_dict(Value::dict({})); },
                          "The source state dict is empty, possibly because it was saved from a "
                          "disabled instance of GradScaler.");
  expect_error<LoadError>(
      [&] {
        one.scaler.load_state_dict(Value::dict({{"scale", 2.0}, {"growth_interval", "many"}}));
      },
      "'growth_factor'", "'_growth_tracker'", "'growth_interval'");
  expect_error<TypeError>([&] { one.scaler.load_state_dict(3); }, "dict");
  EXPECT_EQ(one.scaler.get_scale(), 65536);
}

// A step that was not taken is none for a schedule either.
TEST(GradScaler, ASchedulerSeesStepsThatWereTaken) {
  One one(kNan);
  optim::lr_scheduler::StepLR scheduler(one.optimizer, 1);
  one.scaler.step(one.optimizer);
  Warnings warnings;
  scheduler.step();
  ASSERT_EQ(warnings.said.size(), 1U);
  EXPECT_THAT(warnings.said[0], testing::HasSubstr("before `optimizer.step()`"));
}

}  // namespace
}  // namespace tenon::amp
