#include "io/pickle/global_names.h"

#include "base/stored_dtype.h"

namespace tenon {

namespace {

struct Name {
  std::string_view module, name;
  Role role;
};

constexpr Name kNames[] = {
    {"collections", "OrderedDict", Role::ordered_dict},
    {"collections", "Counter", Role::counter},
    {"__builtin__", "set", Role::set},
    {"builtins", "set", Role::set},
    {"__builtin__", "frozenset", Role::frozen_set},
    {"builtins", "frozenset", Role::frozen_set},
    {"__builtin__", "bytes", Role::bytes},
    {"builtins", "bytes", Role::bytes},
    {"__builtin__", "bytearray", Role::byte_array},
    {"builtins", "bytearray", Role::byte_array},
    {"__builtin__", "complex", Role::complex},
    {"builtins", "complex", Role::complex},
    {"_codecs", "encode", Role::encode},
    {"torch", "Size", Role::size},
    {"torch", "device", Role::device},
    {"torch.serialization", "_get_layout", Role::layout},
    {"torch", "Tensor", Role::tensor_class},
    {"torch.nn.parameter", "Parameter", Role::parameter_class},
    {"torch.nn.parameter", "UninitializedParameter", Role::uninitialized_parameter},
    {"torch.nn.parameter", "UninitializedBuffer", Role::uninitialized_buffer},
    {"torch._utils", "_rebuild_tensor", Role::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v2", Role::rebuild_tensor_v2},
    {"torch._utils", "_rebuild_tensor_v3", Role::rebuild_tensor_v3},
    {"torch._utils", "_rebuild_parameter", Role::rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", Role::rebuild_parameter_with_state},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", Role::rebuild_meta},
    {"torch._utils", "_rebuild_sparse_tensor", Role::rebuild_sparse},
    {"torch._utils", "_rebuild_qtensor", Role::rebuild_quantized},
    {"torch._utils", "_rebuild_nested_tensor", Role::rebuild_nested},
    {"torch._tensor", "_rebuild_from_type_v2", Role::rebuild_from_type},
    {"torch", "per_tensor_affine", Role::scheme},
    {"torch", "per_tensor_symmetric", Role::scheme},
    {"torch", "per_channel_affine", Role::scheme},
    {"torch", "per_channel_symmetric", Role::scheme},
    {"torch", "per_channel_affine_float_qparams", Role::scheme},
    {"torch.storage", "UntypedStorage", Role::untyped_storage},
};

// The dtype called "float32" and so on.
std::optional<DType> dtype_called(std::string_view name) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDTypeTable[i].name == name) return static_cast<DType>(i);
  }
  // Names PyTorch has twice.
  if (name == "float") return float32;
  if (name == "double") return float64;
  if (name == "half") return float16;
  if (name == "long") return int64;
  if (name == "int") return int32;
  if (name == "short") return int16;
  return std::nullopt;
}

// "FloatStorage" and so on. Nothing: not one of these.
std::optional<DType> storage_called(std::string_view module, std::string_view name) {
  if ((module != "torch" && module != "torch.cuda") || !name.ends_with("Storage"))
    return std::nullopt;
  name.remove_suffix(7);
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (has_storage_class(dtype) && kDTypeTable[i].scalar_name == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace

Meaning meaning_of(std::string_view module, std::string_view name) {
  for (const Name& known : kNames) {
    if (known.name == name && known.module == module) return {known.role};
  }
  if (const auto dtype = storage_called(module, name)) return {Role::storage, *dtype};
  if (const auto dtype = module == "torch" ? dtype_called(name) : std::nullopt)
    return {Role::dtype, *dtype};
  return {};
}

std::uint32_t meaning_code(std::string_view module, std::string_view name) {
  const Meaning meaning = meaning_of(module, name);
  return static_cast<std::uint32_t>(meaning.role) | static_cast<std::uint32_t>(meaning.dtype) << 8;
}

}  // namespace tenon
