// Tensors that user code changes after a conversion or a load has reached them: nothing that it did
// is lost without an error. And user code that is not called by name: deleters of memory, warnings.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/host_device.h"
#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

constexpr ConversionPolicy kPolicies[] = {ConversionPolicy::set_data, ConversionPolicy::overwrite,
                                          ConversionPolicy::swap};

class TwoParameters : public Layer {
 public:
  Parameter first{this, "first", full({2}, 1.0)};
  Parameter second{this, "second", full({2}, 2.0)};

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

struct Deed {
  const char* name;
  std::function<void(TwoParameters&)> act;
};

std::vector<Deed> deeds() {
  return {{"writes", [](TwoParameters& net) { net.first->detach().fill_(7); }},
          {"sets data", [](TwoParameters& net) { net.first->set_data(full({2}, 7.0)); }},
          {"swaps",
           [](TwoParameters& net) {
             static Tensor other;
             other = make_parameter(full({2}, 7.0));
             swap_tensors(net.first, other);
           }},
          {"loads",
           [](TwoParameters& net) {
             StateDict state;
             state.set("first", full({2}, 7.0));
             net.load_state_dict(state, {.strict = false});
           }},
          {"converts",
           [](TwoParameters& net) {
             const ConversionScope swapping(ConversionPolicy::swap);
             net.to(bfloat16);
           }},
          {"sets a grad", [](TwoParameters& net) { net.first->set_grad(full({2}, 7.0)); }},
          {"freezes", [](TwoParameters& net) { net.first->requires_grad_(false); }}};
}

TEST(ChangedMeanwhile, WhatUserCodeDoesToAConvertedTensorIsAnErrorWithNothingConverted) {
  for (const ConversionPolicy policy : kPolicies) {
    for (const Deed& deed : deeds()) {
      SCOPED_TRACE(deed.name);
      TwoParameters net;
      const Tensor held = net.first;
      bool first = true;
      std::string expected;
      const ConversionScope scope(policy);
      const std::string message = message_of<Error>([&] {
        net.convert([&](const Tensor& tensor) {
          const Tensor fresh = tensor.to(float64);
          if (std::exchange(first, false)) return fresh;
          deed.act(net);
          expected = net.first->repr();
          return fresh;
        });
      });
      EXPECT_THAT(message, testing::HasSubstr("was changed by user code"));
      EXPECT_EQ(net.first->repr(), expected);
      EXPECT_NE(net.second->dtype(), float64);
    }
  }
}

TEST(ChangedMeanwhile, AGradThatIsTakenAwayIsAnErrorToo) {
  for (const ConversionPolicy policy : kPolicies) {
    TwoParameters net;
    net.first->set_grad(ones({2}));
    int calls = 0;
    const ConversionScope scope(policy);
    EXPECT_THROW(net.convert([&](const Tensor& tensor) {
      if (++calls == 3) net.zero_grad();
      return tensor.to(float64);
    }),
                 Error);
    EXPECT_FALSE(net.first->grad().defined());
    EXPECT_EQ(net.first->dtype(), float32);
  }
}

// A module whose extra state says which dtype it has.
class Typed final : public TwoParameters {
 public:
  std::optional<Value> get_extra_state() const override { return Value("bfloat16"); }
  void set_extra_state(const Value& /*state*/) override { to(tenon::bfloat16); }
};

TEST(ChangedMeanwhile, AValueThatIsLoadedUnderSwapIsThereAfterTheExtraStateHasConvertedTheModule) {
  for (const bool swaps : {false, true}) {
    const SwapOnConversionScope scope(swaps);
    Typed net;
    const Tensor held = net.first;
    StateDict state;
    state.set("first", full({2}, 5.0));
    state.set("second", full({2}, 6.0));
    state.set("_extra_state", Value("bfloat16"));
    net.load_state_dict(state);
    EXPECT_TRUE(net.first->is(held));
    EXPECT_EQ(net.first->dtype(), bfloat16);
    EXPECT_EQ(net.first->to(float32).sum().item<double>(), 10.0);
    EXPECT_EQ(net.second->to(float32).sum().item<double>(), 12.0);
  }
}

// Detached parts of one storage count their versions together.
TEST(ChangedMeanwhile, AFunctionMayWriteToItsArgumentAlsoIfOthersShareItsStorage) {
  for (const ConversionPolicy policy : kPolicies) {
    const Tensor storage = ones({4});
    TwoParameters net;
    net.first = make_parameter(storage.narrow(0, 0, 2).detach());
    net.second = make_parameter(storage.narrow(0, 2, 2).detach());
    const ConversionScope scope(policy);
    net.convert([](const Tensor& tensor) {
      tensor.detach().mul_(3);
      return tensor.to(float64);
    });
    EXPECT_EQ(net.first->sum().item<double>(), 6);
    EXPECT_EQ(net.second->sum().item<double>(), 6);
    EXPECT_EQ(net.second->dtype(), float64);
  }
}

TEST(ChangedMeanwhile, AFunctionMayWriteToGradsThatShareAStorage) {
  for (const ConversionPolicy policy : kPolicies) {
    const Tensor flat = ones({4});
    TwoParameters net;
    net.first->set_grad(flat.narrow(0, 0, 2).detach());
    net.second->set_grad(flat.narrow(0, 2, 2).detach());
    const ConversionScope scope(policy);
    net.convert([](const Tensor& tensor) {
      tensor.detach().fill_(3);
      return tensor.to(float64);
    });
    EXPECT_EQ(net.first->grad().sum().item<double>(), 6);
    EXPECT_EQ(net.second->grad().sum().item<double>(), 6);
    EXPECT_EQ(net.second->grad().dtype(), float64);
  }
}

TEST(ChangedMeanwhile, AFunctionMayWriteToAGradThatSharesItsParametersStorage) {
  for (const ConversionPolicy policy : kPolicies) {
    const Tensor flat = ones({8});
    TwoParameters net;
    std::int64_t at = 0;
    for (const Tensor& own : net.parameters()) {
      own.set_data(flat.narrow(0, at, 2).detach());
      own.set_grad(flat.narrow(0, at + 2, 2).detach());
      at += 4;
    }
    const ConversionScope scope(policy);
    net.convert([](const Tensor& tensor) {
      tensor.detach().fill_(3);
      return tensor.to(float64);
    });
    for (const Tensor& parameter : net.parameters()) {
      EXPECT_EQ(parameter.sum().item<double>(), 6);
      EXPECT_EQ(parameter.grad().sum().item<double>(), 6);
      EXPECT_EQ(parameter.grad().dtype(), float64);
    }
  }
}

TEST(ChangedMeanwhile, AFunctionThatGivesNothingForAGradIsNamed) {
  TwoParameters net;
  net.first->set_grad(ones({2}));
  int calls = 0;
  const auto nothing_for_the_grad = [&](const Tensor& tensor) {
    return ++calls == 2 ? Tensor() : tensor.to(float64);
  };
  expect_error<TypeError>([&] { net.convert(nothing_for_the_grad); },
                          "the function returned an undefined tensor");
  EXPECT_EQ(net.first->dtype(), float32);
}

// A device whose copies are a test's code.
class ActingBackend final : public DeviceBackend {
 public:
  int device_count() const override { return 1; }
  void* allocate(std::size_t nbytes, Device device) override {
    return host_.allocate(nbytes, device);
  }
  void deallocate(void* data, std::size_t nbytes, Device device) noexcept override {
    host_.deallocate(data, nbytes, device);
  }
  void copy(const Tensor& dst, const Tensor& src) override {
    const Tensor into = dst, from = src;
    if (const auto once = std::exchange(deed, nullptr)) once();
    host_.copy(into, from);
  }
  void synchronize(Device) override {}

