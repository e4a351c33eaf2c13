// Layers and functions by name, made from the words of a case (tests/record/parity/spec.py).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "parity/cases.h"
#include "parity/words.h"

namespace tenon::parity {

using Tensors = std::vector<Tensor>;

// The tensors of a case by name: "0", "1", ... are the arguments in order.
class Named {
 public:
  void add(const std::string& name, const Tensor& tensor) { tensors_[name] = tensor; }
  // Undefined if there is none.
  Tensor at(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? Tensor() : found->second;
  }
  const std::map<std::string, Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

// A module, and how it is called with the arguments of a case.
struct Made {
  std::shared_ptr<nn::Module> module;
  std::function<Tensors(const Words&, const Named&)> call;
};

using Factory = std::function<Made(const Words&, const Named&)>;
using Function = std::function<Tensors(const Words&, const Named&)>;

// Every table is in a file of its own.
const std::map<std::string, Factory>& convolution_layers();
const std::map<std::string, Factory>& pooling_layers();
const std::map<std::string, Factory>& norm_layers();
const std::map<std::string, Factory>& activation_layers();
const std::map<std::string, Factory>& loss_layers();
const std::map<std::string, Factory>& sequence_layers();
const std::map<std::string, Function>& layer_functions();

// A layer of one tensor, of two, and of three.
template <class L>
Made layer(std::shared_ptr<L> made) {
  const auto call = [made](const Words& words, const Named& t) {
    const Tensor x = t.at("0");
    return Tensors{(*made)(words.flag("copied", false) ? x.clone() : x)};
  };
  return {made, call};
}
template <class L>
Made layer_of_two(std::shared_ptr<L> made) {
  return {made,
          [made](const Words&, const Named& t) { return Tensors{(*made)(t.at("0"), t.at("1"))}; }};
}
template <class L>
Made layer_of_three(std::shared_ptr<L> made) {
  return {made, [made](const Words&, const Named& t) {
            return Tensors{(*made)(t.at("0"), t.at("1"), t.at("2"))};
          }};
}

}  // namespace tenon::parity
