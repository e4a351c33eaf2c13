// Runs programs over modules, beside PyTorch (tests/interop/modules.py).
//
//   module_programs FILE
//
// FILE has programs with an empty line after each; a line is a step (tests/interop/module_world.py
// says what there is). What each step does, and what is there in the end, is printed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "program_modules.h"
#include "program_steps.h"
#include "program_world.h"

namespace {

using namespace tenon;
using programs::replaced;
using programs::Scaled;
using programs::Seen;
using programs::Words;
using programs::World;

const char* kind_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error) != nullptr) return "ShapeError";
  if (dynamic_cast<const DTypeError*>(&error) != nullptr) return "DTypeError";
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return "DeviceError";
  if (dynamic_cast<const IndexError*>(&error) != nullptr) return "IndexError";
  if (dynamic_cast<const ValueError*>(&error) != nullptr) return "ValueError";
  if (dynamic_cast<const TypeError*>(&error) != nullptr) return "TypeError";
  if (dynamic_cast<const NotImplementedError*>(&error) != nullptr) return "NotImplementedError";
  if (dynamic_cast<const AutogradError*>(&error) != nullptr) return "AutogradError";
  if (dynamic_cast<const SwapError*>(&error) != nullptr) return "SwapError";
  if (dynamic_cast<const LoadError*>(&error) != nullptr) return "LoadError";
  if (dynamic_cast<const InternalError*>(&error) != nullptr) return "InternalError";
  return "Error";
}

// The tensors of a module whose versions a step may raise.
std::vector<Tensor> countable(const World& w, const Words& words) {
  static const std::set<std::string> writing{"write", "load_state_dict", "to",
                                             "float", "set_data",        "train"};
  std::vector<Tensor> found;
  if (!writing.contains(words[0]) || get_swap_module_params_on_conversion()) return found;
  const nn::Module& module = *w.modules.at(words[1]);
  // A tied tensor is written once, or once for each name.
  if (words[0] == "load_state_dict" &&
      module.parameters().size() + module.buffers().size() <
          module.named_parameters({.remove_duplicate = false}).size() +
              module.named_buffers({.remove_duplicate = false}).size())
    return found;
  for (const auto& tensors : {module.parameters(), module.buffers()}) {
    for (const Tensor& tensor : tensors) {
      if (!is_lazy(tensor) && !tensor.is_meta() && tensor.as<Scaled>() == nullptr)
        found.push_back(tensor);
    }
  }
  return found;
}

// A step's line, its outcome, what it has to say, and the module it names.
void run_step(World& w, const std::string& line, std::ostream& out) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  const Words arguments(words.begin() + 1, words.end());
  w.log.clear();
  const std::vector<Tensor> counted = countable(w, words);
  std::vector<std::int64_t> before;
  for (const Tensor& tensor : counted) before.push_back(tensor.version());
  out << "> " << line << '\n';
  try {
    programs::do_step(w, words[0], arguments);
    out << "ok\n";
  } catch (const Error& error) {
    out << "error " << kind_of(error) << ": " << replaced(error.what(), "\n", "|") << '\n';
  } catch (const std::exception& error) {
    out << "error std::exception: " << error.what() << '\n';
  }
  for (const std::string& said : w.log) out << said << '\n';
  if (!counted.empty()) {
    out << "  versions raised by";
    const std::vector<Tensor> now = countable(w, words);
    bool none = true;
    for (std::size_t i = 0; i < counted.size(); ++i) {
      if (std::none_of(now.begin(), now.end(), [&](const Tensor& t) { return t.is(counted[i]); }))
        continue;
      out << ' ' << counted[i].version() - before[i];
      none = false;
    }
    out << (none ? " \n" : "\n");
  }
  Seen seen;
  for (const std::string& word : arguments) {
    if (!w.modules.contains(word)) continue;
    for (const std::string& text : w.module_text(word, seen)) out << text << '\n';
    break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: module_programs FILE\n";
    return 2;
  }
  std::ifstream in(argv[1]);
  auto world = std::make_unique<World>();
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) {
      run_step(*world, line, std::cout);
      continue;
    }
    std::cout << "end\n";
    for (const std::string& text : world->all_text()) std::cout << text << '\n';
    std::cout << '\n';
    world = std::make_unique<World>();
    set_swap_module_params_on_conversion(false);
    set_overwrite_module_params_on_conversion(false);
  }
  return std::cout.good() ? EXIT_SUCCESS : EXIT_FAILURE;
}
