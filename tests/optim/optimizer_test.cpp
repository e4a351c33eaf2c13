// What all optimizers have in common: groups, state dicts, hooks, and what they refuse.
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::optim {
namespace {

Tensor parameter(const Shape& shape, double value = 1) {
  return nn::make_parameter(full(shape, value));
}
void give_grads(const Optimizer& optimizer, double value = 1) {
  for (const ParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) p.set_grad(full_like(p, value).detach());
  }
}

TEST(Optimizer, TakesParametersInEveryWayPyTorchDoes) {
  nn::Linear layer(3, 2);
  const SGD plain(layer.parameters(), {.lr = 0.1});
  EXPECT_EQ(plain.param_groups().size(), 1);
  EXPECT_EQ(plain.param_groups()[0].params().size(), 2);
  const SGD braced({layer.weight, layer.bias});
  EXPECT_EQ(braced.param_groups()[0].params().size(), 2);
  EXPECT_EQ(braced.param_groups()[0].real("lr"), 1e-3);
  const SGD named(layer.named_parameters(), {.lr = 0.1});
  EXPECT_THAT(named.param_groups()[0].param_names(), testing::ElementsAre("weight", "bias"));
  const SGD grouped({{.params = {layer.weight}, .weight_decay = 0.1}, {.params = {layer.bias}}},
                    {.lr = 0.5, .momentum = 0.9});
  EXPECT_EQ(grouped.param_groups()[0].real("weight_decay"), 0.1);
  EXPECT_EQ(grouped.param_groups()[1].real("weight_decay"), 0);
  EXPECT_EQ(grouped.param_groups()[1].real("lr"), 0.5);
}

// Keys are in the order PyTorch has them: those that were given, names, defaults, parameters.
TEST(Optimizer, HasTheStateDictOfPyTorch) {
  const Tensor p = parameter({2}), q = parameter({1});
  SGD optimizer(std::vector<SGDGroup>{
      {.params = std::vector<std::pair<std::string, Tensor>>{{"a", p}}, .weight_decay = 1}});
  EXPECT_EQ(optimizer.state_dict().repr(),
            "{'state': {}, 'param_groups': [{'weight_decay': 1.0, 'param_names': ['a'], 'lr': "
            "0.001, 'momentum': 0, 'dampening': 0, 'nesterov': False, 'maximize': False, "
            "'foreach': None, 'differentiable': False, 'fused': None, 'params': [0]}]}");
  Adagrad begun(Params{p, q}, {});
  EXPECT_EQ(begun.state_dict().find("state")->repr(),
            "{0: {'step': tensor(0.), 'sum': tensor([0., 0.])}, 1: {'step': tensor(0.), 'sum': "
            "tensor([0.])}}");
}

TEST(Optimizer, UpdatesOnlyWhatHasAGradient) {
  const Tensor with = parameter({3}), without = parameter({3});
  const Tensor frozen = nn::make_parameter(ones({3}), false);
  Adam optimizer({with, without, frozen}, {.lr = 0.5});
  with.set_grad(ones({3}));
  optimizer.step();
  EXPECT_NEAR(with.select(0, 0).item<double>(), 0.5, 1e-6);
  EXPECT_TRUE(equal(without.detach(), ones({3})));
  EXPECT_EQ(optimizer.find_state(without), nullptr);
  EXPECT_EQ(optimizer.state_dict().find("state")->entries().size(), 1);
  // Nothing was recorded, and who saved the parameter finds out that it changed.
  EXPECT_TRUE(with.is_leaf());
  EXPECT_EQ(with.version(), 1);
}

TEST(Optimizer, CountsWritesSoThatBackwardNotices) {
  const Tensor p = parameter({3});
  SGD optimizer({p}, {.lr = 0.1});
  const Tensor y = (p * p).sum();
  p.set_grad(ones({3}));
  optimizer.step();
  expect_error<AutogradError>([&] { y.backward(); }, "modified by an inplace operation");
}

TEST(Optimizer, CallsAClosureWithRecordingOn) {
  const Tensor p = parameter({2}, 3);
  SGD optimizer({p}, {.lr = 0.1});
  const NoGradScope no_grad;
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor sum = (p * p).sum();
    sum.backward();
    return sum;
  });
  EXPECT_EQ(loss.item<double>(), 18);
  EXPECT_NEAR(p.select(0, 0).item<double>(), 3 - 0.6, 1e-6);
}

