// Modules that tests load and convert, and what it takes to say that nothing about one has changed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

// Every kind of entry: a parameter, buffers that are saved and not, children with and without a
// bias, and a child that is null.
class SmallNet : public nn::Module {
 public:
  nn::Parameter scale{this, "scale", ones({2})};
  nn::Buffer count{this, "count", zeros({})};
  nn::Buffer tmp{this, "tmp", zeros({2}), {.persistent = false}};
  nn::Child<nn::Linear> fc1{this, "fc1", 2, 3};
  nn::Child<nn::Linear> fc2{this, "fc2", 3, 2, {.bias = false}};
  nn::Child<nn::Linear> gone{this, "gone", nullptr};

  std::string type_name() const override { return "Net"; }
};

inline StateDict state_of(std::initializer_list<std::pair<std::string, Value>> entries) {
  StateDict state;
  for (const auto& [key, value] : entries) state.set(key, value);
  return state;
}

// A state dict with memory of its own.
inline StateDict copied(const StateDict& from) {
  StateDict state;
  for (const auto& [key, value] : from)
    state.set(key, value.is_tensor() ? Value(value.as_tensor().clone()) : value);
  state.set_metadata(from.metadata());
  return state;
}

inline std::vector<std::string> keys_of(const StateDict& state) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : state) keys.push_back(key);
  return keys;
}

// Everything that can be seen of a tensor, as text: which one it is, its body, its memory, what
// counts its writes, its bytes, its parts, its gradient and its attributes.
inline std::string everything_about(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  const NoGradScope no_grad;
  std::ostringstream text;
  text << "id " << tensor.id() << " body " << &tensor.body() << " data " << tensor.data_ptr()
       << " version " << tensor.version() << " " << tensor.shape() << " strides";
  for (const std::int64_t stride : tensor.stride()) text << " " << stride;
  text << " " << repr(tensor.dtype()) << " " << tensor.device()
       << (tensor.requires_grad() ? " requires_grad" : "")
       << (tensor.is_parameter() ? " parameter" : "");
  if (tensor.data_ptr() != nullptr) {
    const Tensor packed = tensor.detach().contiguous();
    text << " bytes";
    const auto* bytes = static_cast<const unsigned char*>(packed.data_ptr());
    for (std::int64_t i = 0; i < packed.nbytes(); ++i) text << " " << int{bytes[i]};
  }
  for (const auto& [name, value] : tensor.attributes()) text << " " << name << "=" << value.repr();
  tensor.body().for_each_payload(
      [&](const Tensor& part) { text << " (" << everything_about(part) << ")"; });
  if (tensor.grad().defined()) text << " grad (" << everything_about(tensor.grad()) << ")";
  return text.str();
}

// What a module is at one moment.
class Snapshot {
 public:
  explicit Snapshot(const nn::Module& module) : module_(module), lines_(lines(module)) {}
  void expect_the_same() const { EXPECT_EQ(lines(module_), lines_); }

 private:
  static std::vector<std::string> lines(const nn::Module& module) {
    std::vector<std::string> all;
    for (const auto& [name, part] : module.named_modules({.remove_duplicate = false})) {
      for (const auto slots : {part->parameter_slots(), part->buffer_slots()}) {
        for (const nn::TensorSlot* slot : slots) {
          std::ostringstream line;
          line << name << "." << slot->name() << (slot->persistent() ? "" : " passing") << " slot "
               << slot << ": " << everything_about(slot->get());
          all.push_back(line.str());
        }
      }
      if (const auto extra = part->get_extra_state()) all.push_back(name + " " + extra->repr());
    }
    return all;
  }

  const nn::Module& module_;
  std::vector<std::string> lines_;
};

// Gathers warnings while it lives.
class WarningLog {
 public:
  WarningLog()
      : before_(
            set_warning_handler([this](const std::string& text) { warnings.push_back(text); })) {}
  ~WarningLog() { set_warning_handler(std::move(before_)); }
  WarningLog(const WarningLog&) = delete;
  WarningLog& operator=(const WarningLog&) = delete;

  std::vector<std::string> warnings;

 private:
  WarningHandler before_;
};

}  // namespace tenon
