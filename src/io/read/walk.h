// The names of tensors in a tree of values: keys and positions on the way to each, joined by dots.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

class Walk {
 public:
  using Visit = std::function<void(const std::string& name, const Tensor& tensor)>;
  // A file may share one dict in many places, and each place is visited: all of it is charged to
  // the meter.
  Walk(ReadMeter& meter, Visit called) : visit(std::move(called)), meter_(meter) {}

  Visit visit;
  // For tensors without a shape, which are passed over if it is empty.
  Visit visit_uninitialized = {};
  // While a tensor is visited: its name, or that of the sparse, quantized or user-defined tensor it
  // is a part of.
  std::string_view whole() const noexcept { return std::string_view(name_).substr(0, whole_); }

  void run(const Value& value) { at(value, true); }

 private:
  // The values below one: at its name and a key. `top` has no name yet, and no dot behind it.
  void below(const Value& value, std::string_view key, bool top);
  void at(const Value& value, bool top);
  void dict(const Value& value, bool top);
  void object(const Value& value, bool top);
  void module(const Value& state, bool top);

  static constexpr std::size_t kNoWhole = std::string::npos;

  ReadMeter& meter_;
  std::string name_;              // of the value that is being looked at
  std::size_t whole_ = kNoWhole;  // how much of it is the name of a whole tensor
};

}  // namespace tenon