TEST(Optimizer, TakesGradientsAwayOrMakesThemZeros) {
  const Tensor p = parameter({2});
  SGD optimizer({p});
  give_grads(optimizer);
  optimizer.zero_grad({.set_to_none = false});
  EXPECT_TRUE(equal(p.grad(), zeros({2})));
  optimizer.zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

TEST(Optimizer, FollowsAParameterThatIsSwapped) {
  const Tensor p = parameter({2}), other = parameter({2}, 5);
  SGD optimizer({p}, {.lr = 1, .momentum = 0.5});
  give_grads(optimizer);
  optimizer.step();
  swap_tensors(p, other);
  p.set_grad(ones({2}));
  optimizer.step();
  EXPECT_TRUE(equal(p.detach(), full({2}, 5 - 1.5)));
}

TEST(Optimizer, SaysWhichParametersAnAssigningLoadReplaced) {
  nn::Sequential net{nn::make<nn::Linear>(2, 2), nn::make<nn::ReLU>(), nn::make<nn::Linear>(2, 1)};
  SGD optimizer(net.named_parameters());
  EXPECT_TRUE(optimizer.stale_parameters(net).empty());
  StateDict state;
  state.set("2.weight", ones({1, 2}));
  net.load_state_dict(state, {.strict = false, .assign = true});
  const auto stale = optimizer.stale_parameters(net);
  ASSERT_EQ(stale.size(), 1);
  EXPECT_EQ(stale[0].name, "2.weight");
  EXPECT_EQ(stale[0].group, 0);
  EXPECT_EQ(stale[0].index, 2);
  // Swapping keeps them.
  nn::Sequential kept{nn::make<nn::Linear>(2, 2)};
  const SGD fresh(kept.parameters());
  const nn::SwapOnConversionScope swap;
  StateDict ones_state;
  ones_state.set("0.weight", ones({2, 2}));
  kept.load_state_dict(ones_state, {.strict = false, .assign = true});
  EXPECT_TRUE(fresh.stale_parameters(kept).empty());
}

TEST(Optimizer, RefusesWhatItCannotOptimize) {
  expect_error<ValueError>([] { SGD(std::vector<Tensor>{}); },
                           "optimizer got an empty parameter list");
  const Tensor p = parameter({2});
  const Tensor made = p * 2;
  expect_error<ValueError>([&] { SGD({p, made}); }, "can't optimize a non-leaf Tensor",
                           "parameter 1", "MulBackward0");
  expect_error<TypeError>([&] { SGD({p, Tensor()}); }, "undefined");
  expect_error<ValueError>([&] { SGD(std::vector<SGDGroup>{{.params = {p}}, {.params = {p}}}); },
                           "some parameters appear in more than one parameter group");
  SGD optimizer({p});
  const Tensor q = parameter({1});
  expect_error<ValueError>(
      [&] {
        optimizer.add_param_group(
            SGDGroup{.params = std::vector<std::pair<std::string, Tensor>>{{"q", q}}});
      },
      "should be with/without names", "with names");
  EXPECT_EQ(optimizer.param_groups().size(), 1);
  optimizer.add_param_group(SGDGroup{.params = {q}, .lr = 0.3});
  EXPECT_EQ(optimizer.param_groups()[1].real("lr"), 0.3);
  // What retains its gradient may be optimized.
  made.retain_grad();
  optimizer.add_param_group(SGDGroup{.params = {made}});
}

TEST(Optimizer, WarnsOfAParameterThatIsThereTwice) {
  const Tensor p = parameter({4});
  std::string warned;
  const auto before = set_warning_handler([&](const std::string& text) { warned = text; });
  SGD optimizer({p, p}, {.lr = 1, .momentum = 0.5});
  set_warning_handler(before);
  EXPECT_THAT(warned, testing::HasSubstr("duplicate parameters"));
  p.set_grad(ones({4}));
  optimizer.step();
  // Once, and again with the momentum of the first time: 1 - 1 - 1.5.
  EXPECT_TRUE(equal(p.detach(), full({4}, -1.5)));
}

TEST(Optimizer, RefusesOptionsOutOfRange) {
  const Params p{parameter({2})};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double lr : {-0.1, inf, nan}) {
    expect_error<ValueError>([&] { SGD(p, {.lr = lr}); }, "Invalid learning rate");
    expect_error<ValueError>([&] { Adam(p, {.lr = lr}); }, "Invalid learning rate");
    expect_error<ValueError>([&] { AdamW(p, {.lr = lr}); }, "Invalid learning rate");
    expect_error<ValueError>([&] { Adagrad(p, {.lr = lr}); }, "Invalid learning rate");
    expect_error<ValueError>([&] { RMSprop(p, {.lr = lr}); }, "Invalid learning rate");
  }
  expect_error<ValueError>([&] { SGD(p, {.momentum = -1}); }, "Invalid momentum value: -1.0");
  expect_error<ValueError>([&] { SGD(p, {.weight_decay = -1}); }, "Invalid weight_decay value");
  expect_error<ValueError>([&] { SGD(p, {.nesterov = true}); },
                           "Nesterov momentum requires a momentum and zero dampening");
  expect_error<ValueError>([&] { Adam(p, {.betas = {1.0, 0.9}}); },
                           "Invalid beta parameter at index 0: 1.0");
  expect_error<ValueError>([&] { Adam(p, {.betas = {0.9, -0.1}}); },
                           "Invalid beta parameter at index 1: -0.1");
  expect_error<ValueError>([&] { Adam(p, {.eps = -1}); }, "Invalid epsilon value");
  expect_error<ValueError>([&] { Adagrad(p, {.lr_decay = -1}); }, "Invalid lr_decay value");
  expect_error<ValueError>([&] { RMSprop(p, {.alpha = -1}); }, "Invalid alpha value");
  // Also when somebody sets them later: nothing is updated then.
  const Tensor first = parameter({2}), second = parameter({2});
  SGD optimizer(std::vector<SGDGroup>{{.params = {first}}, {.params = {second}}}, {.lr = 1});
  give_grads(optimizer);
  optimizer.param_groups()[1]["lr"] = nan;
  expect_error<ValueError>([&] { optimizer.step(); }, "Invalid learning rate: nan");
  EXPECT_TRUE(equal(first.detach(), ones({2})));
  optimizer.param_groups()[1]["lr"] = "fast";
  expect_error<TypeError>([&] { optimizer.step(); }, "'lr' must be a number", "'fast'");
  EXPECT_TRUE(equal(first.detach(), ones({2})));
  optimizer.param_groups()[1]["lr"] = 0.5;
  optimizer.step();
  EXPECT_TRUE(equal(second.detach(), full({2}, 0.5)));
}

