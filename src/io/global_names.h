// The names of classes and functions that PyTorch writes into pickles, and what they stand for. A
// fixed list: nothing is ever looked up anywhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/dtype.h"

namespace tenon {

// What a name stands for.
enum class Role : std::uint8_t {
  unknown,
  ordered_dict,
  counter,
  set,
  frozen_set,
  bytes,
  byte_array,
  complex,
  encode,  // _codecs.encode: how protocol 2 writes bytes
  size,
  device,
  layout,
  dtype,
  scheme,   // of quantisation
  storage,  // a class of storages
  tensor_class,
  parameter_class,
  rebuild_tensor,
  rebuild_tensor_v2,
  rebuild_tensor_v3,
  rebuild_parameter,
  rebuild_parameter_with_state,
  rebuild_meta,
  rebuild_sparse,
  rebuild_quantized,
  rebuild_nested,
  rebuild_from_type,
};

Role role_of(std::string_view module, std::string_view name);
// Whether a name is one of those that tensors and plain values are made of.
bool is_known_global(std::string_view module, std::string_view name);

// The dtype called "float32" and so on; nothing if there is none.
std::optional<DType> dtype_called(std::string_view name);
// The elements of a class of storages ("torch", "FloatStorage"); nothing if it is none of these.
std::optional<DType> storage_called(std::string_view module, std::string_view name);

}  // namespace tenon