  static inline std::function<void()> deed;

 private:
  HostBackend host_;
};

Device acting_device() {
  static const DeviceType type = register_device("acting", std::make_unique<ActingBackend>());
  return Device(type);
}

TEST(ChangedMeanwhile, ADeviceMayDestroyTheVariablesOfTheCaller) {
  auto source = std::make_unique<Tensor>(ones({2}));
  ActingBackend::deed = [&] { source.reset(); };
  const Tensor there = source->to(acting_device());
  EXPECT_EQ(source, nullptr);
  auto options = std::make_unique<ToOptions>();
  options->device = Device::cpu();
  ActingBackend::deed = [&] { options.reset(); };
  const Tensor here = there.to(*options);
  EXPECT_EQ(options, nullptr);
  EXPECT_EQ(here.sum().item<double>(), 2.0);
  auto into = std::make_unique<Tensor>(zeros({2}));
  const Tensor same = *into;
  source = std::make_unique<Tensor>(there);
  ActingBackend::deed = [&] {
    source.reset();
    into.reset();
  };
  into->copy_(*source);
  EXPECT_EQ(into, nullptr);
  EXPECT_EQ(same.sum().item<double>(), 2.0);
}

// As in PyTorch: what was made of the tensor as it was takes its place.
TEST(ChangedMeanwhile, ADeviceMaySwapATensorWhileItIsMovedThereWithOthersOfItsStorage) {
  for (const ConversionPolicy policy : kPolicies) {
    const Tensor storage = ones({4}), other = make_parameter(full({3}, 7.0));
    TwoParameters net;
    net.first = make_parameter(storage.narrow(0, 0, 2).detach());
    net.second = make_parameter(storage.narrow(0, 2, 2).detach());
    ActingBackend::deed = [&] { swap_tensors(net.first, other); };
    const ConversionScope scope(policy);
    net.to(acting_device());
    EXPECT_EQ(net.first->cpu().sum().item<double>(), 2);
    EXPECT_EQ(net.second->cpu().sum().item<double>(), 2);
    EXPECT_EQ(other.shape(), Shape({2}));
  }
}

TEST(ChangedMeanwhile, ADeviceThatTakesATensorAwayWhileALoadCopiesIsAnErrorThatSaysWhatWasWritten) {
  TwoParameters net;
  net.to(acting_device());
  StateDict state;
  state.set("first", full({2}, 5.0));
  state.set("second", full({2}, 6.0));
  const Tensor second = net.second;
  ActingBackend::deed = [&] { net.second->set_data(full({5}, 3.0, {.device = Device::cpu()})); };
  try {
    net.load_state_dict(state);
    ADD_FAILURE() << "it loads";
  } catch (const LoadError& error) {
    EXPECT_EQ(error.written(), std::vector<std::string>{"first"}) << error.what();
  }
  EXPECT_EQ(net.first->cpu().sum().item<double>(), 10);
  EXPECT_EQ(net.second->sum().item<double>(), 15);
}

class Handler {
 public:
  explicit Handler(WarningHandler handler) : before_(set_warning_handler(std::move(handler))) {}
  ~Handler() { set_warning_handler(before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  WarningHandler before_;
};

TEST(ChangedMeanwhile, AWarningHandlerThatChangesAShapeMakesALoadAnErrorWithNothingLoaded) {
  TwoParameters net;
  net.register_parameter("meta", make_parameter(empty({2}, {.device = Device::meta()})));
  StateDict state;
  for (const char* name : {"first", "second", "meta"}) state.set(name, full({2}, 5.0));
  const Handler handler([&](const std::string&) { net.second->set_data(full({5}, 3.0)); });
  try {
    net.load_state_dict(state);
    ADD_FAILURE() << "it loads";
  } catch (const LoadError& error) {
    EXPECT_TRUE(error.written().empty()) << error.what();
  }
  EXPECT_EQ(net.first->sum().item<double>(), 2.0);
  EXPECT_EQ(net.second->sum().item<double>(), 15.0);
}

TEST(ChangedMeanwhile, ALazyLayerOutlivesWhatAWarningHandlerDoes) {
  auto lazy = std::make_unique<LazyLinear>(0);
  {
    const Handler handler([&](const std::string&) { lazy.reset(); });
    EXPECT_THROW((*lazy)(ones({2, 3})), Error);
  }
  lazy = std::make_unique<LazyLinear>(0);
  lazy->register_parameter("extra", make_parameter(ones({4})));
  StateDict state;
  state.set("bias", ones({0}));
  state.set("extra", ones({4}));
  lazy->load_state_dict(state, {.strict = false});
  bool first = true;
  const Handler handler([&](const std::string&) {
    if (std::exchange(first, false)) lazy->remove("extra");
  });
  (*lazy)(ones({2, 3}));
  EXPECT_EQ(lazy->weight->shape(), Shape({0, 3}));
}

// A parameter over memory whose deleter is user code.
Tensor borrowed(std::function<void()> deleter) {
  return make_parameter(
      from_blob(new float[2]{1, 1}, {2}, {.deleter = [deleter = std::move(deleter)](void* memory) {
                  delete[] static_cast<float*>(memory);
                  deleter();
                }}));
}

TEST(ChangedMeanwhile, DeletersOfReplacedMemoryFindTheModuleConverted) {
  const std::vector<std::function<void(std::unique_ptr<TwoParameters>&)>> acts{
      [](auto& net) { net->remove("p1"); },
      [](auto& net) {
        for (int i = 0; i < 50; ++i)
          net->register_parameter("q" + std::to_string(i), make_parameter(ones({1})));
      },
      [](auto& net) { net->to(bfloat16); },
      [](auto& net) { net->load_state_dict(net->state_dict()); }, [](auto& net) { net.reset(); }};
  for (const ConversionPolicy policy : kPolicies) {
    for (std::size_t deed = 0; deed < acts.size(); ++deed) {
      SCOPED_TRACE(deed);
      auto net = std::make_unique<TwoParameters>();
      bool done = false, converted = true;
      const auto deleter = [&] {
        if (!net || std::exchange(done, true)) return;
        for (const Tensor& one : net->parameters()) converted = converted && one.dtype() == float64;
        acts[deed](net);
      };
      for (int i = 0; i < 4; ++i)
        net->register_parameter("p" + std::to_string(i), borrowed(deleter));
      const ConversionScope scope(policy);
      if (deed + 1 == acts.size()) {
        EXPECT_THROW(net->to(float64), Error);
      } else {
        net->to(float64);
        for (const Tensor& one : net->parameters()) {
          const bool fresh = one.dim() == 1 && one.size(0) == 1;
          EXPECT_EQ(one.dtype(), fresh ? float32 : deed == 2 ? tenon::bfloat16 : float64);
        }
      }
      EXPECT_TRUE(done);
      EXPECT_TRUE(converted);
    }
  }
}

TEST(ChangedMeanwhile, FunctionsMayDestroyWhatTheyWereGivenAs) {
  TwoParameters net;
  auto convert = std::make_unique<std::function<Tensor(const Tensor&)>>();
  *convert = [&, text = std::string(100, 'x')](const Tensor& tensor) {
    convert.reset();
    return text.size() == 100 ? tensor.to(float64) : tensor;
  };
  net.convert(*convert);
  EXPECT_EQ(net.first->dtype(), float64);
  auto apply = std::make_unique<std::function<void(Module&)>>();
  int calls = 0;
  *apply = [&, text = std::string(100, 'x')](Module&) {
    apply.reset();
    calls += static_cast<int>(text.size());
  };
  net.apply(*apply);
  EXPECT_EQ(calls, 100);
}

TEST(ChangedMeanwhile, TheDestinationOfAStateDictMayBeDestroyedByAHook) {
  TwoParameters net;
  auto destination = std::make_unique<StateDict>();
  const RemovableHandle hook = net.register_state_dict_post_hook(
      [&](Module&, StateDict&, const std::string&, const Value&) { destination.reset(); });
  EXPECT_THROW(net.state_dict(*destination), Error);
}

TEST(ChangedMeanwhile, AStateDictMayBeDestroyedByTheFunctionThatChoosesWhatIsErased) {
  auto state = std::make_unique<StateDict>();
  for (int i = 0; i < 8; ++i) state->set("k" + std::to_string(i), Value(i));
  EXPECT_THAT(message_of<Error>([&] {
                state->erase_if([&](std::string_view, const Value&) {
                  state.reset();
                  return true;
                });
              }),
              testing::HasSubstr("was destroyed"));
  EXPECT_EQ(state, nullptr);
}

TEST(ChangedMeanwhile, ADictOfParametersIsClearedWhateverADeleterRemoves) {
  ParameterDict dict;
  dict.set("a", borrowed([&] { dict.remove("b"); }));
  dict.set("b", make_parameter(ones({1})));
  dict.set("c", make_parameter(ones({1})));
  dict.clear();
  EXPECT_TRUE(dict.keys().empty());
}

TEST(ChangedMeanwhile, EntriesOfAStateDictMayBeAddedWhileOthersAreErased) {
  StateDict state;
  for (int i = 0; i < 8; ++i) state.set("k" + std::to_string(i), Value(i));
  const std::size_t gone = state.erase_if([&](std::string_view name, const Value& value) {
    state.set(std::string(name) + ".again", value);
    return value.as_int() % 2 == 0;
  });
  EXPECT_EQ(gone, 4U);
  EXPECT_EQ(state.size(), 12U);
  EXPECT_FALSE(state.contains("k0"));
  EXPECT_TRUE(state.contains("k0.again"));
  state.set("tensor", borrowed([&] {
              for (int i = 0; i < 100; ++i) state.set("more" + std::to_string(i), Value(i));
            }));
  EXPECT_TRUE(state.erase("tensor"));
  EXPECT_EQ(state.size(), 112U);
}

}  // namespace
}  // namespace tenon::nn
