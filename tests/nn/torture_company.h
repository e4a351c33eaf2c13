// What goes with the network of torture.h: state dicts, files, optimizers with their schedulers,
// and the tensors of a graph, all of which run user code that may do its worst to them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "torture.h"

namespace tenon::nn {

// It says what it is made of, and calls user code when it is asked anything.
class FlatChatty final : public Wrapper<FlatChatty, ChattyTensor> {
 public:
  explicit FlatChatty(Tensor payload) : Wrapper(std::move(payload)) {}
  Tensor wrapped(const Tensor& payload) const override { return make_tensor<FlatChatty>(payload); }
  std::optional<Flattened> flatten() const override {
    happen();
    Flattened parts{{{"elem", elem}}, Value::list({1, "context"})};
    happen();
    return parts;
  }
  std::string type_name() const override {
    happen();
    return "FlatChatty";
  }
  std::optional<std::string> repr() const override {
    happen();
    return "FlatChatty(...)";
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    happen();
    visit(elem);
    happen();
  }
};
inline Tensor flat_chatty(double value) { return make_tensor<FlatChatty>(full({3}, value)); }

// Memory that calls user code when it goes.
inline Tensor borrowed(double value) {
  return from_blob(new float[3]{static_cast<float>(value), 2, 3}, {3},
                   {.deleter = [](void* memory) {
                     delete[] static_cast<float*>(memory);
                     try {
                       happen();
                     } catch (...) {
                     }
                   }});
}

// What functions are called with, which may go while they run.
struct Given {
  std::string path;
  SaveOptions save = {.durable = false, .watch = {.progress = [](auto, auto) { happen(); }}};
  LoadOptions load = {};
  LoadIntoOptions load_into = {};
  ConvertOptions convert = {};
  std::function<Tensor()> closure;
};

struct Company {
  std::unique_ptr<Given> given;
  std::unique_ptr<StateDict> state;
  std::unique_ptr<Value> tree;
  std::unique_ptr<Checkpoint> file;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<Value> saved;  // of the optimizer
  std::shared_ptr<optim::lr_scheduler::LRScheduler> scheduler;
  std::unique_ptr<Value> scheduled;  // of the scheduler
  std::unique_ptr<amp::GradScaler> scaler;
  std::unique_ptr<std::vector<Tensor>> tensors;
  std::unique_ptr<Tensor> loss;
  std::vector<RemovableHandle> handles;
  std::unique_ptr<ModuleDict<>> modules;
  std::unique_ptr<ParameterDict> parameters;
  std::unique_ptr<Sequential> row;
};

// What a walk goes through, and a deed is done to.
enum About : unsigned {
  kState = 1,
  kOptimizer = 2,
  kGraph = 4,
  kFile = 8,
  kModule = 16,
  kDicts = 32,
  kEverything = 63
};

inline StateDict chatty_state() {
  StateDict state;
  const Tensor plain = full({3}, 0.25), chatty = flat_chatty(1.5), decorated = full({2}, 2.5);
  for (const char* name : {"first", "second"}) decorated.set_attribute(name, flat_chatty(4.5));
  decorated.set_attribute("third", Value::list({flat_chatty(5.5), 7}));
  state.set("plain", plain);
  state.set("chatty", chatty);
  state.set("decorated", decorated);
  state.set("parameter", make_parameter(flat_chatty(3.5)));
  state.set("again", chatty);
  state.set("part", plain.narrow(0, 1, 2));
  state.set("borrowed", borrowed(6.5));
  const Tensor second = make_parameter(full({2}, 8.5));
  second.set_attribute("note", flat_chatty(9.5));
  state.set("noted", second);
  state.set("last", flat_chatty(7.5));
  state.set_metadata(Value::dict({{"", Value::dict({{"version", 1}})}}));
  return state;
}

// Of plain tensors alone, as files in several parts have them.
inline StateDict plain_state() {
  StateDict state;
  for (const char* name : {"plain", "chatty", "second"}) state.set(name, full({3}, 0.5));
  state.set("last", borrowed(6.5));
  return state;
}

inline Value chatty_tree() {
  return Value::dict({{"model", chatty_state().value()},
                      {"list", Value::list({flat_chatty(1), full({2}, 1.0), "text"})},
                      {"tuple", Value::tuple({borrowed(2), flat_chatty(3)})},
                      {"number", 7}});
}

// Its parameters, gradients and what it keeps are of all kinds.
inline std::vector<Tensor> chatty_parameters() {
  std::vector<Tensor> all{make_parameter(full({3}, 0.5)), make_parameter(flat_chatty(1.5)),
                          make_parameter(full({3}, 2.5)), make_parameter(flat_chatty(3.5)),
                          make_parameter(borrowed(4.5))};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].set_grad(i % 2 == 0 && i != 2 ? full({3}, 0.1) : flat_chatty(0.2));
  return all;
}

