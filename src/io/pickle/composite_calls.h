// The calls in a pickle that make tensors of other values: parameters, sparse, quantized and nested
// tensors, and those of lazy modules that have no shape yet.
#pragma once

#include <span>

#include "io/pickle/tensor_calls.h"
#include "tenon/value.h"

namespace tenon {

class CompositeCalls : protected TensorCalls {
 protected:
  using TensorCalls::TensorCalls;
  ~CompositeCalls() = default;

  // What an item stands for, made once if it is in several places.
  virtual Value value(const PickleItem& item, int depth) = 0;

  // A dict of so many entries will be made.
  void charge_entries(std::size_t count);
  static bool has_shape(const Value& value);
  Value of_parameter(const Arguments& args, Role role, int depth);
  Value of_uninitialized(const Arguments& args, Role kind, int depth);
  Value of_sparse(const Arguments& args, int depth);
  Value of_quantized(const Arguments& args, int depth);
  Value of_nested(const Arguments& args, int depth);
  // Gives a new tensor its attributes: a dict, or a pair of two, the second of which wins.
  void set_state(const Arguments& args, const Tensor& made, const PickleItem& item, int depth);

 private:
  Value composite_parameter(const Arguments& args, const Value& data) const;
  void set_attributes(const Arguments& args, const Tensor& made, const Value& first,
                      const Value& second);
  void check_quantizer(const Arguments& args, std::span<const Value> parts, bool by_channel,
                       const Shape& shape) const;
};

}  // namespace tenon
