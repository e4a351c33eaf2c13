// Steps of optimizers beside those that PyTorch took (cases/steps.cases).
#include <memory>

#include "support/matchers.h"
#include "support/near.h"
#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon::optim {
namespace {

const std::vector<Shape> kShapes{{5, 7}, {33}, {3, 4}, {2, 3, 4, 5}, {}, {3}};

// The tensors of tests/record/steps.py's views().
std::vector<Tensor> views(const Tensor& flat) {
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const Tensor part = flat.narrow(0, at, kShapes[i].numel());
    at += kShapes[i].numel();
    parts.push_back(i == 2   ? part.view({4, 3}).t()
                    : i == 3 ? part.view({2, 4, 5, 3}).permute({0, 3, 1, 2})
                             : part.view(kShapes[i]));
  }
  return parts;
}

// An option by its name in PyTorch.
template <class T, class O>
struct Field {
  const char* name;
  T O::* place;
};
template <class T, class O>
Field(const char*, T O::*) -> Field<T, O>;

void read(const Value& value, double& option) { option = value.as_real(); }
void read(const Value& value, bool& option) { option = value.as_bool(); }
void read(const Value& value, std::pair<double, double>& option) {
  option = {value.items()[0].as_real(), value.items()[1].as_real()};
}

// An optimizer of two groups, with the options that the dict has.
template <class O, class Group, class Options, class... F>
std::unique_ptr<Optimizer> made(const Value& dict, const std::vector<Tensor>& p, F... fields) {
  Options options;
  const auto take = [&](const auto& field) {
    if (const Value* value = dict.find(field.name)) read(*value, options.*field.place);
  };
  (take(fields), ...);
  return std::make_unique<O>(std::vector<Group>{{.params = {p[0], p[1], p[2]}},
                                                {.params = {p[3], p[4], p[5]}, .lr = 0.02}},
                             options);
}

template <class O, class Group, class Options, class... F>
std::unique_ptr<Optimizer> made_adam(const Value& dict, const std::vector<Tensor>& p, F... more) {
  return made<O, Group, Options>(
      dict, p, Field{"lr", &Options::lr}, Field{"betas", &Options::betas},
      Field{"eps", &Options::eps}, Field{"weight_decay", &Options::weight_decay},
      Field{"amsgrad", &Options::amsgrad}, Field{"maximize", &Options::maximize}, more...);
}

std::unique_ptr<Optimizer> make(const std::string& name, const Value& dict,
                                const std::vector<Tensor>& p) {
  if (name == "SGD") {
    using O = SGDOptions;
    return made<SGD, SGDGroup, O>(dict, p, Field{"lr", &O::lr}, Field{"momentum", &O::momentum},
                                  Field{"dampening", &O::dampening},
                                  Field{"weight_decay", &O::weight_decay},
                                  Field{"nesterov", &O::nesterov}, Field{"maximize", &O::maximize});
  }
  if (name == "Adam") {
    return made_adam<Adam, AdamGroup, AdamOptions>(
        dict, p, Field{"decoupled_weight_decay", &AdamOptions::decoupled_weight_decay});
  }
  if (name == "AdamW") return made_adam<AdamW, AdamWGroup, AdamWOptions>(dict, p);
  if (name == "Adagrad") {
    using O = AdagradOptions;
    return made<Adagrad, AdagradGroup, O>(
        dict, p, Field{"lr", &O::lr}, Field{"lr_decay", &O::lr_decay},
        Field{"weight_decay", &O::weight_decay},
        Field{"initial_accumulator_value", &O::initial_accumulator_value}, Field{"eps", &O::eps},
        Field{"maximize", &O::maximize});
  }
  using O = RMSpropOptions;
  return made<RMSprop, RMSpropGroup, O>(
      dict, p, Field{"lr", &O::lr}, Field{"alpha", &O::alpha}, Field{"eps", &O::eps},
      Field{"weight_decay", &O::weight_decay}, Field{"momentum", &O::momentum},
      Field{"centered", &O::centered}, Field{"maximize", &O::maximize});
}

Tensor flattened(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> flat;
  for (const Tensor& tensor : tensors) flat.push_back(tensor.detach().to(dtype).flatten());
  return cat(flat);
}