inline void add_hooks(optim::Optimizer& optimizer) {
  using optim::Optimizer;
  for (int i = 0; i < 2; ++i) {
    optimizer.register_step_pre_hook([](Optimizer&) { happen(); });
    optimizer.register_step_post_hook([](Optimizer&) { happen(); });
    optimizer.register_state_dict_pre_hook([](Optimizer&) { happen(); });
    optimizer.register_load_state_dict_post_hook([](Optimizer&) { happen(); });
    optimizer.register_state_dict_post_hook(
        [](Optimizer&, const Value& state) -> std::optional<Value> {
          happen();
          return state;
        });
    optimizer.register_load_state_dict_pre_hook(
        [](Optimizer&, const Value& state) -> std::optional<Value> {
          happen();
          return state;
        });
  }
}

// Two groups, after a step.
template <class O>
void give_optimizer(Company& company) {
  const std::vector<Tensor> all = chatty_parameters();
  company.optimizer = std::make_unique<O>(optim::Params{all[0], all[1]});
  optim::Optimizer& optimizer = *company.optimizer;
  optimizer.param_groups()[0]["momentum"] = 0.9;
  optimizer.add_param_group(
      optim::ParamGroup(optim::Params{all[2], all[3], all[4]}, optim::NamedValues()));
  optimizer.param_groups()[1]["note"] = flat_chatty(1);
  optimizer.step();
  optimizer.state(all[2])["mine"] = flat_chatty(1);
  company.saved = std::make_unique<Value>(optimizer.state_dict());
  add_hooks(optimizer);
}

// Leaves, what is calculated from them, and hooks on all of these.
inline void give_graph(Company& company) {
  const Tensor x = ones({3}).requires_grad_();
  const Tensor chatty = make_parameter(flat_chatty(1.5));
  const Tensor y = x * 2.0, z = y.exp() * x + chatty * 1.0;
  company.tensors = std::make_unique<std::vector<Tensor>>(std::vector<Tensor>{x, chatty, y, z});
  company.loss = std::make_unique<Tensor>(z.sum());
  for (const Tensor& tensor : *company.tensors) {
    for (int i = 0; i < 2; ++i) {
      company.handles.push_back(tensor.register_hook([](const Tensor&) {
        happen();
        return Tensor();
      }));
    }
  }
  for (const Tensor* leaf : {&x, &chatty}) {
    company.handles.push_back(
        leaf->register_post_accumulate_grad_hook([](const Tensor&) { happen(); }));
  }
}

struct CompanyDeed {
  const char* name;
  unsigned about;
  std::function<void(Torture&)> act;
};
std::vector<CompanyDeed> company_deeds();

struct CompanyWalk {
  const char* name;
  unsigned about;
  std::function<void(Torture&)> prepare;  // not yet tormented
  // One call: nothing here comes after user code.
  std::function<void(Torture&)> run;
  // How many calls of user code there must be.
  int least = 3;
  // The object at work, if that is one that a deed may destroy: the call is an error then.
  std::function<const void*(Torture&)> subject = {};
};
std::vector<CompanyWalk> state_walks(const std::string& folder);
std::vector<CompanyWalk> optimizer_walks();
std::vector<CompanyWalk> graph_walks();
std::vector<CompanyWalk> subclass_walks();
std::vector<CompanyWalk> option_walks();
std::vector<CompanyWalk> operator_walks();
std::vector<CompanyWalk> dict_walks();

}  // namespace tenon::nn
