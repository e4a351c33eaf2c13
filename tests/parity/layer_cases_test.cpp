// Every layer, with random options and inputs, beside what PyTorch answered: results, gradients,
// what is in the state afterwards, the keys of the state dict, and the text.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "parity/layer_cases.h"

namespace tenon::parity {
namespace {

Made make(const std::string& name, const Words& words, const Named& tensors) {
  for (const auto* table : {&convolution_layers(), &pooling_layers(), &norm_layers(),
                            &activation_layers(), &loss_layers(), &sequence_layers()}) {
    if (const auto found = table->find(name); found != table->end())
      return found->second(words, tensors);
  }
  const auto function = layer_functions().find(name);
  if (function == layer_functions().end()) throw InternalError("nobody knows '" + name + "'");
  return {nullptr, function->second};
}

std::string place(std::int64_t index, const Shape& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(index % shape[d]) + (text.empty() ? "" : ", ") + text;
    index /= shape[d];
  }
  return "[" + text + "]";
}

// Nothing, or the first element that is further off than is allowed.
std::string first_difference(const Tensor& ours, const Line& result) {
  const Shape shape = integers(result[2]);
  if (ours.shape() != shape) return "has shape " + ours.shape().repr() + " and not " + shape.repr();
  if (info(ours.dtype()).name != result[1])
    return "is " + std::string(info(ours.dtype()).name) + " and not " + result[1];
  const double allowed = std::stod(result[7]);
  // Anything, NaN too, where PyTorch's own calculation does not fit the dtype.
  if (std::isinf(allowed)) return "";
  std::vector<std::byte> data = bytes(result[5]);
  if (data.empty()) return "";
  const Tensor theirs =
      from_blob(data.data(), {ours.numel()}, {.dtype = ours.dtype()}).to(float64).contiguous();
  const Tensor mine = ours.detach().to(float64).contiguous();
  const double *a = mine.data<double>(), *b = theirs.data<double>();
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::fabs(a[i] - b[i]) <= allowed) continue;
    return "at " + place(i, shape) + " is " + std::to_string(a[i]) + " and not " +
           std::to_string(b[i]) + ", off by " + std::to_string(std::fabs(a[i] - b[i]) / allowed) +
           " times what is allowed";
  }
  return "";
}

struct Outcome {
  Named results;
  std::string keys, text;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text.empty() ? "-" : text;
}

void load(nn::Module& module, const Named& tensors) {
  StateDict state;
  for (const auto& [name, tensor] : tensors.all())
    if (name.starts_with("state:")) state.set(name.substr(6), tensor);
  module.load_state_dict(state);
}

// Gradients begin with cotangents where PyTorch's did, and with ones where it refused.
Outcome run(const Line& op, const Named& tensors, bool refused) {
  const Words words(op.begin() + 3, op.end());
  Outcome outcome;
  const Made made = make(op[2], words, tensors);
  if (made.module != nullptr) {
    made.module->to(dtype(words.text("dtype", "float32")));
    made.module->train(words.flag("training", true));
    if (!words.flag("tensors", false)) load(*made.module, tensors);
    std::vector<std::string> keys;
    for (const auto& [key, value] : made.module->state_dict()) keys.push_back(key);
    outcome.keys = joined(keys);
    outcome.text = made.module->repr();
  }
  const GradModeScope grad(!words.flag("no_grad", false));
  const Tensors outputs = made.call(words, tensors);
  Tensors from, begin, leaves;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    outcome.results.add("out:" + std::to_string(k), outputs[k].detach().clone());
    Tensor cotangent = tensors.at("cotangent:" + std::to_string(k));
    if (refused && !cotangent.defined() && outputs[k].requires_grad())
      cotangent = ones_like(outputs[k]);
    if (outputs[k].requires_grad() != cotangent.defined() && outputs[k].is_floating_point())
      throw InternalError("whether there is a gradient of output " + std::to_string(k) +
                          " differs");
    if (!cotangent.defined()) continue;
    from.push_back(outputs[k]);
    begin.push_back(cotangent);
  }
  for (const auto& [name, tensor] : tensors.all()) {
    if (name.find(':') != std::string::npos || !tensor.requires_grad()) continue;
    names.push_back(name);
    leaves.push_back(tensor);
  }
  if (made.module != nullptr) {
    for (const auto& [name, parameter] : made.module->named_parameters()) {
      names.push_back(name);
      leaves.push_back(parameter);
    }
  }
  if (!from.empty() && !leaves.empty()) {
    const Tensors grads =
        autograd::grad(from, leaves, {.grad_outputs = begin, .allow_unused = true});
    for (std::size_t k = 0; k < grads.size(); ++k)
      if (grads[k].defined()) outcome.results.add("grad:" + names[k], grads[k]);
  }
  if (made.module != nullptr) {
    for (const auto& [key, value] : made.module->state_dict())
      outcome.results.add("state:" + key, value.as_tensor());
  }
  return outcome;
}

void compare(const Case& one, const Outcome& outcome) {
  if (one.has("keys")) {
    EXPECT_EQ(outcome.keys, one.line("keys")[1]);
    EXPECT_EQ(outcome.text, one.line("repr")[1]);
  }
  std::set<std::string> compared;
  for (const Line& result : one.all("result")) {
    const Tensor ours = outcome.results.at(result[6]);
    if (!ours.defined()) {
      ADD_FAILURE() << "PyTorch has " << result[6] << ", we have not";
      continue;
    }
    compared.insert(result[6]);
    const std::string difference = first_difference(ours, result);
    EXPECT_TRUE(difference.empty()) << result[6] << " " << difference;
  }
  // A gradient of nothing PyTorch may leave out.
  for (const auto& [name, ours] : outcome.results.all()) {
    if (compared.contains(name) || (ours.is_floating_point() && all(ours == 0).item<bool>()))
      continue;
    ADD_FAILURE() << "we have " << name << ", PyTorch has not";
  }
}

std::string shown(const Case& one) {
  std::string text = one.where;
  for (const std::string& word : one.line("op")) text += " " + word;
  for (const Line& line : one.all("tensor")) {
    if (line[7].find(':') == std::string::npos)
      text += " " + line[7] + ":" + line[1] + "[" + line[2] + "]";
  }
  return text;
}

void expect_same(const std::string& file) {
  for (const Case& one : read_cases(file)) {
    SCOPED_TRACE(shown(one));
    Named tensors;
    for (const Line& line : one.all("tensor")) tensors.add(line[7], make_tensor(line));
    try {
      const Outcome outcome = run(one.line("op"), tensors, one.has("error"));
      if (one.has("error")) {
        ADD_FAILURE() << "PyTorch refuses this: " << one.line("error")[1] << ": "
                      << one.line("error")[2];
      } else {
        compare(one, outcome);
      }
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

TEST(ParityLayers, EveryLayerDoesWhatPyTorchDoes) { expect_same("every_layer"); }

// Beside the exact results, and never further off than what tests/record/parity/spec.py allows.
TEST(ParityLayers, EveryLayerWorksInSixteenBits) { expect_same("narrow_layers"); }

}  // namespace
}  // namespace tenon::parity
