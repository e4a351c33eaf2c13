// What a file has for a parameter, as the parameter needs it: the same as each tensor by itself,
// and no more bytes than the file has.
#include "optim/state_conversion.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/uninitialized.h"
#include "support/matchers.h"
#include "support/talker.h"
#include "support/warnings.h"

namespace tenon::optim {
namespace {

using As = StateConversion::As;

Tensor parameter(DType dtype = float64, Shape shape = {2}) {
  return nn::make_parameter(zeros(shape, {.dtype = dtype}));
}
Tensor by_itself(const Tensor& tensor, const Tensor& parameter) {
  return is_floating_point(parameter.dtype())
             ? tensor.to({.dtype = parameter.dtype(), .device = parameter.device()})
             : tensor.to(parameter.device());
}
void expect_as_by_itself(const Tensor& made, const Tensor& given, const Tensor& parameter) {
  const Tensor expected = by_itself(given, parameter);
  EXPECT_EQ(made.dtype(), expected.dtype());
  EXPECT_EQ(made.device(), expected.device());
  EXPECT_EQ(made.requires_grad(), expected.requires_grad());
  EXPECT_FALSE(made.is_parameter());
  EXPECT_TRUE(equal(made.detach(), expected.detach()));
}

// The most bytes of tensors that it takes at once.
template <class F>
std::int64_t most_bytes(F&& f) {
  reset_peak_memory_stats();
  const std::int64_t before = memory_allocated();
  f();
  return max_memory_allocated() - before;
}

TEST(StateConversion, WhatIsSharedLevelByLevelIsConvertedOnceAndStaysShared) {
  const std::vector<std::function<Value(const Value&)>> twice{
      [](const Value& v) { return Value::list({v, v}); },
      [](const Value& v) { return Value::tuple({v, v}); },
      [](const Value& v) { return Value::dict({{"left", v}, {"right", v}}); }};
  for (const auto& level : twice) {
    Value value = Value::list({ones({4})});
    for (int i = 0; i < 60; ++i) value = level(value);
    StateConversion conversion;
    Value made = conversion.of(value, parameter(), As::other);
    EXPECT_EQ(conversion.of(value, parameter(), As::other).identity(), made.identity());
    for (int i = 0; i < 60; ++i) {
      ASSERT_EQ(made.kind(), value.kind());
      const bool dict = made.kind() == Value::Kind::dict;
      const Value left = dict ? *made.find("left") : made.items()[0];
      const Value right = dict ? *made.find("right") : made.items()[1];
      EXPECT_EQ(left.identity(), right.identity());
      made = left;
      value = dict ? *value.find("left") : value.items()[0];
    }
    EXPECT_TRUE(equal(made.items()[0].as_tensor(), ones({4}, {.dtype = float64})));
  }
}

TEST(StateConversion, EachDtypeOfParametersHasItsOwn) {
  const Value value = Value::list({ones({4})});
  StateConversion conversion;
  const Value wide = conversion.of(value, parameter(float64), As::other);
  const Value narrow = conversion.of(value, parameter(bfloat16), As::other);
  EXPECT_EQ(wide.items()[0].as_tensor().dtype(), float64);
  EXPECT_EQ(narrow.items()[0].as_tensor().dtype(), bfloat16);
  // Of a parameter that is not floating only the device counts.
  const Tensor complex = nn::make_parameter(zeros({2}, {.dtype = complex64}));
  EXPECT_TRUE(conversion.of(value, complex, As::other)
                  .items()[0]
                  .as_tensor()
                  .is(value.items()[0].as_tensor()));
  EXPECT_EQ(conversion.of(value, parameter(float64), As::other).identity(), wide.identity());
}

TEST(StateConversion, StepsStayWhatTheyAre) {
  const Tensor step = tensor(3.0, {.dtype = float32});
  StateConversion conversion;
  const Tensor p = parameter();
  EXPECT_TRUE(conversion.of(step, p, As::step).as_tensor().is(step));
  const Value nested = Value::dict({{"step", step}, {"other", step}});
  const Value made = conversion.of(nested, p, As::other);
  EXPECT_TRUE(made.find("step")->as_tensor().is(step));
  EXPECT_EQ(made.find("other")->as_tensor().dtype(), float64);
  // A list is gone through without its name, as in PyTorch.
  const Value list = conversion.of(Value::list({step}), p, As::step);
  EXPECT_EQ(list.items()[0].as_tensor().dtype(), float64);
  for (const Value& plain : {Value(), Value(3), Value("text"), Value::set({1, 2})})
    EXPECT_EQ(conversion.of(plain, p, As::other).repr(), plain.repr());
}

TEST(StateConversion, OneElementInEveryPlaceStaysOneElement) {
  const Tensor large = ones({1}).expand({1 << 20}),
               rows = arange(4.0).view({4, 1}).expand({4, 999});
  const Tensor p = parameter();
  StateConversion conversion;
  Value one, other;
  const std::int64_t bytes = most_bytes([&] {
    one = conversion.of(large, p, As::other);
    other = conversion.of(rows, p, As::other);
  });
  EXPECT_LE(bytes, 1024);
  expect_as_by_itself(one.as_tensor(), large, p);
  expect_as_by_itself(other.as_tensor(), rows, p);
}

TEST(StateConversion, ManyTensorsOverOneStorageTakeAMultipleOfIt) {
  const Tensor flat = arange(1000.0).to(float32), p = parameter();
  std::vector<Tensor> given;
  for (int i = 0; i < 500; ++i) given.push_back(flat.narrow(0, i, 500));
  std::vector<Value> made;
  StateConversion conversion;
  const std::int64_t bytes = most_bytes([&] {
    for (const Tensor& tensor : given) made.push_back(conversion.of(tensor, p, As::other));
  });
  // Tensors of their own for all elements once, and all of them again for the others.
  EXPECT_LE(bytes, 2 * 1000 * 8 + 1024);
  for (std::size_t i = 0; i < given.size(); ++i)
    expect_as_by_itself(made[i].as_tensor(), given[i], p);
  EXPECT_NE(made[0].as_tensor().storage().identity(), made[1].as_tensor().storage().identity());
}

TEST(StateConversion, TensorsOverDifferentElementsAreEachOnesOwn) {
  const Tensor flat = arange(12.0).to(float32), p = parameter();
  StateConversion conversion;
  std::vector<Tensor> made;
  for (const Tensor& tensor : flat.chunk(4))
    made.push_back(conversion.of(tensor, p, As::other).as_tensor());
  made[1].fill_(100);
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(made[i].storage().nbytes(), 3 * sizeof(double));
    EXPECT_EQ(made[i][0].item<double>(), i == 1 ? 100.0 : 3.0 * static_cast<double>(i));
  }
}

// What steps write into.
TEST(StateConversion, ATensorOfTheOptimizersOwnIsConvertedEachTime) {
  const Tensor shared = ones({2}), p = parameter();
  StateConversion conversion;
  std::vector<Tensor> made;
  for (const Tensor& tensor : {shared, shared, shared.detach(), ones({1}).expand({2})})
    made.push_back(conversion.of(tensor, p, As::own).as_tensor());
  for (std::size_t i = 0; i < made.size(); ++i) made[i].add_(static_cast<double>(i));
  for (std::size_t i = 0; i < made.size(); ++i)
    EXPECT_TRUE(equal(made[i], full({2}, 1.0 + static_cast<double>(i), {.dtype = float64})));
}

// Of one storage in all ways, often enough that the storage is converted as a whole.
TEST(StateConversion, GivesWhatEachTensorGivesByItself) {
  const Warnings complex_to_real;
  for (const DType from : {bool_, uint8, int64, float16, bfloat16, float32, float64, complex64}) {
    const Tensor whole = arange(24).sub(7).to(from);
    std::vector<Tensor> views{whole,
                              whole.view({4, 6}).t(),
                              whole.narrow(0, 5, 1).expand({3, 50}),
                              whole.narrow(0, 3, 4).unsqueeze(1).expand({4, 30}),
                              whole.as_strided({20, 5}, {1, 1}, 0),
                              whole.as_strided({5, 20}, {0, 1}, 2),
                              whole.as_strided({3}, {10}, 1),
                              whole[7],
                              whole.narrow(0, 0, 0)};
    if (is_complex(from)) {
      for (std::size_t i = 0, n = views.size(); i < n; ++i) {
        views.push_back(views[i].conj());
        views.push_back(views[i].imag());
        views.push_back(views[i].conj().imag());
      }
    }
    for (const DType to : {float16, bfloat16, float32, float64, complex128}) {
      const Tensor p = parameter(to);
      StateConversion conversion;
      for (int again = 0; again < 4; ++again) {
        for (std::size_t i = 0; i < views.size(); ++i) {
          SCOPED_TRACE(testing::Message() << repr(from) << " to " << repr(to) << ", view " << i);
          // Another tensor each time.
          const Tensor given = views[i].detach();
          expect_as_by_itself(conversion.of(given, p, As::other).as_tensor(), given, p);
        }
      }
    }
  }
}

TEST(StateConversion, WhatRequiresGradGoesOnRequiringIt) {
  const Tensor leaf = ones({1}).requires_grad_(), p = parameter();
  StateConversion conversion;
  for (int again = 0; again < 3; ++again) {
    const Tensor wide = leaf.expand({50});
    const Tensor made = conversion.of(wide, p, As::other).as_tensor();
    expect_as_by_itself(made, wide, p);
    EXPECT_TRUE(made.requires_grad());
  }
  EXPECT_FALSE(conversion.of(leaf.detach().expand({50}), p, As::other).as_tensor().requires_grad());
}

TEST(StateConversion, UserDefinedTensorsAreConvertedByTheirClassOnceForEachObject) {
  const Value talker = make_tensor<Talker>(ones({2}));
  const Tensor p = parameter();
  int calls = 0;
  const Talker::Steps steps([&] { ++calls; });
  StateConversion conversion;
  const Value made = conversion.of(Value::list({talker, talker}), p, As::other);
  EXPECT_EQ(calls, 1);
  for (const Value& one : made.items()) {
    ASSERT_NE(one.as_tensor().as<Talker>(), nullptr);
    EXPECT_EQ(one.as_tensor().as<Talker>()->elem.dtype(), float64);
  }
  EXPECT_EQ(made.items()[0].identity(), made.items()[1].identity());
}

TEST(StateConversion, TensorsWithoutDataAreNotReadAsIfTheyHadSome) {
  const Tensor p = parameter(), nowhere = ones({1}, {.device = Device::meta()}).expand({50});
  StateConversion conversion;
  for (int again = 0; again < 2; ++again)
    EXPECT_THROW(conversion.of(nowhere.detach(), p, As::other), Error);
  const Tensor on_meta = parameter(float64).to(Device::meta());
  const Tensor made =
      conversion.of(ones({1}).expand({50}), nn::make_parameter(on_meta.detach()), As::other)
          .as_tensor();
  EXPECT_TRUE(made.is_meta());
  EXPECT_EQ(made.shape(), Shape({50}));
  const Tensor lazy = make_uninitialized(float32, Device::cpu(), false, false);
  EXPECT_TRUE(is_uninitialized(conversion.of(lazy, p, As::other).as_tensor()));
}

TEST(StateConversion, MoreBytesThanCanBeCountedAreRefused) {
  const Tensor bytes = ones({1}, {.dtype = uint8});
  const Tensor p = parameter();
  StateConversion conversion;
  const std::int64_t most = std::int64_t{1} << 59;
  EXPECT_EQ(conversion.of(bytes.expand({most}), p, As::other).as_tensor().numel(), most);
  EXPECT_THROW(conversion.of(bytes.expand({most * 8}), p, As::other), Error);
}

TEST(StateConversion, LevelsAreLimited) {
  Value value = 1;
  for (int i = 0; i < 100'000; ++i) value = Value::list({value});
  StateConversion conversion;
  expect_error<ValueError>([&] { conversion.of(value, parameter(), As::other); }, "levels");
}

// The same by way of an optimizer.

Value state_of(std::vector<Value> states, std::vector<Value::Entry> options) {
  std::vector<Value::Entry> state;
  std::vector<Value> params;
  for (std::size_t i = 0; i < states.size(); ++i) {
    state.emplace_back(static_cast<std::int64_t>(i), std::move(states[i]));
    params.emplace_back(static_cast<std::int64_t>(i));
  }
  options.emplace_back("params", Value::list(std::move(params)));
  return Value::dict({{"state", Value::dict(std::move(state))},
                      {"param_groups", Value::list({Value::dict(std::move(options))})}});
}
std::vector<Value::Entry> adam_options() {
  return {{"lr", 0.5}, {"betas", Value::tuple({0.5, 0.5})}, {"eps", 0.1}, {"weight_decay", 0}};
}
std::vector<Tensor> two_parameters() {
  std::vector<Tensor> all{parameter(), parameter()};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].set_grad(full({2}, 1.0 + static_cast<double>(i), {.dtype = float64}));
  return all;
}

TEST(OptimizerStateConversion, CostsNoMoreThanTheFileHas) {
  Value shared = Value::list({ones({4})});
  for (int i = 0; i < 60; ++i) shared = Value::list({shared, shared});
  const Tensor large = ones({1}).expand({1 << 24});
  std::vector<Value> states;
  for (int i = 0; i < 2; ++i) {
    states.push_back(Value::dict({{"step", tensor(1.0)},
                                  {"exp_avg", ones({2})},
                                  {"exp_avg_sq", ones({2})},
                                  {"shared", shared},
                                  {"large", large},
                                  {"again", large.detach()}}));
  }
  const auto parameters = two_parameters();
  Adam adam(parameters);
  const Value state = state_of(std::move(states), adam_options());
  EXPECT_LE(most_bytes([&] { adam.load_state_dict(state); }), 4096);
  const NamedValues& kept = adam.state(parameters[1]);
  EXPECT_EQ(kept.tensor("large").shape(), large.shape());
  EXPECT_EQ(kept.tensor("large").dtype(), float64);
  EXPECT_EQ(kept.at("shared").identity(), adam.state(parameters[0]).at("shared").identity());
  EXPECT_NO_THROW(adam.step());
}

// One tensor, one storage, or one element for all: every parameter goes on as with its own.
TEST(OptimizerStateConversion, StepsDoNotWriteIntoEachOthersTensors) {
  const Tensor one = full({2}, 0.25), flat = full({3}, 0.25), element = full({1}, 0.25);
  const std::vector<std::function<Tensor()>> kinds{[&] { return one.clone(); }, [&] { return one; },
                                                   [&] { return flat.narrow(0, 1, 2); },
                                                   [&] { return element.expand({2}); }};
  const auto run = [&](const std::function<Tensor()>& next, bool rms) {
    const auto parameters = two_parameters();
    std::unique_ptr<Optimizer> optimizer;
    std::vector<Value> states;
    for (int i = 0; i < 2; ++i) {
      if (rms) {
        states.push_back(Value::dict({{"step", tensor(1.0)},
                                      {"square_avg", next()},
                                      {"momentum_buffer", next()},
                                      {"grad_avg", next()}}));
      } else {
        states.push_back(Value::dict({{"step", tensor(1.0)},
                                      {"exp_avg", next()},
                                      {"exp_avg_sq", next()},
                                      {"max_exp_avg_sq", next()}}));
      }
    }
    if (rms) {
      optimizer = std::make_unique<RMSprop>(parameters);
      optimizer->load_state_dict(state_of(std::move(states), {{"lr", 0.5},
                                                              {"momentum", 0},
                                                              {"alpha", 0.5},
                                                              {"eps", 0.1},
                                                              {"centered", false},
                                                              {"weight_decay", 0}}));
      optimizer->step();
      // What has been kept all the time is used from here on.
      optimizer->param_groups()[0]["momentum"] = 0.5;
      optimizer->param_groups()[0]["centered"] = true;
    } else {
      optimizer = std::make_unique<Adam>(parameters);
      optimizer->load_state_dict(state_of(std::move(states), adam_options()));
      optimizer->step();
      optimizer->param_groups()[0]["amsgrad"] = true;
    }
    for (int i = 0; i < 3; ++i) optimizer->step();
    return cat({parameters[0].detach(), parameters[1].detach()});
  };
  for (const bool rms : {false, true}) {
    const Tensor expected = run(kinds[0], rms);
    for (std::size_t i = 1; i < kinds.size(); ++i)
      EXPECT_TRUE(equal(run(kinds[i], rms), expected)) << rms << i;
  }
}

// An optimizer that keeps a number in a tensor, and counts how often it is asked what it keeps.
class Counting final : public Optimizer {
 public:
  explicit Counting(Params params) : Optimizer("Counting", NamedValues({{"lr", 1.0}})) {
    add_groups({ParamGroup(std::move(params), {})});
  }
  mutable int asked = 0;

