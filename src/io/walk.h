// The names of tensors in a tree of values: keys and positions on the way to each, joined by dots.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tenon/value.h"

namespace tenon {

class Walk {
 public:
  using Visit = std::function<void(const std::string& name, const Tensor& tensor)>;
  // A file may share one dict in many places: what that multiplies to is bounded by the objects
  // that are there. FormatError with the file's name beyond that.
  Walk(const std::string& file, std::size_t objects, Visit called)
      : visit(std::move(called)), file_(file), most_(objects * 4 + 1000) {}

  Visit visit;
  // For tensors without a shape, which are passed over if it is empty.
  Visit visit_uninitialized = {};
  // While a tensor is visited: its name, or that of the sparse or quantised tensor it is a part of.
  const std::string& whole() const noexcept { return *whole_; }

  void run(const Value& value) { at(value, std::string(), true); }

 private:
  void at(const Value& value, const std::string& name, bool top);
  void dict(const Value& value, const std::string& name, bool top);
  void object(const Value& value, const std::string& name, bool top);
  void look(std::size_t items);
  void module(const Value& state, const std::string& name, bool top);

  const std::string& file_;
  std::size_t most_;
  const std::string* whole_ = nullptr;
  std::size_t places_ = 0, looked_ = 0, named_ = 0;  // places, items and bytes of names so far
};

}  // namespace tenon
