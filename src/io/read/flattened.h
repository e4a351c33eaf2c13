// User-defined tensors in files: a dict of their parts, which any reader can open.
//
// Note [A user-defined tensor as a dict]
// {"tenon.type": "Int8Weight", "tenon.dtype": "bfloat16", "tenon.shape": [2, 3], "tenon.stride":
// [3, 1], "tenon.requires_grad": true, "tenon.parameter": true, "tenon.context": ...} and the
// tensors it is made of under their own names. Only plain values beside the tensors: torch.load
// opens it as it is, and safetensors can hold it.
#pragma once

#include <optional>

#include "io/support/read_meter.h"
#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/extend/flattened.h"
#include "tenon/value.h"

namespace tenon {

inline constexpr std::string_view kFlattenedType = "tenon.type";

// TypeError if its class does not flatten, or a part of it has a name of ours.
Value flattened_value(const Body& body, const Tensor& tensor);
// The tree with such dicts in the place of user-defined tensors, also of those inside others.
Value with_flattened(const Value& tree, ReadMeter& meter);
// Whether it is such a dict.
TENON_API bool is_flattened(const Value& value) noexcept;
// What such a dict says the tensor is, if its class is registered. ValueError as below.
TENON_API std::optional<Layout> flattened_layout(const Value& value);
// The tensor of such a dict, if its class is registered; else the dict. ValueError for a dict that
// is not complete, or whose shape, strides and dtype no tensor can have: the class does not see it.
Value unflattened_value(const Value& value);

// The tree with such tensors in the place of the dicts whose classes are registered.
Value with_user_defined(const Value& tree);

}  // namespace tenon
