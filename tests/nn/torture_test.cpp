// Every function that runs user code while it goes through a module, with user code that does each
// of the deeds of torture.h at each step. Runs end, normally or with an error, and what is left of
// the module is in order. Sanitizers find the rest.
#include "torture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "support/talking_device.h"
#include "support/temp_dir.h"
#include "support/threads.h"

namespace tenon::nn {
namespace {

struct NamedWalk {
  const char* name;
  std::function<void(TortureNet&)> run;
  bool atomic = false;  // leaves tensors as they were if it throws
  ConversionPolicy policy = ConversionPolicy::set_data;
};

Tensor doubled(const Tensor& tensor) {
  happen();
  return ChattyTensor::unwrap(tensor).to(float64);
}

// A state dict that fits, of plain and of user-defined tensors.
StateDict incoming() {
  TortureNet other;
  StateDict state;
  for (const auto& [key, value] : other.state_dict({.keep_vars = true})) {
    if (!value.is_tensor()) {
      state.set(key, value);
      continue;
    }
    const bool chatty = value.as_tensor().as<ChattyTensor>() != nullptr && key != "chatty";
    const Tensor plain = full(value.as_tensor().shape(), 0.25);
    state.set(key, chatty ? make_tensor<ChattyTensor>(plain) : plain);
  }
  return state;
}

// The same without user-defined tensors, which files do not have.
StateDict plain(const StateDict& from) {
  StateDict state;
  for (const auto& [key, value] : from)
    state.set(key, value.is_tensor() ? Value(ChattyTensor::unwrap(value.as_tensor())) : value);
  return state;
}

// Gets its shape from the first input.
class TortureLazy final : public Lazy<Layer> {
 public:
  Parameter weight{this, "weight", uninitialized_parameter()};
  TortureLazy() = default;
  void initialize_parameters(const Tensor& input) override {
    happen();
    // A deed may have called it, or taken the tensor out.
    if (has_uninitialized_params()) materialize(weight, {input.size(-1)});
    happen();
  }
  Shape shape_for(const TensorSlot& /*slot*/, const Shape& incoming,
                  const ShapeOf& /*shape_of*/) const override {
    happen();
    return incoming;
  }
  bool sizes_from_tensors() override {
    happen();
    return true;
  }

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

// At the end of the row, which a call goes through.
void add_lazy(TortureNet& net) {
  for (const ChildSlot* slot : net.child_slots()) {
    auto* row = slot->defined() ? slot->module()->as<Sequential>() : nullptr;
    if (row != nullptr && row->size() == 2) return (void)row->append(make<TortureLazy>());
  }
}

std::vector<NamedWalk> walks(const std::string& file) {
  const StateDict state = incoming();
  std::vector<NamedWalk> all{
      {"convert", [](TortureNet& net) { net.convert(doubled); }, true},
      {"convert by replacing", [](TortureNet& net) { net.convert(doubled); }, true,
       ConversionPolicy::overwrite},
      {"convert by swapping", [](TortureNet& net) { net.convert(doubled); }, true,
       ConversionPolicy::swap},
      {"convert without children", [](TortureNet& net) { net.convert(doubled, false); }, true},
      {"to", [](TortureNet& net) { net.to(float64); }, true},
      {"to by swapping", [](TortureNet& net) { net.to(float64); }, true, ConversionPolicy::swap},
      {"to a device",
       [](TortureNet& net) {
         const TalkingBackend::Steps steps(happen);
         net.to(TalkingBackend::device());
       },
       true},
      {"to a device by swapping",
       [](TortureNet& net) {
         const TalkingBackend::Steps steps(happen);
         net.to(TalkingBackend::device());
       },
       true, ConversionPolicy::swap},
      {"to a device and back",
       [](TortureNet& net) {
         net.to(TalkingBackend::device());
         const TalkingBackend::Steps steps(happen);
         net.to(Device::cpu());
       }},
      {"a load into a device",
       [state](TortureNet& net) {
         net.to(TalkingBackend::device());
         const TalkingBackend::Steps steps(happen);
         net.load_state_dict(state);
       }},
      {"to complex numbers, with a warning", [](TortureNet& net) { net.to(complex64); }, true},
      {"to complex numbers by swapping", [](TortureNet& net) { net.to(complex64); }, true,
       ConversionPolicy::swap},
      {"a load of complex numbers, with warnings",
       [state](TortureNet& net) {
         StateDict complex;
         for (const auto& [key, value] : state)
           complex.set(key, value.is_tensor() && value.as_tensor().as<ChattyTensor>() == nullptr
                                ? Value(value.as_tensor().to(complex64))
                                : value);
         net.load_state_dict(complex);
       },
       true},
      {"a load to meta, with a warning",
       [state](TortureNet& net) {
         net.register_parameter("meta", make_parameter(empty({2}, {.device = Device::meta()})));
         StateDict more = state;
         more.set("meta", ones({2}));
         net.load_state_dict(more);
       },
       true},
      {"state_dict", [](TortureNet& net) { (void)net.state_dict(); }},
      {"state_dict with keep_vars",
       [](TortureNet& net) { (void)net.state_dict({.keep_vars = true}); }},
      {"load_state_dict", [state](TortureNet& net) { net.load_state_dict(state); }, true},
      {"load_state_dict by swapping", [state](TortureNet& net) { net.load_state_dict(state); },
       true, ConversionPolicy::swap},
      {"load_state_dict by assigning",
       [state](TortureNet& net) { net.load_state_dict(state, {.assign = true}); }, true},
      {"load_state_dict by assigning and swapping",
       [state](TortureNet& net) { net.load_state_dict(state, {.assign = true}); }, true,
       ConversionPolicy::swap},
      {"load_state_dict that is not strict",
       [](TortureNet& net) { net.load_state_dict({}, {.strict = false}); }, true},
      {"apply", [](TortureNet& net) { net.apply([](Module&) { happen(); }); }},
      {"train", [](TortureNet& net) { net.train(); }},
      {"requires_grad_", [](TortureNet& net) { net.requires_grad_(false); }},
      {"zero_grad",
       [](TortureNet& net) {
         for (const Tensor& parameter : net.parameters())
           parameter.set_grad(make_tensor<ChattyTensor>(zeros(parameter.shape())));
         net.zero_grad({.set_to_none = false});
       }},
      {"clone", [](TortureNet& net) { (void)clone(net); }},
      {"replicate", [](TortureNet& net) { (void)replicate(net, 2, {.copy = true}); }},
      {"replicate sharing tensors", [](TortureNet& net) { (void)replicate(net, 2); }},
      {"data_parallel",
       [](TortureNet& net) {
         const Threads one(1);
         (void)data_parallel(net, zeros({2, 2}), {.replicas = 2});
       }},
      {"parallel_apply and reduce_gradients",
       [](TortureNet& net) {
         const Threads one(1);
         const auto replicas = replicate(net, 2, {.copy = true});
         (void)parallel_apply(replicas, std::vector<Tensor>{zeros({2}), zeros({2})});
         for (const auto& replica : replicas) {
           for (const Tensor& parameter : replica->parameters())
             parameter.set_grad(make_tensor<ChattyTensor>(zeros(parameter.shape())));
         }
         if (torture == nullptr || torture->root) reduce_gradients(net, replicas);
       }},
      {"repr", [](TortureNet& net) { (void)net.repr(); }},
      {"a call", [](TortureNet& net) { (void)net(zeros({2})); }},
      {"invoke", [](TortureNet& net) { (void)net.invoke(Arguments{zeros({2})}); }},
  };
  all.push_back({"a call of a lazy module", [](TortureNet& net) {
                   add_lazy(net);
                   (void)net(zeros({2}));
                 }});
  all.push_back({"a load of a lazy module", [state](TortureNet& net) {
                   add_lazy(net);
                   StateDict more = state;
                   more.set("row.2.weight", ones({2}));
                   net.load_state_dict(more);
                 }});
  all.push_back({"load_into", [file](TortureNet& net) { load_into(net, file); }, true});
  all.push_back({"load_into with another dtype",
                 [file](TortureNet& net) { load_into(net, file, {.dtype = bfloat16}); }, true,
                 ConversionPolicy::swap});
  all.push_back({"load_into by assigning",
                 [file](TortureNet& net) { load_into(net, file, {.assign = true}); }, true});
  all.push_back({"registering with hooks", [](TortureNet& net) {
                   const auto first = register_module_parameter_registration_hook(
                       [](Module&, const std::string&, const Tensor&) {
                         happen();
                         return Tensor();
                       });
                   const auto second = register_module_buffer_registration_hook(
                       [](Module&, const std::string&, const Tensor&) {
                         happen();
                         return Tensor();
                       });
                   const auto third = register_module_module_registration_hook(
                       [](Module&, const std::string&, const std::shared_ptr<Module>&) {
                         happen();
                         return std::shared_ptr<Module>();
                       });
                   struct Remove {
                     std::vector<RemovableHandle> handles;
                     ~Remove() {
                       for (RemovableHandle& handle : handles) handle.remove();
                     }
                   } const remove{{first, second, third}};
                   const bool alone = torture == nullptr;
                   const auto there = [&] { return alone || torture->root != nullptr; };
                   const auto value = make_parameter(ones({2}));
                   net.register_parameter("extra", value);
                   if (there()) net.register_parameter("fresh", value);
                   if (there()) net.scale = value;
                   if (there()) net.register_buffer("extra_buffer", ones({2}));
                   if (there()) net.register_buffer("fresh_buffer", ones({2}));
                   if (there()) net.register_module("third", make<Sequential>());
                   if (there()) net.register_module("fresh_module", make<Sequential>());
                   // (Making it calls the hooks, too.)
                   const auto part = make<TorturePart>();
                   if (there()) net.first = part;
                 }});
  return all;
}

// Whether what is left can be used.
void check_in_order(TortureNet& net) {
  for (const auto& [name, tensor] : net.named_parameters({.remove_duplicate = false}))
    EXPECT_TRUE(tensor.is_parameter()) << name;
  for (const auto& [name, module] : net.named_modules())
    EXPECT_EQ(&net.get_submodule(name), module) << name;
  const StateDict state = net.state_dict();
  const auto copy = clone(net);
  EXPECT_TRUE(copy->load_state_dict(state).empty());
  net.train(false);
}

// What a tensor is, by itself.
struct Before {
  Tensor tensor;
  DType dtype;
  std::string text;
};
std::string shown(const Tensor& tensor) { return ChattyTensor::unwrap(tensor).detach().repr(); }

// Warnings call it, too.
class Warned {
 public:
  Warned() : before_(set_warning_handler([](const std::string&) { happen(); })) {}
  ~Warned() { set_warning_handler(before_); }
  Warned(const Warned&) = delete;
  Warned& operator=(const Warned&) = delete;

