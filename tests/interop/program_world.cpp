#include "program_world.h"

#include <cmath>
#include <cstdio>

#include "program_modules.h"

namespace programs {

using namespace tenon;

namespace {

std::string written(double value) {
  if (std::isnan(value)) return "nan";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value == 0 ? 0.0 : value);
  return text;
}

// The place of one in a list, at the end of which it is put if it is new.
template <class T>
std::size_t number_of(const T& one, std::vector<T>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is(one)) return i;
  }
  all.push_back(one);
  return all.size() - 1;
}

std::string values_of(const Tensor& tensor) {
  const Tensor flat = tensor.detach().flatten().contiguous();
  std::string text;
  const bool whole = !flat.is_floating_point();
  const Tensor wide = flat.to(whole ? int64 : float64);
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    text += i == 0 ? "" : " ";
    text += whole ? std::to_string(wide.data<std::int64_t>()[i]) : written(wide.data<double>()[i]);
  }
  return text;
}

std::string grad_text(const Tensor& tensor, Seen& seen) {
  const Tensor grad = tensor.grad();
  return grad.defined() && tensor.is_leaf() ? " grad " + World::text_of(grad, seen) : "";
}

}  // namespace

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::pair<nn::Module*, std::string> World::owner(const std::string& module,
                                                 const std::string& path) const {
  const std::size_t dot = path.rfind('.');
  nn::Module& root = *modules.at(module);
  if (dot == std::string::npos) return {&root, path};
  return {&root.get_submodule(path.substr(0, dot)), path.substr(dot + 1)};
}

Tensor World::tensor(const std::string& module, const std::string& path) const {
  const auto [place, name] = owner(module, path);
  for (const auto slots : {place->parameter_slots(), place->buffer_slots()}) {
    for (const nn::TensorSlot* slot : slots) {
      if (slot->name() == name && slot->registered()) return slot->get();
    }
  }
  throw IndexError("there is no tensor " + path);
}

World::ModulePtr World::submodule(const std::string& module, const std::string& path) const {
  if (path == ".") return modules.at(module);
  modules.at(module)->get_submodule(path);  // which says what is wrong with it
  const auto [place, name] = owner(module, path);
  for (const nn::ChildSlot* slot : place->child_slots()) {
    if (slot->name() == name && slot->registered()) return slot->module();
  }
  throw IndexError("there is no module " + path);
}

std::string World::text_of(const Tensor& tensor, Seen& seen) {
  if (!tensor.defined()) return "None";
  std::string identity = "#" + std::to_string(number_of(tensor, seen.tensors));
  std::string facts = repr(tensor.dtype()).substr(6) + " " + tensor.device().str();
  if (tensor.requires_grad()) facts += " requires_grad";
  if (!tensor.is_leaf()) facts += " calculated";
  if (tensor.is_parameter()) facts += " Parameter";
  if (is_lazy(tensor)) return identity + " uninitialized " + facts;
  std::string sizes;
  for (const std::int64_t size : tensor.shape())
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  facts = identity + " [" + sizes + "] " + facts;
  if (const auto* scaled = tensor.as<Scaled>()) {
    facts += " Scaled " + written(scaled->scale) + " of " + text_of(scaled->elem, seen);
  } else if (tensor.is_cpu() && tensor.numel() != 0) {
    facts += " @" + std::to_string(number_of(tensor.storage(), seen.storages)) + "+" +
             std::to_string(tensor.storage_offset()) + " (" + values_of(tensor) + ")";
  }
  return facts + grad_text(tensor, seen);
}

std::vector<std::string> World::module_text(const std::string& name, Seen& seen) const {
  const nn::Module& module = *modules.at(name);
  std::vector<std::string> lines{"  " + name + ": " + replaced(module.repr(), "\n", "|")};
  std::string training;
  for (const nn::Module* one : module.modules()) training += one->training() ? "1" : "0";
  lines.push_back("  " + name + " training: " + training);
  for (const auto& [path, tensor] : module.named_parameters({.remove_duplicate = false}))
    lines.push_back("  " + name + " parameter " + path + ": " + text_of(tensor, seen));
  for (const auto& [path, tensor] : module.named_buffers({.remove_duplicate = false}))
    lines.push_back("  " + name + " buffer " + path + ": " + text_of(tensor, seen));
  return lines;
}

std::vector<std::string> World::state_text(const std::string& name, Seen& seen) const {
  const StateDict& state = states.at(name);
  std::vector<std::string> lines;
  for (const auto& [key, value] : state) {
    lines.push_back("  " + name + " " + key + ": " +
                    (value.is_tensor() ? text_of(value.as_tensor(), seen) : value.repr()));
  }
  std::string versions;
  if (state.metadata().kind() == Value::Kind::dict) {
    for (const auto& [key, notes] : state.metadata().entries())
      versions += (versions.empty() ? "" : " ") + key.as_string() + ":" +
                  std::to_string(notes.find("version")->as_int());
  }
  lines.push_back("  " + name + " versions: " + versions);
  return lines;
}

std::vector<std::string> World::all_text() const {
  Seen seen;
  std::vector<std::string> lines;
  const auto add = [&](std::vector<std::string> more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  for (const auto& [name, module] : modules) add(module_text(name, seen));
  for (const auto& [name, state] : states) add(state_text(name, seen));
  for (const auto& [name, tensor] : tensors)
    lines.push_back("  " + name + ": " + text_of(tensor, seen));
  for (const auto& [name, optimizer] : optimizers) {
    std::size_t i = 0;
    for (const Tensor& tensor : optimizer->param_groups()[0].params())
      lines.push_back("  " + name + " " + std::to_string(i++) + ": " + text_of(tensor, seen));
  }
  return lines;
}

}  // namespace programs
