// What the normalizing operators have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// NotImplementedError unless the input is floating; DTypeError unless the parameters are of its
// dtype, or all float32 where the input is of 16 bits; DeviceError unless all are on its device.
void check_norm_parameters(std::string_view op, std::string_view kernel, const Tensor& input,
                           std::initializer_list<const std::optional<Tensor>*> parameters);

// Packed, in the dtype statistics are calculated in. Undefined if there is none.
Tensor norm_operand(const std::optional<Tensor>& tensor, DType dtype);

// The result itself, or one in the dtype that is calculated in, which is to be copied to it.
Tensor norm_result(const Tensor& out, DType dtype, MemoryFormat format = MemoryFormat::contiguous);
// Calls work.operator()<T>() for the type of elements of that dtype.
template <class Work>
void of_norm_type(DType dtype, Work&& work) {
  if (dtype == float32) {
    work.template operator()<float>();
  } else {
    work.template operator()<double>();
  }
}

// How many pieces sums over that many rows of n elements are made of, whatever the threads.
std::int64_t norm_pieces(std::int64_t rows, std::int64_t n);

}  // namespace tenon
