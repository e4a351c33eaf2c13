// What is copied of a state dict's names, and where it ends.
#include "optim/copied_names.h"

#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"

namespace tenon::optim {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

Value named(const Value& name) { return Value::dict({{name, 1}}); }

// How many of them are added before there are too many; `most` if there never are.
template <class F>
int taken(int most, F&& add) {
  for (int i = 0; i < most; ++i) {
    try {
      add();
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("again and again"));
      return i;
    }
  }
  return most;
}

TEST(CopiedNames, AreNotCountedTheFirstTime) {
  CopiedNames copied;
  std::vector<Value> held;  // so that each has an identity of its own
  for (int i = 0; i < 100; ++i) {
    const Value name(std::string(kMega, 'a'));
    held.push_back(named(name));
    copied.begin(held.back());
    copied.add(name, kMega);
  }
}

TEST(CopiedNames, OfOneDictAreLimited) {
  CopiedNames copied;
  const Value name(std::string(kMega, 'a')), dict = named(name);
  EXPECT_EQ(taken(100,
                  [&] {
                    copied.begin(dict);
                    copied.add(name, kMega);
                  }),
            17);
  // From there on nothing is taken.
  const Value other = named("b");
  EXPECT_THROW(copied.begin(other), ValueError);
}

TEST(CopiedNames, ThatAreOneTextInManyDictsAreLimited) {
  CopiedNames copied;
  const Value name(std::string(kMega, 'a'));
  std::vector<Value> held;
  EXPECT_EQ(taken(100,
                  [&] {
                    held.push_back(named(name));
                    copied.begin(held.back());
                    copied.add(name, kMega);
                  }),
            17);
}