// Schedules may end a little below zero; what PyTorch lets through a step, goes through.
TEST(Optimizer, StepsWithALearningRateBelowZeroThatWasSetLater) {
  const Tensor p = parameter({2});
  SGD optimizer({p}, {.lr = 1});
  give_grads(optimizer);
  optimizer.param_groups()[0].set_lr(-0.5);
  optimizer.step();
  EXPECT_TRUE(equal(p.detach(), full({2}, 1.5)));
}

TEST(Optimizer, OptionsAreMultipliedInPlace) {
  SGD optimizer({parameter({2})}, {.lr = 0.5});
  for (ParamGroup& group : optimizer.param_groups()) group["lr"] *= 0.1;
  EXPECT_EQ(optimizer.param_groups()[0].lr(), 0.5 * 0.1);
  optimizer.param_groups()[0]["lr"] = 3;
  optimizer.param_groups()[0]["lr"] *= 0.5;
  EXPECT_EQ(optimizer.param_groups()[0].lr(), 1.5);
  optimizer.param_groups()[0]["lr"] = tensor(4.0);
  optimizer.param_groups()[0]["lr"] *= 0.5;
  EXPECT_EQ(optimizer.param_groups()[0].at("lr").repr(), "2.0");
  expect_error<TypeError>([&] { optimizer.param_groups()[0]["foreach"] *= 2; }, "None");
  expect_error<TypeError>([&] { optimizer.param_groups()[0]["nesterov"] *= 2; }, "False", "bool");
}

// Schedulers and hooks refer to them, so they stay where they are, and containers hold pointers.
TEST(Optimizer, AreHeldByPointers) {
  static_assert(!std::is_move_constructible_v<SGD> && !std::is_copy_constructible_v<SGD>);
  nn::Linear body(2, 2), head(2, 1);
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  optimizers.push_back(std::make_unique<SGD>(body.parameters(), SGDOptions{.lr = 0.1}));
  optimizers.push_back(std::make_unique<Adam>(head.parameters()));
  std::vector<std::unique_ptr<lr_scheduler::LRScheduler>> schedulers;
  for (const auto& optimizer : optimizers)
    schedulers.push_back(std::make_unique<lr_scheduler::ExponentialLR>(*optimizer, 0.5));
  head(body(ones({1, 2}))).sum().backward();
  for (const auto& optimizer : optimizers) optimizer->step();
  for (const auto& scheduler : schedulers) scheduler->step();
  EXPECT_EQ(optimizers[0]->param_groups()[0].lr(), 0.05);
  EXPECT_EQ(schedulers[1]->get_last_lr(), std::vector<double>{0.0005});
}

