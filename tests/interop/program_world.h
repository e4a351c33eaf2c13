// The variables of a module program, and how they are told: tests/interop/module_world.py tells
// them in the same way.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace programs {

// Which tensors, and which memory, were told already: each has the number of its first place.
struct Seen {
  std::vector<tenon::Tensor> tensors;
  std::vector<tenon::Storage> storages;
};

class World {
 public:
  using ModulePtr = std::shared_ptr<tenon::nn::Module>;

  std::map<std::string, ModulePtr> modules;
  std::map<std::string, tenon::StateDict> states;
  std::map<std::string, tenon::Tensor> tensors;
  std::map<std::string, tenon::RemovableHandle> hooks;
  std::map<std::string, std::unique_ptr<tenon::optim::SGD>> optimizers;
  std::vector<std::string> log;

  // The module that a path's last part is in, and that part.
  std::pair<tenon::nn::Module*, std::string> owner(const std::string& module,
                                                   const std::string& path) const;
  // The parameter or buffer at a path.
  tenon::Tensor tensor(const std::string& module, const std::string& path) const;
  // The module at a path; "." is the module itself.
  ModulePtr submodule(const std::string& module, const std::string& path) const;

  static std::string text_of(const tenon::Tensor& tensor, Seen& seen);
  std::vector<std::string> module_text(const std::string& name, Seen& seen) const;
  std::vector<std::string> state_text(const std::string& name, Seen& seen) const;
  std::vector<std::string> all_text() const;
};

std::string replaced(std::string text, const std::string& what, const std::string& by);

}  // namespace programs