// Short ones of which there are very many.
TEST(CopiedNames, OfALargeDictAreLimited) {
  CopiedNames copied;
  std::vector<Value::Entry> entries;
  for (int i = 0; i < 10'000; ++i) entries.emplace_back("n" + std::to_string(i), i);
  const Value dict = Value::dict(std::move(entries));
  EXPECT_LT(taken(1000,
                  [&] {
                    copied.begin(dict);
                    for (const auto& [name, value] : dict.entries())
                      copied.add(name, name.as_string().size());
                  }),
            40);
}

// Their text is longer than what the file has of them.
TEST(CopiedNames, ThatAreTuplesAreLimited) {
  CopiedNames copied;
  std::vector<Value> held;
  EXPECT_EQ(taken(100,
                  [&] {
                    const Value name = Value::tuple({1});
                    held.push_back(named(name));
                    copied.begin(held.back());
                    copied.add(name, kMega);
                  }),
            16);
}

TEST(CopiedNames, OfUsualOptimizersAreFarBelowTheLimit) {
  CopiedNames copied;
  // A pickle has each short text once.
  const Value names[] = {"step", "exp_avg", "exp_avg_sq", std::string(100, 'n')};
  const Value state = Value::dict({{names[0], 1}, {names[1], 1}, {names[2], 1}, {names[3], 1}});
  const Value options =
      Adam({ones({1}).requires_grad_()}).state_dict().find("param_groups")->items()[0];
  std::vector<Value> held;
  for (int i = 0; i < 100'000; ++i) {
    copied.begin(options);  // one dict for all
    for (const auto& [name, value] : options.entries()) copied.add(name, name.as_string().size());
    held.push_back(Value::dict({{names[0], i}}));
    copied.begin(i % 2 == 0 ? state : held.back());
    for (const Value& name : names) copied.add(name, name.as_string().size());
  }
}

TEST(OptimizerStateDict, OfAHundredThousandParametersIsLoaded) {
  constexpr int kCount = 100'000;
  std::vector<std::pair<std::string, Tensor>> parameters;
  const Tensor flat = zeros({kCount});
  std::vector<Value::Entry> state;
  std::vector<Value> params, param_names;
  const Value name("momentum_buffer"),
      other("what somebody's training noted for the parameter, at length");
  for (int i = 0; i < kCount; ++i) {
    parameters.emplace_back("layers." + std::to_string(i) + ".weight",
                            flat.narrow(0, i, 1).detach().requires_grad_());
    state.emplace_back(i, Value::dict({{name, flat.narrow(0, i, 1)}, {other, i}}));
    params.emplace_back(i);
    param_names.emplace_back(parameters.back().first);
  }
  SGD sgd(parameters, {.momentum = 0.5});
  sgd.load_state_dict(
      Value::dict({{"state", Value::dict(std::move(state))},
                   {"param_groups",
                    Value::list({Value::dict({{"lr", 0.5},
                                              {"momentum", 0.5},
                                              {"dampening", 0},
                                              {"weight_decay", 0},
                                              {"param_names", Value::list(std::move(param_names))},
                                              {"params", Value::list(std::move(params))}})})}}));
  EXPECT_EQ(sgd.param_groups()[0].lr(), 0.5);
  EXPECT_EQ(sgd.state(parameters[kCount - 1].second).at(other.as_string()).as_int(), kCount - 1);
}

Value options_with(const Value& long_name) {
  return Value::dict({{"lr", 0.5},
                      {"momentum", 0},
                      {"dampening", 0},
                      {"weight_decay", 0},
                      {long_name, 1},
                      {"params", Value::list({0})}});
}

TEST(OptimizerStateDict, ThatUsesALongNameForAllGroupsIsRefused) {
  std::vector<SGDGroup> groups;
  for (int i = 0; i < 40; ++i) groups.push_back({.params = {nn::make_parameter(ones({1}))}});
  const Value long_name(std::string(kMega, 'a')), one = options_with(long_name);
  for (const bool same_dict : {true, false}) {
    SGD sgd(groups, {.lr = 0.25});
    std::vector<Value> saved;
    for (std::size_t i = 0; i < groups.size(); ++i)
      saved.push_back(same_dict ? one : options_with(long_name));
    expect_error<LoadError>(
        [&] {
          sgd.load_state_dict(Value::dict(
              {{"state", Value::dict({})}, {"param_groups", Value::list(std::move(saved))}}));
        },
        "parameter group 17", "again and again", "16777216 bytes");
    EXPECT_EQ(sgd.param_groups()[0].lr(), 0.25);
  }
}

TEST(OptimizerStateDict, ThatUsesOneDictOfOptionsForAllGroupsIsLoaded) {
  std::vector<SGDGroup> groups;
  for (int i = 0; i < 500; ++i) groups.push_back({.params = {nn::make_parameter(ones({1}))}});
  SGD sgd(groups, {.lr = 0.25});
  const std::vector<Value> saved(groups.size(), options_with("noted by somebody"));
  sgd.load_state_dict(
      Value::dict({{"state", Value::dict({})}, {"param_groups", Value::list(saved)}}));
  EXPECT_EQ(sgd.param_groups()[499].lr(), 0.5);
}

TEST(OptimizerStateDict, ThatUsesALongNameForAllParametersIsRefused) {
  std::vector<Tensor> parameters;
  std::vector<Value::Entry> state;
  std::vector<Value> params;
  const Value long_name(std::string(kMega, 'a'));
  for (int i = 0; i < 40; ++i) {
    parameters.push_back(nn::make_parameter(ones({1})));
    state.emplace_back(i, named(long_name));
    params.emplace_back(i);
  }
  SGD sgd(parameters, {.lr = 0.25});
  expect_error<LoadError>(
      [&] {
        sgd.load_state_dict(Value::dict(
            {{"state", Value::dict(std::move(state))},
             {"param_groups",
              Value::list({Value::dict({{"lr", 0.5},
                                        {"momentum", 0},
                                        {"dampening", 0},
                                        {"weight_decay", 0},
                                        {"params", Value::list(std::move(params))}})})}}));
      },
      "again and again");
  EXPECT_EQ(sgd.find_state(parameters[0]), nullptr);
}

}  // namespace
}  // namespace tenon::optim