 protected:
  void check(const ParamGroup&, bool) const override {}
  void update(ParamGroup& group) override {
    for (const Tensor& parameter : group.params()) state(parameter).tensor("total").add_(1);
  }
  std::vector<Kept> kept(const ParamGroup&) const override {
    ++asked;
    return {{.name = "total", .like_parameter = false}};
  }
  void complete(ParamGroup&) const override {}
};

TEST(OptimizerStateConversion, ANumberInATensorIsEachParametersOwn) {
  const auto parameters = two_parameters();
  Counting optimizer(parameters);
  const Tensor total = tensor(3.0, {.dtype = float32});
  const Value state = Value::dict({{"total", total}});
  optimizer.load_state_dict(state_of({state, state}, {{"lr", 1.0}}));
  optimizer.step();
  for (const Tensor& one : parameters)
    EXPECT_EQ(optimizer.state(one).tensor("total").item<double>(), 4);
  EXPECT_EQ(total.item<double>(), 3);
}

// A group may have any number of options, which the class looks through.
TEST(OptimizerStateConversion, AsksTheClassOncePerGroupWhatItKeeps) {
  std::vector<Tensor> parameters;
  std::vector<Value> states;
  for (int i = 0; i < 50; ++i) {
    parameters.push_back(parameter());
    states.push_back(Value::dict({{"total", tensor(1.0)}}));
  }
  Counting optimizer(parameters);
  optimizer.load_state_dict(state_of(std::move(states), {{"lr", 1.0}}));
  EXPECT_EQ(optimizer.asked, 1);
}

}  // namespace
}  // namespace tenon::optim