void give_grads(const std::vector<Tensor>& parameters, const Tensor& flat, std::int64_t step) {
  const std::vector<Tensor> grads = views(flat);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool none = i == 5 || (i == 1 && step == 0);
    parameters[i].set_grad(none     ? Tensor()
                           : i == 0 ? grads[i].t().contiguous().t()
                                    : grads[i].clone());
  }
}

struct Case {
  explicit Case(const Value& recorded)
      : value(recorded),
        name(at("name").as_string()),
        before(at("before").as_tensor()),
        what(name + " " + at("options").repr() + " " + std::string(info(before.dtype()).name)) {
    for (const Tensor& part : views(before)) parameters.push_back(nn::make_parameter(part.clone()));
    optimizer = make(name, at("options"), parameters);
  }
  const Value& at(const char* key) const { return *value.find(key); }
  void run() const {
    const Tensor grads = at("grads").as_tensor();
    for (std::int64_t step = 0; step < 5; ++step) {
      give_grads(parameters, grads.select(0, step), step);
      optimizer->step();
    }
  }

  Value value;
  std::string name;
  Tensor before;
  std::string what;
  std::vector<Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Value& one : recorded::values("optim/cases/steps")) all.emplace_back(one);
  return all;
}

// PyTorch's square roots of float32 may be off in the last digit, by what it calls for them; where
// there are none, bits are the same.
bool has_no_root(const Case& one) { return one.name == "SGD"; }

TEST(OptimizerSteps, AreThoseOfPyTorch) {
  for (const Case& one : cases()) {
    one.run();
    const DType dtype = one.before.dtype();
    const Tensor after = flattened(one.parameters, dtype), expected = one.at("after").as_tensor();
    if (dtype == float32 && has_no_root(one)) {
      EXPECT_TRUE(equal(after, expected)) << one.what;
    }
    // Sixteen bits hold no 1e-8: PyTorch divides by zero there, and so do we.
    const double tolerance = dtype == float64 ? 1e-14 : itemsize(dtype) == 2 ? 1e-2 : 1e-6;
    EXPECT_TRUE(
        allclose(after, expected, {.rtol = tolerance, .atol = tolerance, .equal_nan = true}))
        << one.what;
  }
}

TEST(OptimizerSteps, LeaveTheStateOfPyTorch) {
  for (const Case& one : cases()) {
    one.run();
    const DType dtype = one.before.dtype();
    const Value state = one.optimizer->state_dict();
    std::vector<Tensor> kept;
    std::vector<Value> keys;
    for (const auto& [index, entry] : state.find("state")->entries()) {
      std::vector<Value> names;
      for (const auto& [name, value] : entry.entries()) {
        names.push_back(name);
        kept.push_back(value.as_tensor());
      }
      keys.push_back(Value::list(std::move(names)));
    }
    EXPECT_EQ(Value::list(std::move(keys)), one.at("state_keys")) << one.what;
    EXPECT_EQ(state.find("param_groups")->repr(), one.at("param_groups").repr()) << one.what;
    EXPECT_EQ(one.optimizer->repr(), one.at("text").as_string()) << one.what;
    const Value& expected = one.at("state");
    ASSERT_EQ(kept.empty(), expected.is_none()) << one.what;
    if (kept.empty() || is_complex(dtype)) continue;
    const Tensor flat = flattened(kept, dtype);
    if (dtype == float32 && one.name != "RMSprop") {
      EXPECT_TRUE(equal(flat, expected.as_tensor())) << one.what;
    }
    expect_near(flat, expected.as_tensor(), one.what, itemsize(dtype) == 2 ? 1e-2 : 1e-6);
  }
}

// Kernels over rows of floats do what the sequence of operators does, bit for bit; on any number of
// threads.
TEST(OptimizerSteps, AreTheSameForTensorsThatAreNotPacked) {
  const int threads = get_num_threads();
  for (const Case& one : cases()) {
    if (one.before.dtype() != float32) continue;
    manual_seed(5);
    const Tensor values = randn({70001}), grads = randn({5, 70001});
    std::vector<Tensor> packed, apart;
    for (int i = 0; i < 6; ++i) {
      packed.push_back(nn::make_parameter(values.clone()));
      apart.push_back(nn::make_parameter(stack({values, values}, 1).select(1, 0)));
      EXPECT_EQ(apart.back().stride(0), 2);
    }
    const auto first = make(one.name, one.at("options"), packed),
               second = make(one.name, one.at("options"), apart);
    for (std::int64_t step = 0; step < 5; ++step) {
      for (const auto* parameters : {&packed, &apart}) {
        for (const Tensor& parameter : *parameters)
          parameter.set_grad(grads.select(0, step).clone());
      }
      set_num_threads(3);
      first->step();
      set_num_threads(1);
      second->step();
    }
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_TRUE(equal(packed[i].detach(), apart[i].detach())) << one.what << i;
  }
  set_num_threads(threads);
}

