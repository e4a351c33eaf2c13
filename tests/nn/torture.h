// User code that does its worst while the library goes through a module: the network whose every
// overridable function, and whose user-defined tensors, run it, and the deeds it does.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon::nn {

class TortureNet;
struct Company;  // torture_company.h

// One run: at call number `when` of any user code the deed is done, once.
struct Torture {
  std::unique_ptr<TortureNet> root;
  std::shared_ptr<Company> company;
  std::shared_ptr<Module> spare;
  Tensor spare_parameter;
  std::function<void(Torture&)> deed;
  std::function<void(Torture&)> walk;
  int when = 0;
  int calls = 0;
  bool done = false;
};
inline Torture* torture = nullptr;

// What all user code calls.
inline void happen() {
  if (torture == nullptr || ++torture->calls != torture->when) return;
  torture->done = true;
  torture->deed(*torture);
}

struct Deliberate : std::runtime_error {
  Deliberate() : std::runtime_error("deliberate") {}
};

// A user-defined tensor that calls it before each of its operators.
class ChattyTensor : public Wrapper<ChattyTensor> {
 public:
  explicit ChattyTensor(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  static Tensor unwrap(const Tensor& tensor) {
    const auto* chatty = tensor.as<ChattyTensor>();
    return chatty != nullptr ? chatty->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    happen();
    if (call.is<op::copy_>()) {
      call.call_with(unwrap);
      return Value(call.tensors()[0]);
    }
    const Value result = call.call_with(unwrap);
    if (call.is_any<op::detach, op::to_copy, op::clone>()) return wrapped(result.as_tensor());
    return result;
  }
  virtual Tensor wrapped(const Tensor& payload) const { return make_tensor<ChattyTensor>(payload); }
  std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                    bool assign) const override {
    happen();
    return wrapped(assign ? unwrap(src).detach()
                          : unwrap(src).to({.dtype = dest.dtype(), .copy = true}));
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
};

// A parameter whose memory calls it when it goes, where nothing may be thrown.
inline Tensor borrowed_parameter() {
  return make_parameter(from_blob(new float[2]{12.5, 12.5}, {2}, {.deleter = [](void* memory) {
                                    delete[] static_cast<float*>(memory);
                                    try {
                                      happen();
                                    } catch (...) {
                                    }
                                  }}));
}

class TorturePart : public Layer {
 public:
  Parameter weight{this, "weight", full({2}, 1.5)};
  Parameter chatty{this, "chatty", make_parameter(make_tensor<ChattyTensor>(full({3}, 2.5)))};
  Buffer seen{this, "seen", zeros({2})};

  TorturePart() { register_parameter("late", make_parameter(full({2}, 3.5))); }

  std::string type_name() const override {
    happen();
    return "TorturePart";
  }
  std::string extra_repr() const override {
    happen();
    return "extra";
  }
  std::string repr() const override {
    happen();
    return Module::repr();
  }
  Module& train(bool mode) override {
    happen();
    Module::train(mode);
    happen();
    return *this;
  }
  std::int64_t version() const override {
    happen();
    return 2;
  }
  std::optional<Value> get_extra_state() const override {
    happen();
    return Value(7);
  }
  void set_extra_state(const Value& /*state*/) override { happen(); }
  bool takes_extra_state() const override {
    happen();
    return true;
  }

 protected:
  Tensor forward(const Tensor& x) override {
    happen();
    return x + 1.0;
  }
  void save_to_state_dict(StateDict& destination, const std::string& prefix,
                          bool keep_vars) const override {
    happen();
    Layer::save_to_state_dict(destination, prefix, keep_vars);
    happen();
  }
  void load_from_state_dict(LoadContext& context) override {
    happen();
    context.load_own();
    happen();
  }
};

class TortureNet : public Layer {
 public:
  Child<TorturePart> first{this, "first"};
  Child<TorturePart> second{this, "second"};
  Parameter scale{this, "scale", full({2}, 4.5)};
  Buffer count{this, "count", zeros({})};
  Parameter tied{this, "tied"};