 private:
  WarningHandler before_;
};

// False if the user code was not called that often.
bool run(const NamedWalk& walk, const NamedDeed& deed, int when, bool held) {
  Torture one;
  one.root = std::make_unique<TortureNet>();
  one.root->add_hooks();
  one.spare = make<TorturePart>();
  one.spare_parameter = make_parameter(full({2}, 11.5));
  one.deed = deed.act;
  one.walk = [&walk](Torture& t) { walk.run(*t.root); };
  one.when = when;
  std::vector<Before> before;
  if (held) {
    for (const auto& tensors : {one.root->parameters(), one.root->buffers()}) {
      for (const Tensor& tensor : tensors)
        before.push_back({tensor, tensor.dtype(), shown(tensor)});
    }
  }
  bool failed = false;
  {
    const ConversionScope policy(walk.policy);
    const Warned warned;
    torture = &one;
    try {
      walk.run(*one.root);
    } catch (const LoadError& error) {
      failed = error.written().empty();
    } catch (const Error&) {
      failed = true;
    } catch (const Deliberate&) {
      failed = true;
    }
    torture = nullptr;
  }
  if (!one.done) {
    EXPECT_FALSE(failed);
    return false;
  }
  if (walk.atomic && failed && !deed.changes_values) {
    for (const Before& tensor : before) {
      EXPECT_EQ(tensor.tensor.dtype(), tensor.dtype);
      EXPECT_EQ(shown(tensor.tensor), tensor.text);
    }
  }
  if (!failed && deed.changes_scale && one.root && one.root->scale) {
    EXPECT_NE(one.root->scale->detach().to(float32).reshape({-1})[0].item<double>(), 4.5);
  }
  if (one.root) check_in_order(*one.root);
  return true;
}

TEST(TortureTest, UserCodeMayDoAnythingWhileAModuleIsGoneThrough) {
  const TempDir folder;
  const std::string file = folder.file("net.pth");
  save(plain(incoming()), file);
  const auto deeds = torture_deeds();
  // Each deed at every ninth step, and each at another one, unless everything is asked for.
  const int stride = std::getenv("TENON_TORTURE_ALL") != nullptr ? 1 : 9;
  constexpr int kMost = 400;  // steps of a walk: more would be a mistake in it
  std::map<std::string, int> steps;
  int number = 0;
  for (const NamedWalk& walk : walks(file)) {
    for (const NamedDeed& deed : deeds) {
      for (int when = 1 + ++number % stride; when < kMost; when += stride) {
        const bool held = (when / stride + number) % 2 == 0;
        SCOPED_TRACE(testing::Message() << walk.name << ": " << deed.name << " at step " << when
                                        << (held ? ", tensors held" : ""));
        bool done = false;
        ASSERT_NO_THROW(done = run(walk, deed, when, held));
        if (testing::Test::HasFailure()) return;
        if (!done) break;
        steps[walk.name] = std::max(steps[walk.name], when);
      }
    }
    // (A walk whose operators are none of the tensor's would test nothing.)
    const std::string name = walk.name;
    EXPECT_LT(steps[name], kMost - stride) << name << " has steps that no deed was done at";
    if (name != "requires_grad_") {
      // What shares its tensors copies a buffer.
      EXPECT_GT(steps[name], name == "replicate sharing tensors" ? 1 : 2) << name;
    }
  }
}

}  // namespace
}  // namespace tenon::nn