// A run that is interrupted, saved, read and gone on with is the run that was not.
TEST(OptimizerSteps, GoOnWhereAStateDictLeftOff) {
  for (const Case& one : cases()) {
    const Tensor grads = one.at("grads").as_tensor();
    std::vector<Tensor> parameters = one.parameters;
    std::unique_ptr<Optimizer> second;
    for (std::int64_t step = 0; step < 5; ++step) {
      Optimizer& optimizer = second ? *second : *one.optimizer;
      give_grads(parameters, grads.select(0, step), step);
      optimizer.step();
      if (step != 2) continue;
      const Value state = optimizer.state_dict();
      std::vector<Tensor> copies;
      for (const Tensor& parameter : parameters)
        copies.push_back(nn::make_parameter(parameter.detach().clone()));
      parameters = copies;
      second = make(one.name, one.at("options"), parameters);
      second->load_state_dict(state);
    }
    const Tensor after = flattened(parameters, one.before.dtype());
    Case whole(one.value);
    whole.run();
    EXPECT_TRUE(equal(after, flattened(whole.parameters, one.before.dtype()))) << one.what;
  }
}

// What is kept is compared with all parameters before the first is written to.
TEST(Steps, AreWholeOrNoneIfAParameterWasConvertedAfterItsFirst) {
  using Made = std::unique_ptr<Optimizer>;
  struct Kind {
    const char* name;
    std::function<Made(Params)> make;
    bool has_averages;  // by lerp_, which wants one dtype
  };
  const std::vector<Kind> kinds{
      {"SGD", [](Params p) { return Made(new SGD(std::move(p), {.lr = 0.1, .momentum = 0.9})); },
       false},
      {"Adam", [](Params p) { return Made(new Adam(std::move(p), {.amsgrad = true})); }, true},
      {"AdamW", [](Params p) { return Made(new AdamW(std::move(p), {.weight_decay = 0.5})); },
       true},
      {"RMSprop",
       [](Params p) {
         return Made(new RMSprop(std::move(p), {.momentum = 0.9, .centered = true}));
       },
       true},
      {"Adagrad", [](Params p) { return Made(new Adagrad(std::move(p), {.lr = 0.1})); }, false},
  };
  for (const Kind& kind : kinds) {
    for (const bool of_shape : {true, false}) {
      SCOPED_TRACE(testing::Message() << kind.name << (of_shape ? ": shape" : ": dtype"));
      const Tensor first = ones({2}).requires_grad_(), second = ones({2}).requires_grad_();
      const Made optimizer = kind.make({first, second});
      const auto step = [&] {
        first.set_grad(ones_like(first.detach()));
        second.set_grad(ones_like(second.detach()));
        optimizer->step();
      };
      step();
      second.set_data(of_shape ? ones({3}) : ones({2}, {.dtype = float64}));
      const Tensor before = first.detach().clone(), converted = second.detach().clone();
      const Tensor counted = kind.make({first})->type_name() == "SGD"
                                 ? Tensor()
                                 : optimizer->state(first).tensor("step").clone();
      if (of_shape) {
        expect_error<ShapeError>(step, "of shape [2] is kept", "[3]", "after its first step");
      } else if (kind.has_averages) {
        expect_error<DTypeError>(step, "of torch.float32 is kept", "torch.float64");
      } else {
        EXPECT_NO_THROW(step());
        continue;
      }
      EXPECT_TRUE(equal(first.detach(), before));
      EXPECT_TRUE(equal(second.detach(), converted));
      if (counted.defined()) {
        EXPECT_TRUE(equal(optimizer->state(first).tensor("step"), counted));
        optimizer->state(second)["step"] = ones({2});
        second.set_data(ones({2}));
        expect_error<ValueError>(step, "'step'", "one number");
        EXPECT_TRUE(equal(first.detach(), before));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::optim
