// What user code does to what goes with a module: each deed of torture_company.h.
#include "torture_company.h"

namespace tenon::nn {
namespace {

using optim::ParamGroup;
using optim::Params;

void add_state_deeds(std::vector<CompanyDeed>& deeds) {
  const auto with = [&](const char* name, void (*act)(StateDict&)) {
    deeds.push_back({name, kState, [act](Torture& t) {
                       if (t.company->state) act(*t.company->state);
                     }});
  };
  with("adds entries", [](StateDict& state) {
    for (int i = 0; i < 30; ++i) state.set("more" + std::to_string(i), flat_chatty(1));
  });
  with("erases entries", [](StateDict& state) {
    for (const char* name : {"chatty", "again", "last"}) state.erase(name);
  });
  with("erases all entries",
       [](StateDict& state) { state.erase_if([](auto, const auto&) { return true; }); });
  with("replaces entries", [](StateDict& state) {
    for (const char* name : {"plain", "chatty", "decorated", "parameter", "last"})
      state.set(name, full({3}, 9.0));
  });
  with("replaces entries with what is no tensor", [](StateDict& state) {
    for (const char* name : {"plain", "decorated", "last"}) state.set(name, Value("text"));
  });
  with("assigns to the dict", [](StateDict& state) { state = StateDict(); });
  with("moves the dict", [](StateDict& state) { const StateDict moved = std::move(state); });
  with("sets metadata", [](StateDict& state) { state.set_metadata(Value::dict({})); });
  const auto each = [&](const char* name, void (*act)(const Tensor&)) {
    deeds.push_back({name, kState, [act](Torture& t) {
                       if (!t.company->state) return;
                       const StateDict copy = *t.company->state;
                       for (const auto& [key, value] : copy) {
                         if (value.is_tensor()) act(value.as_tensor());
                       }
                     }});
  };
  each("sets attributes", [](const Tensor& tensor) {
    for (int i = 0; i < 30; ++i) tensor.set_attribute("more" + std::to_string(i), i);
    for (const char* name : {"first", "second", "third", "note"}) tensor.set_attribute(name, 1);
  });
  each("gives tensors other data", [](const Tensor& tensor) {
    if (!tensor.as<ChattyTensor>()) tensor.set_data(full({20}, 1.0));
  });
  each("swaps each tensor", [](const Tensor& tensor) {
    try {
      swap_tensors(tensor, full({20}, 1.0));
    } catch (const SwapError&) {  // has views
    }
  });
  each("swaps each tensor with a user-defined one", [](const Tensor& tensor) {
    try {
      swap_tensors(tensor, flat_chatty(1));
    } catch (const SwapError&) {
    }
  });
  each("freezes tensors", [](const Tensor& tensor) { tensor.requires_grad_(false); });
  deeds.push_back({"destroys the dict", kState, [](Torture& t) { t.company->state.reset(); }});
  deeds.push_back({"replaces the tree", kState, [](Torture& t) {
                     if (t.company->tree) *t.company->tree = Value();
                   }});
  deeds.push_back({"destroys the tree", kState, [](Torture& t) { t.company->tree.reset(); }});
}

void add_optimizer_deeds(std::vector<CompanyDeed>& deeds) {
  const auto with = [&](const char* name, void (*act)(optim::Optimizer&)) {
    deeds.push_back({name, kOptimizer, [act](Torture& t) {
                       if (t.company->optimizer) act(*t.company->optimizer);
                     }});
  };
  // Its parameters, whatever becomes of the groups.
  const auto each = [&](const char* name, void (*act)(optim::Optimizer&, const Tensor&)) {
    deeds.push_back({name, kOptimizer, [act](Torture& t) {
                       if (!t.company->optimizer) return;
                       std::vector<Tensor> all;
                       for (const ParamGroup& group : t.company->optimizer->param_groups())
                         all.insert(all.end(), group.params().begin(), group.params().end());
                       for (const Tensor& parameter : all) act(*t.company->optimizer, parameter);
                     }});
  };
  with("adds groups", [](auto& one) {
    for (int i = 0; i < 20; ++i) {
      const Tensor parameter = make_parameter(flat_chatty(1));
      parameter.set_grad(full({3}, 1.0));
      one.add_param_group(ParamGroup(Params{parameter}, {}));
    }
  });
  with("removes groups", [](auto& one) { one.param_groups().clear(); });
  with("removes the last group", [](auto& one) {
    if (!one.param_groups().empty()) one.param_groups().pop_back();
  });
  with("gives groups other parameters", [](auto& one) {
    for (ParamGroup& group : one.param_groups())
      group = ParamGroup(Params{make_parameter(full({3}, 1.0))}, group);
  });
  with("gives groups more parameters", [](auto& one) {
    for (ParamGroup& group : one.param_groups()) {
      std::vector<Tensor> more = group.params();
      for (int i = 0; i < 30; ++i) more.push_back(make_parameter(full({3}, 1.0)));
      group = ParamGroup(Params(more), group);
    }
  });
  with("gives groups no parameters", [](auto& one) {
    for (ParamGroup& group : one.param_groups()) group = ParamGroup();
  });
  with("puts groups into another place", [](auto& one) {
    for (int i = 0; i < 20 && !one.param_groups().empty(); ++i) {
      const ParamGroup first = one.param_groups()[0];
      one.param_groups().push_back(first);
    }
  });
  with("adds options", [](auto& one) {
    for (ParamGroup& group : one.param_groups()) {
      for (int i = 0; i < 50; ++i) group["more" + std::to_string(i)] = flat_chatty(i);
    }
  });
  with("erases options", [](auto& one) {
    for (ParamGroup& group : one.param_groups()) {
      while (!group.empty()) {
        const std::string name = group.begin()->first;
        group.erase(name);
      }
    }
  });
  with("sets options", [](auto& one) {
    for (ParamGroup& group : one.param_groups()) {
      group["lr"] = 0.5;
      group["note"] = "text";
    }
  });
  each("removes states", [](auto& one, const Tensor& p) { one.state(p) = {}; });
  each("adds to states", [](auto& one, const Tensor& p) {
    for (int i = 0; i < 50; ++i) one.state(p)["more" + std::to_string(i)] = flat_chatty(i);
  });
  each("replaces states", [](auto& one, const Tensor& p) {
    for (const char* name : {"step", "exp_avg", "momentum_buffer", "square_avg", "sum"})
      one.state(p)[name] = full({7}, 1.0);
  });
  with("adds states", [](auto& one) {
    for (int i = 0; i < 50; ++i) one.state(make_parameter(full({3}, 1.0)))["x"] = 1;
  });
  each("swaps parameters", [](auto&, const Tensor& p) {
    try {
      swap_tensors(p, make_parameter(full({7}, 1.0)));
    } catch (const SwapError&) {
    }
  });
  each("gives parameters other data", [](auto&, const Tensor& p) {
    if (!p.as<ChattyTensor>()) p.set_data(full({1 << 12}, 1.0));
  });
  each("gives gradients other data", [](auto&, const Tensor& p) {
    if (p.grad().defined() && !p.grad().as<ChattyTensor>()) p.grad().set_data(full({1}, 1.0));
  });
  each("removes gradients", [](auto&, const Tensor& p) { p.set_grad({}); });
  each("replaces gradients",
       [](auto&, const Tensor& p) { p.set_grad(full(p.shape(), 1.0, {.dtype = p.dtype()})); });
  each("freezes parameters", [](auto&, const Tensor& p) { p.requires_grad_(false); });
  with("takes a step", [](auto& one) { one.step(); });
  with("sets gradients to zero", [](auto& one) { one.zero_grad({.set_to_none = false}); });
  with("loads its own state", [](auto& one) { one.load_state_dict(one.state_dict()); });
  with("shows it", [](auto& one) { (void)one.repr(); });
  with("adds hooks to it", [](auto& one) { add_hooks(one); });
  deeds.push_back({"destroys what is loaded", kOptimizer, [](Torture& t) {
                     t.company->saved.reset();
                     t.company->scheduled.reset();
                   }});
  deeds.push_back(
      {"destroys the optimizer", kOptimizer, [](Torture& t) { t.company->optimizer.reset(); }});
  deeds.push_back({"replaces the optimizer", kOptimizer, [](Torture& t) {
                     t.company->scheduler.reset();
                     t.company->optimizer.reset();
                     give_optimizer<optim::Adam>(*t.company);
                   }});
  deeds.push_back(
      {"destroys the scheduler", kOptimizer, [](Torture& t) { t.company->scheduler.reset(); }});
  deeds.push_back({"steps the scheduler", kOptimizer, [](Torture& t) {
                     if (t.company->scheduler) t.company->scheduler->step();
                   }});
  deeds.push_back({"loads the scheduler", kOptimizer, [](Torture& t) {
                     if (t.company->scheduler)
                       t.company->scheduler->load_state_dict(t.company->scheduler->state_dict());
                   }});
  deeds.push_back(
      {"destroys the scaler", kOptimizer, [](Torture& t) { t.company->scaler.reset(); }});
  deeds.push_back({"updates the scaler", kOptimizer, [](Torture& t) {
                     if (t.company->scaler) t.company->scaler->update(2.0);
                   }});
}

void add_graph_deeds(std::vector<CompanyDeed>& deeds) {
  const auto each = [&](const char* name, void (*act)(const Tensor&)) {
    deeds.push_back({name, kGraph, [act](Torture& t) {
                       if (!t.company->tensors) return;
                       const std::vector<Tensor> all = *t.company->tensors;
                       for (const Tensor& tensor : all) act(tensor);
                     }});
  };
  deeds.push_back({"clears the list", kGraph, [](Torture& t) {
                     if (t.company->tensors) t.company->tensors->clear();
                   }});
  deeds.push_back({"destroys the list", kGraph, [](Torture& t) { t.company->tensors.reset(); }});
  deeds.push_back({"adds to the list", kGraph, [](Torture& t) {
                     for (int i = 0; t.company->tensors && i < 50; ++i)
                       t.company->tensors->push_back(flat_chatty(1));
                   }});
  deeds.push_back({"replaces what is in the list", kGraph, [](Torture& t) {
                     if (!t.company->tensors) return;
                     for (Tensor& tensor : *t.company->tensors) tensor = full({7}, 1.0);
                   }});
  deeds.push_back({"removes hooks", kGraph, [](Torture& t) {
                     for (RemovableHandle& handle : t.company->handles) handle.remove();
                   }});
  each("adds hooks to tensors", [](const Tensor& tensor) {
    if (!tensor.requires_grad()) return;
    for (int i = 0; i < 30; ++i) {
      tensor.register_hook([](const Tensor&) {
        happen();
        return Tensor();
      });
    }
  });
  each("sets gradients", [](const Tensor& tensor) {
    if (tensor.is_leaf()) tensor.set_grad(flat_chatty(1));
  });
  each("takes gradients away", [](const Tensor& tensor) {
    if (tensor.is_leaf()) tensor.set_grad({});
  });
  each("freezes leaves", [](const Tensor& tensor) {
    if (tensor.is_leaf()) tensor.requires_grad_(false);
  });
  each("swaps tensors of the graph", [](const Tensor& tensor) {
    try {
      swap_tensors(tensor, ones({5}).requires_grad_());
    } catch (const SwapError&) {
    }
  });
  each("gives tensors of the graph other data", [](const Tensor& tensor) {
    if (!tensor.as<ChattyTensor>()) tensor.set_data(ones({1 << 12}));
  });
  each("writes to tensors of the graph", [](const Tensor& tensor) {
    const NoGradScope no_grad;
    tensor.fill_(3.0);
  });
  deeds.push_back({"destroys the loss", kGraph, [](Torture& t) { t.company->loss.reset(); }});
  deeds.push_back({"goes backwards", kGraph, [](Torture& t) {
                     if (t.company->loss) t.company->loss->backward({.retain_graph = true});
                   }});
}

void add_dict_deeds(std::vector<CompanyDeed>& deeds) {
  const auto with = [&](const char* name, void (*act)(Module&)) {
    deeds.push_back({name, kDicts, [act](Torture& t) {
                       if (t.company->modules) act(*t.company->modules);
                       if (t.company->parameters) act(*t.company->parameters);
                       if (t.company->row) act(*t.company->row);
                     }});
  };
  with("adds to the dicts", [](Module& dict) {
    for (int i = 0; i < 30; ++i) {
      dict.register_module("m" + std::to_string(i), make<ReLU>());
      dict.register_parameter("p" + std::to_string(i), make_parameter(ones({1})));
    }
  });
  with("removes from the dicts", [](Module& dict) {
    for (const char* name : {"a", "c", "0", "2"}) remove_if_there(dict, name);
  });
  with("removes all from the dicts", [](Module& dict) {
    for (const char* name : {"a", "b", "c", "d", "0", "1", "2", "3"}) remove_if_there(dict, name);
  });
  deeds.push_back({"clears the dicts", kDicts, [](Torture& t) {
                     if (t.company->modules) t.company->modules->clear();
                     if (t.company->parameters) t.company->parameters->clear();
                     while (t.company->row && !t.company->row->empty()) t.company->row->pop();
                   }});
  deeds.push_back({"puts others into the dicts", kDicts, [](Torture& t) {
                     for (const char* name : {"a", "b", "c"}) {
                       if (t.company->modules) t.company->modules->set(name, make<ReLU>());
                       if (t.company->parameters) t.company->parameters->set(name, ones({1}));
                     }
                   }});
  deeds.push_back({"destroys the dicts", kDicts, [](Torture& t) {
                     t.company->modules.reset();
                     t.company->parameters.reset();
                     t.company->row.reset();
                   }});
}

}  // namespace

std::vector<CompanyDeed> company_deeds() {
  std::vector<CompanyDeed> deeds;
  add_state_deeds(deeds);
  add_optimizer_deeds(deeds);
  add_graph_deeds(deeds);
  add_dict_deeds(deeds);
  deeds.push_back(
      {"destroys what was given", kEverything, [](Torture& t) { t.company->given.reset(); }});
  deeds.push_back({"replaces what was given", kEverything, [](Torture& t) {
                     if (t.company->given) *t.company->given = Given();
                   }});
  deeds.push_back({"destroys the checkpoint", kFile, [](Torture& t) { t.company->file.reset(); }});
  deeds.push_back({"replaces the checkpoint", kFile, [](Torture& t) {
                     if (t.company->file) {
                       Checkpoint other = std::move(*t.company->file);
                       *t.company->file = std::move(other);
                     }
                   }});
  for (const NamedDeed& deed : torture_deeds()) {
    const std::string name = deed.name;
    const bool always = name.starts_with("throws") || name == "calls the same function again";
    deeds.push_back({deed.name, always ? unsigned{kEverything} : unsigned{kModule}, deed.act});
  }
  deeds.push_back({"destroys everything", kEverything, [](Torture& t) {
                     Company& company = *t.company;
                     t.root.reset();
                     company.scheduler.reset();
                     company.optimizer.reset();
                     company.scaler.reset();
                     company.state.reset();
                     company.tree.reset();
                     company.saved.reset();
                     company.scheduled.reset();
                     company.tensors.reset();
                     company.loss.reset();
                     company.file.reset();
                     company.given.reset();
                     company.modules.reset();
                     company.parameters.reset();
                     company.row.reset();
                   }});
  return deeds;
}

}  // namespace tenon::nn