TEST(Optimizer, ChangesNothingIfSomethingIsWrongWithALaterParameter) {
  const Tensor p = parameter({2}), q = parameter({2});
  SGD sgd({p, q}, {.lr = 1, .momentum = 0.5});
  give_grads(sgd);
  sgd.state(q)["momentum_buffer"] = 3;
  expect_error<TypeError>([&] { sgd.step(); }, "'momentum_buffer' must be a tensor");
  EXPECT_TRUE(equal(p.detach(), ones({2})));
  EXPECT_EQ(sgd.find_state(p), nullptr);
  Adam adam({p, q}, {.lr = 1});
  adam.step();
  const Tensor before = p.detach().clone();
  adam.state(q).erase("exp_avg");
  expect_error<IndexError>([&] { adam.step(); }, "'exp_avg'", "exp_avg_sq");
  EXPECT_TRUE(equal(p.detach(), before));
  EXPECT_EQ(adam.state(p).tensor("step").item<double>(), 1);
  // Options of every kind are looked at first, in all groups.
  RMSprop grouped({{.params = {p}}, {.params = {q}}}, {.lr = 1});
  grouped.param_groups()[1]["maximize"] = "yes";
  expect_error<TypeError>([&] { grouped.step(); }, "'maximize' must be a bool");
  EXPECT_TRUE(equal(p.detach(), before));
}

// Gradients that are parameters, and buffers of two parameters: one after the other, as PyTorch.
TEST(Optimizer, UpdatesWhatSharesMemoryInOrder) {
  const int threads = get_num_threads();
  set_num_threads(4);
  for (int run = 0; run < 20; ++run) {
    const Tensor p = parameter({100'000}, 1), q = parameter({100'000}, 1);
    SGD optimizer({p, q}, {.lr = 1, .momentum = 0.5});
    p.set_grad(ones({100'000}));
    q.set_grad(p.detach());
    optimizer.step();
    // p is 0 when q is updated.
    ASSERT_TRUE(equal(q.detach(), ones({100'000})));
    const Tensor buffer = zeros({100'000});
    optimizer.state(p)["momentum_buffer"] = buffer;
    optimizer.state(q)["momentum_buffer"] = buffer;
    q.set_grad(ones({100'000}));
    optimizer.step();
    ASSERT_TRUE(equal(p.detach(), full({100'000}, -1.0)));
    ASSERT_TRUE(equal(q.detach(), full({100'000}, -0.5)));
  }
  set_num_threads(threads);
}

TEST(Optimizer, RefusesToWriteIntoInferenceTensors) {
  Tensor p;
  {
    const InferenceModeScope inference;
    p = ones({2});
  }
  SGD optimizer({p}, {.lr = 1});
  p.set_grad(ones({2}));
  expect_error<AutogradError>([&] { optimizer.step(); }, "nference");
}

TEST(Optimizer, ParametersAreNoOption) {
  const Tensor p = parameter({2});
  SGD optimizer({{.params = {p}}});
  expect_error<ValueError>([&] { optimizer.param_groups()[0]["params"] = Value::list({p}); },
                           "no option", "load the state dict");
  expect_error<ValueError>([&] { optimizer.state(Tensor()); }, "undefined");
  EXPECT_FALSE(optimizer.step(std::function<Tensor()>()).defined());
  // An empty group is one.
  EXPECT_EQ(SGD({{.params = std::vector<Tensor>{}}}).param_groups().size(), 1);
}

TEST(Optimizer, HooksRunInOrderAndMayReplaceStateDicts) {
  const Tensor p = parameter({2});
  SGD optimizer({p}, {.lr = 1});
  give_grads(optimizer);
  std::string order;
  auto handle = optimizer.register_step_pre_hook([&](Optimizer&) { order += "a"; });
  optimizer.register_step_post_hook([&](Optimizer& o) { order += o.type_name(); });
  optimizer.step();
  EXPECT_EQ(order, "aSGD");
  handle.remove();
  optimizer.step();
  EXPECT_EQ(order, "aSGDSGD");
  optimizer.register_state_dict_pre_hook([&](Optimizer&) { order = "pre"; });
  optimizer.register_state_dict_post_hook(
      [](Optimizer&, const Value& state) { return Value::dict({{"wrapped", state}}); });
  const Value wrapped = optimizer.state_dict();
  EXPECT_EQ(order, "pre");
  ASSERT_NE(wrapped.find("wrapped"), nullptr);
  expect_error<ValueError>([&] { optimizer.load_state_dict(wrapped); }, "no 'state'", "'wrapped'");
  optimizer.register_load_state_dict_pre_hook(
      [](Optimizer&, const Value& state) { return *state.find("wrapped"); });
  optimizer.register_load_state_dict_post_hook(
      [&](Optimizer& o) { order = o.param_groups()[0].at("lr").repr(); });
  optimizer.param_groups()[0]["lr"] = 3.0;
  optimizer.load_state_dict(wrapped);
  EXPECT_EQ(order, "1.0");
}

}  // namespace
}  // namespace tenon::optim
