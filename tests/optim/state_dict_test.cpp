// State dicts of optimizers: PyTorch's files, and what does not fit.
#include <cmath>
#include <limits>
#include <memory>

#include "support/matchers.h"
#include "support/near.h"
#include "support/temp_dir.h"
#include "tenon/tenon.h"

namespace tenon::optim {
namespace {

const std::string kFixtures = TENON_SOURCE_DIR "/tests/io/fixtures/";

std::string file(const std::string& version, const std::string& name) {
  return kFixtures + "torch-" + version + "/" + name;
}
Tensor parameter(const Shape& shape) { return nn::make_parameter(ones(shape)); }

// As tensors that are equal are not the same, texts are compared.
void expect_round_trip(Optimizer& optimizer, const Value& state) {
  optimizer.load_state_dict(state);
  EXPECT_EQ(optimizer.state_dict().repr(), state.repr());
}

TEST(OptimizerStateDict, FilesOfPyTorchAreReadAndGivenBack) {
  const Tensor weight = parameter({2, 2}), bias = parameter({2});
  for (const std::string version : {"2.6.0", "2.14.1"}) {
    const auto opt = [&](const char* name) { return *load(file(version, name)).find("opt"); };
    SGD sgd({weight, bias}), plain({weight, bias}, {.momentum = 0.5});
    expect_round_trip(sgd, opt("opt_sgd.pt"));
    EXPECT_EQ(sgd.param_groups()[0].real("momentum"), 0.9);
    expect_round_trip(plain, opt("opt_sgd_plain.pt"));
    EXPECT_EQ(plain.param_groups()[0].real("momentum"), 0);
    Adam adam({weight, bias});
    AdamW adamw(std::vector<AdamWGroup>{{.params = {weight}}, {.params = {bias}}});
    if (version == "2.14.1") {
      expect_round_trip(adam, opt("opt_adam.pt"));
      expect_round_trip(adamw, opt("opt_adamw.pt"));
      continue;
    }
    // Older ones lack an option, which is the default's, and AdamW's own.
    adam.load_state_dict(opt("opt_adam.pt"));
    EXPECT_EQ(adam.param_groups()[0].at("decoupled_weight_decay").repr(), "False");
    adamw.load_state_dict(opt("opt_adamw.pt"));
    EXPECT_EQ(adamw.param_groups()[1].at("decoupled_weight_decay").repr(), "True");
    EXPECT_EQ(adamw.state_dict().find("state")->repr(), opt("opt_adamw.pt").find("state")->repr());
  }
}

// Five steps more, with gradients of 1 to 5, as PyTorch 2.14.1 takes them from the files of both.
TEST(OptimizerStateDict, FilesOfPyTorchAreGoneOnWith) {
  const auto go_on = [](const std::string& version, const char* name, auto make,
                        const std::vector<double>& expected) {
    const Value run = load(file(version, name));
    nn::Linear net(2, 2);
    net.load_state_dict(*run.find("model"));
    const auto optimizer = make(net);
    optimizer->load_state_dict(*run.find("opt"));
    for (int i = 1; i <= 5; ++i) {
      for (const Tensor& p : net.parameters()) p.set_grad(full_like(p, i).detach());
      optimizer->step();
    }
    const Tensor after = cat({net.weight->detach().flatten(), net.bias->detach()});
    expect_near(after, tensor(expected), version + " " + name);
  };
  const auto sgd = [](nn::Linear& net) { return std::make_unique<SGD>(net.parameters()); };
  for (const std::string version : {"2.6.0", "2.14.1"}) {
    go_on(version, "opt_sgd.pt", sgd,
          {-5.0657134, -5.723526, -5.5533266, -5.0972714, -6.067379, -5.0076408});
    go_on(version, "opt_sgd_plain.pt", sgd,
          {-1.3356539, -2.0121017, -1.8370808, -1.3681061, -2.3656964, -1.2759359});
    go_on(version, "opt_adam.pt",
          [](nn::Linear& net) { return std::make_unique<Adam>(net.parameters()); },
          {0.3575083, -0.3189393, -0.1439186, 0.3250562, -0.6725342, 0.4172264});
    go_on(version, "opt_adamw.pt",
          [](nn::Linear& net) {
            return std::make_unique<AdamW>(
                std::vector<AdamWGroup>{{.params = {net.weight}}, {.params = {net.bias}}});
          },
          {0.2957339, -0.3802403, -0.2053421, 0.2633045, -0.6724873, 0.4171969});
  }
}

TEST(OptimizerStateDict, TakesTensorsThatFitAndConvertsOthers) {
  const Tensor p = nn::make_parameter(ones({2}, {.dtype = float64}));
  Adam optimizer({p});
  const Tensor step = tensor(3.0), average = ones({2}, {.dtype = float64});
  const auto state = [&](const Value& steps) {
    return Value::dict(
        {{"state", Value::dict({{0, Value::dict({{"step", steps},
                                                 {"exp_avg", average},
                                                 {"exp_avg_sq", ones({2})},
                                                 {"noted", "by somebody"}})},
                                {7, "of no parameter"}})},
         {"param_groups", Value::list({Value::dict({{"lr", 0.5},
                                                    {"betas", Value::tuple({0.5, 0.5})},
                                                    {"eps", 0.1},
                                                    {"weight_decay", 0},
                                                    {"params", Value::list({0})}})})}});
  };
  optimizer.load_state_dict(state(step));
  const NamedValues& kept = optimizer.state(p);
  EXPECT_TRUE(kept.tensor("exp_avg").is(average));
  EXPECT_EQ(kept.tensor("exp_avg_sq").dtype(), float64);
  EXPECT_TRUE(kept.tensor("step").is(step));
  EXPECT_EQ(kept.tensor("step").dtype(), float32);
  EXPECT_EQ(kept.at("noted").as_string(), "by somebody");
  EXPECT_EQ(optimizer.param_groups()[0].real("lr"), 0.5);
  EXPECT_FALSE(optimizer.param_groups()[0].boolean("amsgrad"));
  EXPECT_EQ(optimizer.state_dict().find("state")->find(7)->as_string(), "of no parameter");
  // An old file's number of steps.
  optimizer.load_state_dict(state(4));
  EXPECT_EQ(optimizer.state(p).tensor("step").item<double>(), 4);
}

TEST(OptimizerStateDict, EverythingThatDoesNotFitIsSaidAndNothingIsLoaded) {
  const Tensor p = parameter({2}), q = parameter({3});
  const std::vector<std::pair<std::string, Tensor>> named{{"first", p}, {"second", q}};
  Adam optimizer(named, {.lr = 0.25});
  const auto group = [](Value params) {
    return Value::dict({{"lr", 0.5},
                        {"betas", Value::tuple({0.9, 0.99})},
                        {"eps", 1e-8},
                        {"weight_decay", 0},
                        {"params", std::move(params)}});
  };
  const auto dict = [](Value state, Value groups) {
    return Value::dict({{"state", std::move(state)}, {"param_groups", std::move(groups)}});
  };
  const auto unchanged = [&] {
    EXPECT_EQ(optimizer.param_groups()[0].real("lr"), 0.25);
    EXPECT_EQ(optimizer.find_state(p), nullptr);
  };
  expect_error<LoadError>(
      [&] {
        optimizer.load_state_dict(dict(
            Value::dict(
                {{0, Value::dict({{"step", 1}, {"exp_avg", ones({5})}})},
                 {1, Value::dict({{"step", "one"}, {"exp_avg", 3}, {"exp_avg_sq", ones({3})}})}}),
            Value::list({group(Value::list({0, 1}))})));
      },
      "Error(s) in loading state_dict for Adam", "size mismatch for 'exp_avg'", "[5]", "[2]",
      "parameter 0 ('first') has no 'exp_avg_sq'", "'step' of the state of parameter 1 ('second')",
      "must be a number", "'exp_avg' of the state of parameter 1 ('second') must be a tensor");
  unchanged();
  expect_error<LoadError>(
      [&] {
        optimizer.load_state_dict(dict(Value::dict({}), Value::list({group(Value::list({0}))})));
      },
      "doesn't match the size of optimizer's group", "group 0 has 1", "2 in the optimizer");
  expect_error<LoadError>(
      [&] { optimizer.load_state_dict(dict(Value::dict({}), Value::list({}))); },
      "a different number of parameter groups", "it has 0, the optimizer 1");
  // Options that no step could use.
  Value bad = Value::dict({{"lr", "fast"},
                           {"betas", Value::tuple({0.9, 0.99})},
                           {"eps", 1e-8},
                           {"weight_decay", 0},
                           {"params", Value::list({0, 1})}});
  expect_error<LoadError>(
      [&] { optimizer.load_state_dict(dict(Value::dict({}), Value::list({bad}))); },
      "parameter group 0", "'lr' must be a number");
  expect_error<LoadError>(
      [&] {
        const Tensor nowhere = ones({2}, {.device = Device::meta()});
        optimizer.load_state_dict(
            dict(Value::dict({{0, Value::dict({{"step", ones({}, {.device = Device::meta()})},
                                               {"exp_avg", nowhere},
                                               {"exp_avg_sq", nowhere}})}}),
                 Value::list({group(Value::list({0, 1}))})));
      },
      "'step' of the state of parameter 0", "must be a number", "'exp_avg'", "is on meta");
  expect_error<TypeError>([&] { optimizer.load_state_dict(Value(3)); }, "'param_groups'", "int");
  expect_error<ValueError>([&] { optimizer.load_state_dict(Value::dict({{"model", 1}})); },
                           "no 'state'", "'model'");
  expect_error<TypeError>([&] { optimizer.load_state_dict(dict(Value(1), Value::list({}))); },
                          "'state'", "int");
  expect_error<LoadError>(
      [&] { optimizer.load_state_dict(dict(Value::dict({}), Value::list({Value(2)}))); },
      "no dict with a list of 'params'");
  unchanged();
}

// PyTorch takes them, and every parameter is lost in the next step.
TEST(OptimizerStateDict, NumbersThatAreNotFiniteAreRefusedInAllGroups) {
  const Tensor p = parameter({2}), q = parameter({3});
  const std::vector<SGDGroup> groups{{.params = {p}}, {.params = {q}}};
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    SGD sender(groups, {.lr = 0.5}), optimizer(groups, {.lr = 0.25, .momentum = 0.5});
    sender.param_groups()[0]["lr"] = bad;
    sender.param_groups()[1]["weight_decay"] = bad;
    const Value state = sender.state_dict();
    expect_error<LoadError>([&] { optimizer.load_state_dict(state); }, "parameter group 0",
                            "Invalid learning rate", "parameter group 1", "Invalid weight_decay");
    for (const ParamGroup& group : optimizer.param_groups()) {
      EXPECT_EQ(group.lr(), 0.25);
      EXPECT_EQ(group.real("momentum"), 0.5);
    }
  }
}

// What a file lacks is what PyTorch takes for it, not what the optimizer was made with.
TEST(OptimizerStateDict, OptionsThatAFileLacksAreThoseOfTheClass) {
  const Tensor p = parameter({2});
  SGD optimizer({p}, {.momentum = 0.9, .nesterov = true, .maximize = true});
  const auto group = [](std::vector<Value::Entry> more) {
    std::vector<Value::Entry> entries{{"lr", 0.5},
                                      {"momentum", 0.9},
                                      {"dampening", 0},
                                      {"weight_decay", 0},
                                      {"params", Value::list({0})}};
    entries.insert(entries.end(), more.begin(), more.end());
    return Value::dict({{"state", Value::dict({})},
                        {"param_groups", Value::list({Value::dict(std::move(entries))})}});
  };
  optimizer.load_state_dict(group({}));
  EXPECT_FALSE(optimizer.param_groups()[0].boolean("maximize"));
  EXPECT_FALSE(optimizer.param_groups()[0].boolean("nesterov"));
  expect_error<LoadError>([&] { optimizer.load_state_dict(group({{"maximize", "yes"}})); },
                          "parameter group 0", "'maximize' must be a bool");
  // Names come from the file.
  optimizer.load_state_dict(group({{"param_names", Value::list({"w"})}}));
  EXPECT_THAT(optimizer.param_groups()[0].param_names(), testing::ElementsAre("w"));
  optimizer.add_param_group(
      SGDGroup{.params = std::vector<std::pair<std::string, Tensor>>{{"b", parameter({1})}}});
}

// Whatever a file calls its parameters, it is their order that counts.
TEST(OptimizerStateDict, ParametersMayHaveNamesForIndices) {
  const Tensor p = parameter({2});
  SGD optimizer({p}, {.momentum = 0.9});
  optimizer.load_state_dict(Value::dict(
      {{"state", Value::dict({{"w", Value::dict({{"momentum_buffer", full({2}, 3)}})}})},
       {"param_groups", Value::tuple({Value::dict({{"lr", 0.5},
                                                   {"momentum", 0.9},
                                                   {"dampening", 0},
                                                   {"weight_decay", 0},
                                                   {"params", Value::list({"w"})}})})}}));
  EXPECT_EQ(optimizer.state(p).tensor("momentum_buffer").select(0, 0).item<double>(), 3);
}

TEST(OptimizerStateDict, IsSavedAndReadBack) {
  const Tensor p = parameter({2}), q = parameter({3});
  RMSprop optimizer({p, q}, {.lr = 0.1, .momentum = 0.5});
  for (const Tensor& one : {p, q}) one.set_grad(ones_like(one).detach());
  optimizer.step();
  const TempDir folder;
  save(Value::dict({{"optimizer", optimizer.state_dict()}, {"epoch", 3}}), folder.file("run.pth"));
  const Value read = load(folder.file("run.pth"));
  RMSprop other({p, q});
  other.load_state_dict(*read.find("optimizer"));
  EXPECT_EQ(other.state_dict().repr(), optimizer.state_dict().repr());
}

}  // namespace
}  // namespace tenon::optim
