#include "program_steps.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "program_modules.h"

namespace programs {

using namespace tenon;

namespace {

using Step = std::function<void(World&, const Words&)>;

DType dtype_of_name(const std::string& name) {
  static const std::map<std::string, DType> dtypes{{"float16", float16}, {"bfloat16", bfloat16},
                                                   {"float32", float32}, {"float64", float64},
                                                   {"int32", int32},     {"int64", int64}};
  return dtypes.at(name);
}

Tensor made(const std::string& shape, const std::string& seed) {
  return pattern(shape_of(shape), std::stoll(seed)).to(float32);
}

void fill(const nn::Module& module, std::int64_t seed) {
  const NoGradScope no_grad;
  std::int64_t place = 0;
  for (const auto& tensors : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& [path, named] : tensors) {
      const std::int64_t at = place++;
      const auto* scaled = named.as<Scaled>();
      for (const Tensor& tensor : {scaled != nullptr ? scaled->elem : named, named.grad()}) {
        if (!tensor.defined() || is_lazy(tensor) || tensor.is_meta()) continue;
        const Tensor values = pattern(tensor.shape(), seed + at);
        tensor.copy_(path.ends_with("running_var") ? values.abs() + 0.5 : values);
      }
    }
  }
}

// Making.

void make(World& w, const Words& a) {
  const Words rest(a.begin() + 3, a.end());
  const std::string& kind = a[1];
  const std::shared_ptr<nn::Module> module =
      with_device(Device(a[2]), [&]() -> std::shared_ptr<nn::Module> {
        if (auto leaf = make_leaf(kind, rest)) return leaf;
        if (kind == "moduledict") {
          auto dict = nn::make<nn::ModuleDict<>>();
          for (std::size_t i = 0; i < rest.size(); ++i)
            dict->set(std::string(1, "abc"[i]), w.modules.at(rest[i]));
          return dict;
        }
        std::vector<std::shared_ptr<nn::Module>> parts;
        for (const std::string& name : rest) parts.push_back(w.modules.at(name));
        if (kind == "sequential") return nn::make<nn::Sequential>(parts);
        return nn::make<nn::ModuleList<>>(parts);
      });
  w.modules[a[0]] = module;
  fill(*module, 1);
}

void drop(World& w, const Words& a) {
  w.modules.erase(a[0]);
  w.states.erase(a[0]);
  w.tensors.erase(a[0]);
  w.optimizers.erase(a[0]);
}

// Names.

void parameter(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  owner->register_parameter(name, a[2] == "None" ? Tensor() : nn::make_parameter(made(a[2], a[3])));
}

void buffer(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  owner->register_buffer(name, a[2] == "None" ? Tensor() : made(a[2], a[3]),
                         {.persistent = a[4] == "1"});
}

void tie(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  owner->register_parameter(name, w.tensor(a[2], a[3]));
}

void untie(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  const Tensor old = w.tensor(a[0], a[1]);
  owner->register_parameter(name, nn::make_parameter(old.detach().clone(), old.requires_grad()));
}

void wrap(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  const Tensor old = w.tensor(a[0], a[1]);
  owner->register_parameter(
      name,
      nn::make_parameter(make_tensor<Scaled>(old.detach(), std::stod(a[2])), old.requires_grad()));
}

void register_module(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  owner->register_module(name, a[2] == "None" ? nullptr : w.modules.at(a[2]));
}

void remove(World& w, const Words& a) {
  const auto [owner, name] = w.owner(a[0], a[1]);
  owner->remove(name);
}

void get(World& w, const Words& a) {
  const nn::Module& module = *w.modules.at(a[0]);
  if (a[1] == "submodule") {
    module.get_submodule(a[2]);
  } else if (a[1] == "parameter") {
    module.get_parameter(a[2]);
  } else {
    module.get_buffer(a[2]);
  }
}

// f(container), as whichever of the two it is.
template <class F>
void with_sequence(nn::Module& module, F f) {
  if (auto* sequential = module.as<nn::Sequential>()) return f(*sequential);
  f(*module.as<nn::ModuleList<>>());
}

void pop(World& w, const Words& a) {
  nn::Module& module = *w.modules.at(a[0]);
  if (auto* dict = module.as<nn::ModuleDict<>>()) {
    dict->pop(a[1]);
  } else if (auto* parameters = module.as<nn::ParameterDict>()) {
    parameters->pop(a[1]);
  } else if (auto* list = module.as<nn::ParameterList>()) {
    list->pop(std::stoll(a[1]));
  } else {
    with_sequence(module, [&](auto& sequence) { sequence.pop(std::stoll(a[1])); });
  }
}

// Changing all of it.

void to_floating(World& w, const Words& a) {
  nn::Module& module = *w.modules.at(a[0]);
  if (a[1] == "float16") module.half();
  if (a[1] == "bfloat16") module.bfloat16();
  if (a[1] == "float32") module.float_();
  if (a[1] == "float64") module.double_();
}

void to_empty(World& w, const Words& a) {
  nn::Module& module = *w.modules.at(a[0]);
  module.to_empty(Device(a[1]), {.recurse = a[2] == "1"});
  fill(module, 2);
}

void requires_grad(World& w, const Words& a) {
  if (a[1] == ".") {
    w.modules.at(a[0])->requires_grad_(a[2] == "1");
  } else {
    w.tensor(a[0], a[1]).requires_grad_(a[2] == "1");
  }
}

// State dicts.

void tell_state(World& w, const std::string& name) {
  Seen seen;
  for (std::string& line : w.state_text(name, seen)) w.log.push_back(std::move(line));
}

std::string key_of(const World& w, const std::string& name, const std::string& place) {
  const StateDict& state = w.states.at(name);
  return (state.begin() + std::stoll(place) % static_cast<std::int64_t>(state.size()))->first;
}

void clone_state(World& w, const Words& a) {
  StateDict state = w.states.at(a[1]);
  for (auto& [name, tensor] : state.tensors()) {
    if (!is_lazy(tensor)) tensor = tensor.detach().clone();
  }
  w.states[a[0]] = std::move(state);
}

void rename_key(World& w, const Words& a) {
  StateDict& state = w.states.at(a[0]);
  const std::string key = key_of(w, a[0], a[1]);
  const Value value = state.at(key);
  state.erase(key);
  state.set(a[2], value);
}

// What a function makes of the tensor at a place.
template <class F>
void change_key(World& w, const Words& a, F f) {
  const std::string key = key_of(w, a[0], a[1]);
  StateDict& state = w.states.at(a[0]);
  state.set(key, Value(f(state.tensor(key).detach())));
}

void load_state_dict(World& w, const Words& a) {
  const nn::IncompatibleKeys keys = w.modules.at(a[0])->load_state_dict(
      w.states.at(a[1]), {.strict = a[2] == "1", .assign = a[3] == "1"});
  w.log.push_back("  " + keys.repr());
}

void through_file(World& w, const Words& a) {
  const std::vector<std::byte> bytes = save_to_memory(w.states.at(a[1]));
  w.states[a[0]] = Checkpoint::open(bytes).load();
  tell_state(w, a[0]);
}

// Tensors.

void set_grad(World& w, const Words& a) {
  const Tensor tensor = w.tensor(a[0], a[1]);
  tensor.set_grad(pattern(tensor.shape(), std::stoll(a[2])).to(tensor.dtype()));
}

void forward(World& w, const Words& a) {
  const Shape shape = shape_of(a[2]);
  nn::Module& module = *w.modules.at(a[1]);
  Tensor input = pattern(shape, std::stoll(a[3]));
  if (a[4] == "int64") {
    input = arange(input.numel()).remainder(2).reshape(shape);
  } else {
    input = input.to(dtype_of_name(a[4]));
  }
  bool was_lazy = false;
  for (const auto& tensors : {module.parameters(), module.buffers()}) {
    for (const Tensor& tensor : tensors) was_lazy = was_lazy || is_lazy(tensor);
  }
  const Tensor result = module.invoke(input.to(Device(a[5])));
  if (was_lazy) {  // what is drawn for them is nobody's
    fill(module, 3);
    std::string sizes;
    for (const std::int64_t size : result.shape())
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    w.log.push_back("  [" + sizes + "]");
    return;
  }
  w.tensors[a[0]] = result;
  Seen seen;
  w.log.push_back("  " + a[0] + ": " + World::text_of(result, seen));
}

// Hooks.

std::string sizes_of(const Tensor& tensor) {
  std::string sizes;
  for (const std::int64_t size : tensor.shape())
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return "[" + sizes + "]";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return "[" + text + "]";
}

void hook(World& w, const Words& a) {
  const std::shared_ptr<nn::Module> module = w.submodule(a[1], a[2]);
  const std::string name = a[0], kind = a[3];
  const auto say = [&w, name](const std::string& text) { w.log.push_back("  " + name + text); };
  RemovableHandle& handle = w.hooks[name];
  if (kind == "before") {
    handle = module->as<nn::Layer>()->register_forward_pre_hook(
        [say](nn::Module& called, std::tuple<Tensor>& args) {
          say(" before " + called.type_name() + " " + sizes_of(std::get<0>(args)));
        });
  } else if (kind == "after") {
    handle = module->as<nn::Layer>()->register_forward_hook(
        [say](nn::Module& called, const std::tuple<Tensor>&, Tensor& result) {
          say(" after " + called.type_name() + " " + sizes_of(result));
        });
  } else if (kind == "twice") {
    handle = module->as<nn::Layer>()->register_forward_hook(
        [](nn::Module&, const std::tuple<Tensor>&, Tensor& result) { result = result * 2; });
  } else if (kind == "saves") {
    handle = module->register_state_dict_pre_hook(
        [say](nn::Module&, const std::string& prefix, bool keep_vars) {
          say(" saves '" + prefix + "' " + (keep_vars ? "1" : "0"));
        });
  } else if (kind == "saved") {
    handle = module->register_state_dict_post_hook(
        [say](nn::Module&, StateDict& state, const std::string& prefix, const Value& metadata) {
          say(" saved '" + prefix + "' " + std::to_string(state.size()) + " version " +
              metadata.find("version")->repr());
          state.set(prefix + "extra", Value(ones({})));
        });
  } else if (kind == "loads") {
    handle =
        module->register_load_state_dict_pre_hook([say](nn::Module&, nn::LoadContext& context) {
          const auto version = context.version();
          say(" loads '" + context.prefix() + "' version " +
              (version ? std::to_string(*version) : "None"));
          if (const Value* old = context.find(context.prefix() + "old")) {
            const Value value = *old;
            context.erase(context.prefix() + "old");
            context.set(context.prefix() + "weight", value);
          }
        });
  } else {
    handle = module->register_load_state_dict_post_hook(
        [say, kind](nn::Module&, nn::IncompatibleKeys& keys) {
          say(" loaded " + list_of(keys.missing_keys) + " " + list_of(keys.unexpected_keys));
          if (kind == "forgive") keys.missing_keys.clear();
        });
  }
}

const std::map<std::string, Step>& steps() {
  static const std::map<std::string, Step> all{
      {"make", make},
      {"fill", [](World& w, const Words& a) { fill(*w.modules.at(a[0]), std::stoll(a[1])); }},
      {"drop", drop},
      {"tie", tie},
      {"untie", untie},
      {"parameter", parameter},
      {"buffer", buffer},
      {"register_module", register_module},
      {"set_submodule",
       [](World& w, const Words& a) {
         w.modules.at(a[0])->set_submodule(a[1], w.modules.at(a[2]), a[3] == "1");
       }},
      {"delete", remove},
      {"get", get},
      {"append",
       [](World& w, const Words& a) {
         with_sequence(*w.modules.at(a[0]), [&](auto& list) { list.append(w.modules.at(a[1])); });
       }},
      {"insert",
       [](World& w, const Words& a) {
         with_sequence(*w.modules.at(a[0]),
                       [&](auto& list) { list.insert(std::stoll(a[1]), w.modules.at(a[2])); });
       }},
      {"pop", pop},
      {"submodule",
       [](World& w, const Words& a) {
         const auto found = w.submodule(a[1], a[2]);
         w.modules[a[0]] = found;
       }},
      {"to", [](World& w, const Words& a) { w.modules.at(a[0])->to(dtype_of_name(a[1])); }},
      {"float", to_floating},
      {"type", [](World& w, const Words& a) { w.modules.at(a[0])->type(dtype_of_name(a[1])); }},
      {"move", [](World& w, const Words& a) { w.modules.at(a[0])->to(Device(a[1])); }},
      {"to_empty", to_empty},
      {"requires_grad", requires_grad},
      {"zero_grad",
       [](World& w, const Words& a) {
         w.modules.at(a[0])->zero_grad({.set_to_none = a[1] == "1"});
       }},
      {"train", [](World& w, const Words& a) { w.modules.at(a[0])->train(a[1] == "1"); }},
      {"swap_on_conversion",
       [](World&, const Words& a) { set_swap_module_params_on_conversion(a[0] == "1"); }},
      {"overwrite_on_conversion",
       [](World&, const Words& a) { set_overwrite_module_params_on_conversion(a[0] == "1"); }},
      {"clone",
       [](World& w, const Words& a) {
         const auto copy = nn::clone(*w.modules.at(a[1]));
         w.modules[a[0]] = copy;
       }},
      {"wrap", wrap},
      {"state_dict",
       [](World& w, const Words& a) {
         w.states[a[0]] = w.modules.at(a[1])->state_dict(
             {.prefix = a[2] == "-" ? "" : a[2], .keep_vars = a[3] == "1"});
         tell_state(w, a[0]);
       }},
      {"copy_state",
       [](World& w, const Words& a) {
         const StateDict copy = w.states.at(a[1]);
         w.states[a[0]] = copy;
       }},
      {"clone_state", clone_state},
      {"rename_key", rename_key},
      {"remove_key",
       [](World& w, const Words& a) { w.states.at(a[0]).erase(key_of(w, a[0], a[1])); }},
      {"set_key",
       [](World& w, const Words& a) {
         w.states.at(a[0]).set(a[1],
                               Value(made(a[2], a[3]).to(dtype_of_name(a[4])).to(Device(a[5]))));
       }},
      {"set_number",
       [](World& w, const Words& a) { w.states.at(a[0]).set(a[1], Value(std::stoll(a[2]))); }},
      {"reshape_key",
       [](World& w, const Words& a) {
         change_key(w, a, [](const Tensor& t) { return t.unsqueeze(0); });
       }},
      {"cast_key",
       [](World& w, const Words& a) {
         change_key(w, a, [&](const Tensor& t) { return t.to(dtype_of_name(a[2])); });
       }},
      {"meta_key",
       [](World& w, const Words& a) {
         change_key(w, a, [](const Tensor& t) { return t.to(Device::meta()); });
       }},
      {"wrap_key",
       [](World& w, const Words& a) {
         change_key(w, a, [&](const Tensor& t) {
           return make_tensor<Scaled>(t.detach(), std::stod(a[2]));
         });
       }},
      {"load_state_dict", load_state_dict},
      {"file", through_file},
      {"hold", [](World& w, const Words& a) { w.tensors[a[0]] = w.tensor(a[1], a[2]); }},
      {"view", [](World& w, const Words& a) { w.tensors[a[0]] = w.tensor(a[1], a[2]).view(-1); }},
      {"detach", [](World& w, const Words& a) { w.tensors[a[0]] = w.tensor(a[1], a[2]).detach(); }},
      {"swap",
       [](World& w, const Words& a) { swap_tensors(w.tensor(a[0], a[1]), w.tensor(a[2], a[3])); }},
      {"swap_new",
       [](World& w, const Words& a) {
         swap_tensors(w.tensor(a[0], a[1]), nn::make_parameter(made(a[2], a[3])));
       }},
      {"write",
       [](World& w, const Words& a) {
         const NoGradScope no_grad;
         w.tensor(a[0], a[1]).mul_(std::stod(a[2]));
       }},
      {"set_grad", set_grad},
      {"set_data",
       [](World& w, const Words& a) {
         w.tensor(a[0], a[1]).set_data(made(a[2], a[3]).to(dtype_of_name(a[4])));
       }},
      {"forward", forward},
      {"backward", [](World& w, const Words& a) { w.tensors.at(a[0]).sum().backward(); }},
      {"retained_backward",
       [](World& w, const Words& a) { w.tensors.at(a[0]).sum().backward({.retain_graph = true}); }},
      {"hook", hook},
      {"unhook", [](World& w, const Words& a) { w.hooks.at(a[0]).remove(); }},
      {"sgd",
       [](World& w, const Words& a) {
         w.optimizers[a[0]] = std::make_unique<optim::SGD>(
             w.modules.at(a[1])->parameters(), optim::SGDOptions{.lr = std::stod(a[2])});
       }},
      {"step", [](World& w, const Words& a) { w.optimizers.at(a[0])->step(); }},
      {"zero",
       [](World& w, const Words& a) {
         w.optimizers.at(a[0])->zero_grad({.set_to_none = a[1] == "1"});
       }},
  };
  return all;
}

}  // namespace

void do_step(World& world, const std::string& name, const Words& arguments) {
  steps().at(name)(world, arguments);
}

}  // namespace programs