  TortureNet() {
    register_parameter("chatty", make_parameter(make_tensor<ChattyTensor>(full({2}, 5.5))));
    register_parameter("extra", make_parameter(full({2}, 6.5)));
    register_buffer("chatty_buffer", make_tensor<ChattyTensor>(full({2}, 7.5)));
    register_buffer("extra_buffer", full({2}, 8.5));
    register_parameter("borrowed", borrowed_parameter());
    register_module("third", make<TorturePart>());
    register_module("row", make<Sequential>({make<TorturePart>(), make<TorturePart>()}));
    tied = first->weight;
  }
  std::int64_t version() const override {
    happen();
    return 3;
  }
  // Hooks of every kind, on the root and on a part.
  void add_hooks() {
    for (Module* module : {static_cast<Module*>(this), static_cast<Module*>(second.get())}) {
      for (int i = 0; i < 2; ++i) {
        module->register_state_dict_pre_hook([](Module&, const std::string&, bool) { happen(); });
        module->register_state_dict_post_hook(
            [](Module&, StateDict&, const std::string&, const Value&) { happen(); });
        module->register_load_state_dict_pre_hook([](Module&, LoadContext&) { happen(); });
        module->register_load_state_dict_post_hook([](Module&, IncompatibleKeys&) { happen(); });
        module->register_load_state_dict_committed_hook(
            [](Module&, IncompatibleKeys&) { happen(); });
      }
    }
    for (Layer* layer : {static_cast<Layer*>(this), static_cast<Layer*>(second.get())}) {
      for (int i = 0; i < 2; ++i) {
        layer->register_forward_pre_hook([](Module&, std::tuple<Tensor>&) { happen(); });
        layer->register_forward_hook([](Module&, const std::tuple<Tensor>&, Tensor&) { happen(); },
                                     {.always_call = i == 1});
      }
    }
  }

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = first(x);
    if (torture != nullptr && torture->root == nullptr) return y;  // it is this one
    y = second(y);
    if (torture != nullptr && torture->root == nullptr) return y;
    const auto found = std::find_if(child_slots().begin(), child_slots().end(),
                                    [](const ChildSlot* slot) { return slot->name() == "row"; });
    return found == child_slots().end() ? y : (*found)->module()->invoke(y);
  }
};

struct NamedDeed {
  const char* name;
  std::function<void(Torture&)> act;
  bool changes_values = false;
  // Gives `scale` another value: what it had is nowhere after a walk that ends well.
  bool changes_scale = false;
};

// What is to be removed may have gone with something else.
inline void remove_if_there(Module& module, const std::string& name) {
  for (const TensorSlot* slot : module.parameter_slots()) {
    if (slot->registered() && slot->name() == name) return module.remove(name);
  }
  for (const TensorSlot* slot : module.buffer_slots()) {
    if (slot->registered() && slot->name() == name) return module.remove(name);
  }
  for (const ChildSlot* slot : module.child_slots()) {
    if (slot->registered() && slot->name() == name) return module.remove(name);
  }
}

