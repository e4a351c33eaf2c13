// What a state dict may call a parameter: what Python can hash.
#include "optim/parameter_name.h"

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"

namespace tenon::optim {
namespace {

TEST(ParameterName, IsWhatPythonCanHash) {
  for (const Value& name :
       {Value(), Value(true), Value(3), Value(0.5), Value(std::complex<double>(1, 2)), Value("w"),
        Value::bytes("w"), Value(float32), Value(Device::cpu()), Value(Shape({2, 3})),
        Value(ones({1})), Value::tuple({}), Value::tuple({1, "w", Value::tuple({2})})})
    EXPECT_TRUE(is_parameter_name(name)) << name.repr();
  for (const Value& name :
       {Value::list({}), Value::dict({}), Value::set({}),
        Value::object("a.B", Value::tuple({}), {}), Value::tuple({1, Value::list({})}),
        Value::tuple({Value::tuple({Value::dict({})})})})
    EXPECT_FALSE(is_parameter_name(name)) << name.repr();
}

TEST(ParameterName, IsAShortTuple) {
  EXPECT_TRUE(is_parameter_name(Value::tuple(std::vector<Value>(400, Value(1)))));
  EXPECT_FALSE(is_parameter_name(Value::tuple(std::vector<Value>(1000, Value(1)))));
  EXPECT_FALSE(is_parameter_name(Value::tuple({std::string(2000, 'a')})));
  EXPECT_TRUE(is_parameter_name(std::string(2000, 'a')));
  // Of parts that are used twice on every level.
  Value shared = 1;
  for (int i = 0; i < 100; ++i) shared = Value::tuple({shared, shared});
  EXPECT_FALSE(is_parameter_name(shared));
}

Value state_of(std::vector<Value::Entry> state, std::vector<Value> params) {
  return Value::dict(
      {{"state", Value::dict(std::move(state))},
       {"param_groups", Value::list({Value::dict({{"lr", 0.5},
                                                  {"momentum", 0.9},
                                                  {"dampening", 0},
                                                  {"weight_decay", 0},
                                                  {"params", Value::list(std::move(params))}})})}});
}
Value buffer(double value) { return Value::dict({{"momentum_buffer", full({2}, value)}}); }
double loaded(const SGD& sgd, const Tensor& parameter) {
  return sgd.find_state(parameter)->tensor("momentum_buffer")[0].item<double>();
}

TEST(OptimizerStateDict, ParametersHaveAnyNameThatPythonCanHash) {
  const Tensor p = nn::make_parameter(ones({2})), q = nn::make_parameter(ones({2}));
  Value shared = 1;
  for (int i = 0; i < 5; ++i) shared = Value::tuple({shared, shared});
  const std::vector<std::pair<Value, Value>> names{{0, 1},
                                                   {7, 3},
                                                   {"w", "b"},
                                                   {"0", 0},
                                                   {Value::tuple({"w", 0}), Value::tuple({"w", 1})},
                                                   {shared, Value::tuple({shared})}};
  for (const auto& [first, second] : names) {
    SGD sgd({p, q});
    sgd.load_state_dict(state_of({{second, buffer(2)}, {first, buffer(1)}}, {first, second}));
    EXPECT_EQ(loaded(sgd, p), 1) << first.repr();
    EXPECT_EQ(loaded(sgd, q), 2) << first.repr();
  }
}

// As keys of a dict are.
TEST(OptimizerStateDict, NamesThatPythonFindsEqualAreTheSame) {
  const Tensor p = nn::make_parameter(ones({2}));
  const std::vector<std::pair<Value, Value>> names{
      {1, true},
      {1, 1.0},
      {false, 0},
      {Shape({2, 3}), Value::tuple({2, 3})},
      {Value::tuple({0, "w"}), Value::tuple({0.0, "w"})}};
  for (const auto& [in_group, in_state] : names) {
    SGD sgd({p});
    sgd.load_state_dict(state_of({{in_state, buffer(3)}}, {in_group}));
    EXPECT_EQ(loaded(sgd, p), 3) << in_group.repr();
  }
  // Text is not a number, and a bool not its repr.
  SGD sgd({p});
  sgd.load_state_dict(state_of({{"1", buffer(3)}}, {1}));
  EXPECT_EQ(sgd.find_state(p), nullptr);
}

// As in PyTorch's dict of names.
TEST(OptimizerStateDict, OfTwoParametersOfOneNameTheLastOneHasTheState) {
  const Tensor p = nn::make_parameter(ones({2})), q = nn::make_parameter(ones({2}));
  const Value text("a");
  for (const auto& [first, second] :
       std::vector<std::pair<Value, Value>>{{0, 0}, {text, text}, {text, std::string("a")}}) {
    SGD sgd({p, q});
    sgd.load_state_dict(state_of({{first, buffer(3)}}, {first, second}));
    EXPECT_EQ(sgd.find_state(p), nullptr);
    EXPECT_EQ(loaded(sgd, q), 3);
  }
}

TEST(OptimizerStateDict, NamesThatPythonCannotHashAreRefused) {
  const Tensor p = nn::make_parameter(ones({2})), q = nn::make_parameter(ones({2}));
  const std::vector<std::pair<std::string, Tensor>> named{{"first", p}, {"second", q}};
  SGD sgd(named, {.lr = 0.25});
  expect_error<LoadError>(
      [&] { sgd.load_state_dict(state_of({}, {0, Value::list({1})})); },
      "the state dict's name of parameter 1 ('second') must be a number, a text or a short tuple",
      "of type list");
  Value shared = 1;
  for (int i = 0; i < 100; ++i) shared = Value::tuple({shared, shared});
  expect_error<LoadError>([&] { sgd.load_state_dict(state_of({}, {shared, Value::dict({})})); },
                          "parameter 0 ('first')", "of type tuple", "parameter 1 ('second')",
                          "of type dict");
  EXPECT_EQ(sgd.param_groups()[0].lr(), 0.25);
}

// Of no parameter here: kept, and given back.
TEST(OptimizerStateDict, StatesOfOtherNamesAreKeptAsTheyAre) {
  const Tensor p = nn::make_parameter(ones({2}));
  SGD sgd({p});
  const Value name = Value::tuple(std::vector<Value>(5000, Value(1)));
  sgd.load_state_dict(state_of({{name, "noted"}, {0, buffer(3)}}, {0}));
  EXPECT_EQ(sgd.state_dict().find("state")->find(name)->as_string(), "noted");
  EXPECT_EQ(loaded(sgd, p), 3);
}

}  // namespace
}  // namespace tenon::optim
