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
  scheme,           // of quantisation
  storage,          // a class of storages
  untyped_storage,  // of bytes
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
  uninitialized_parameter,
  uninitialized_buffer,
};

// A name and, if it is that of a dtype or a class of storages, which.
struct Meaning {
  Role role = Role::unknown;
  DType dtype = uint8;
};

Meaning meaning_of(std::string_view module, std::string_view name);

// The same as a number, 0 for names that are not known.
std::uint32_t meaning_code(std::string_view module, std::string_view name);
constexpr Meaning meaning_from(std::uint32_t code) noexcept {
  return {static_cast<Role>(code & 0xff), static_cast<DType>(code >> 8 & 0xff)};
}

}  // namespace tenon