inline std::vector<NamedDeed> torture_deeds() {
  const auto thirty = [](Module& module, const char* what) {
    for (int i = 0; i < 30; ++i) {
      const std::string name = what + std::to_string(i);
      if (what[0] == 'p') module.register_parameter(name, make_parameter(ones({1})));
      if (what[0] == 'b') module.register_buffer(name, ones({1}));
      if (what[0] == 'm') module.register_module(name, make<TorturePart>());
    }
  };
  std::vector<NamedDeed> deeds;
  for (const char* what : {"p", "b", "m"}) {
    deeds.push_back({"adds to the root", [=](Torture& t) { thirty(*t.root, what); }});
    deeds.push_back({"adds to a part", [=](Torture& t) {
                       if (t.root->second) thirty(*t.root->second, what);
                     }});
  }
  for (const char* name :
       {"scale", "extra", "chatty", "count", "extra_buffer", "first", "second", "third", "row"}) {
    deeds.push_back({name, [=](Torture& t) { remove_if_there(*t.root, name); }});
  }
  for (const char* name : {"weight", "chatty", "late", "seen"}) {
    deeds.push_back({name, [=](Torture& t) {
                       for (const auto& slot : {&t.root->first, &t.root->second}) {
                         if (*slot) remove_if_there(**slot, name);
                       }
                     }});
  }
  deeds.push_back({"removes everything", [](Torture& t) {
                     for (const char* name :
                          {"first", "second", "third", "row", "scale", "tied", "chatty", "extra",
                           "count", "chatty_buffer", "extra_buffer"})
                       remove_if_there(*t.root, name);
                   }});
  deeds.push_back({"removes and adds again", [](Torture& t) {
                     remove_if_there(*t.root, "extra");
                     t.root->register_parameter("extra", make_parameter(full({2}, 1.0)));
                     remove_if_there(*t.root, "third");
                     t.root->register_module("third", make<TorturePart>());
                   }});
  deeds.push_back({"replaces tensors", [](Torture& t) {
                     t.root->scale = make_parameter(full({2}, 9.5));
                     t.root->count = full({}, 1.0);
                     for (const auto& slot : {&t.root->first, &t.root->second}) {
                       if (*slot) (*slot)->weight = make_parameter(full({2}, 9.5));
                     }
                   }});
  deeds.push_back({"replaces tensors with ones of another shape", [](Torture& t) {
                     t.root->scale = make_parameter(full({7}, 9.5));
                     if (t.root->first) t.root->first->weight = make_parameter(full({7}, 9.5));
                   }});
  deeds.push_back({"sets tensors to null", [](Torture& t) {
                     t.root->scale = Tensor();
                     if (t.root->first) t.root->first->weight = Tensor();
                   }});
  deeds.push_back({"replaces children", [](Torture& t) {
                     t.root->first = make<TorturePart>();
                     t.root->second = make<TorturePart>();
                     t.root->register_module("third", make<TorturePart>());
                   }});
  deeds.push_back({"sets children to null", [](Torture& t) {
                     t.root->first = nullptr;
                     t.root->second = nullptr;
                   }});
  deeds.push_back({"swaps tensors",
                   [](Torture& t) {
                     if (t.root->scale) swap_tensors(t.root->scale, t.spare_parameter);
                   },
                   true, true});
  deeds.push_back({"writes to a tensor",
                   [](Torture& t) {
                     if (t.root->scale) t.root->scale->detach().fill_(7.5);
                   },
                   true, true});
  deeds.push_back({"loads another value",
                   [](Torture& t) {
                     StateDict state;
                     state.set("scale", full({2}, 7.5));
                     t.root->load_state_dict(state, {.strict = false});
                   },
                   true, true});
  deeds.push_back({"sets and freezes",
                   [](Torture& t) {
                     if (!t.root->scale) return;
                     t.root->scale->set_grad(
                         ones(t.root->scale->shape(), {.dtype = t.root->scale->dtype()}));
                     t.root->scale->requires_grad_(false);
                   },
                   true});
  deeds.push_back({"gives a tensor other data",
                   [](Torture& t) {
                     if (t.root->scale) t.root->scale->set_data(full({5}, 1.0));
                   },
                   true});
  deeds.push_back({"takes views", [](Torture& t) {
                     if (t.root->scale) t.spare_parameter = t.root->scale->view({2, 1});
                   }});
  deeds.push_back({"moves a module", [](Torture& t) {
                     const std::shared_ptr<Module> moved = t.root->first.share();
                     remove_if_there(*t.root, "first");
                     if (moved && t.root->second) t.root->second->register_module("moved", moved);
                   }});
  deeds.push_back({"throws", [](Torture&) { throw Deliberate(); }});
  deeds.push_back({"throws an error of the library", [](Torture&) { throw ValueError("thrown"); }});
  deeds.push_back({"calls the same function again", [](Torture& t) { t.walk(t); }, true});
  deeds.push_back({"converts", [](Torture& t) { t.root->to(float64); }, true});
  deeds.push_back({"converts by swapping",
                   [](Torture& t) {
                     const ConversionScope swapping(ConversionPolicy::swap);
                     t.root->to(bfloat16);
                   },
                   true});
  deeds.push_back(
      {"loads", [](Torture& t) { t.root->load_state_dict(t.root->state_dict()); }, true});
  deeds.push_back(
      {"assigns",
       [](Torture& t) { t.root->load_state_dict(t.root->state_dict(), {.assign = true}); }, true});
  deeds.push_back({"clones and destroys the clone", [](Torture& t) { clone(*t.root); }});
  deeds.push_back({"adds hooks", [](Torture& t) { t.root->add_hooks(); }});
  deeds.push_back({"destroys another module", [](Torture& t) { t.spare.reset(); }});
  // (A committed hook may: its load is done then.)
  deeds.push_back({"destroys the root", [](Torture& t) { t.root.reset(); }, true});
  return deeds;
}

}  // namespace tenon::nn
