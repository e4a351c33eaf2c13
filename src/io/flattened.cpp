#include "io/flattened.h"

#include <algorithm>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "io/tree_map.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr const char *kDType = "tenon.dtype", *kShape = "tenon.shape", *kStride = "tenon.stride",
                     *kRequiresGrad = "tenon.requires_grad", *kParameter = "tenon.parameter",
                     *kContext = "tenon.context";

Value numbers(const Dims& dims) {
  std::vector<Value> items;
  for (const std::int64_t size : dims) items.emplace_back(size);
  return Value::list(std::move(items));
}

const Value& part(const Value& dict, const char* name, Value::Kind kind) {
  const Value* found = dict.find(name);
  if (found == nullptr || found->kind() != kind) {
    throw ValueError(concat("a user-defined tensor of type ", dict.find(kFlattenedType)->repr(),
                            " has no usable ", name));
  }
  return *found;
}

Dims numbers(const Value& list) {
  Dims out;
  for (const Value& item : list.items()) out.push_back(item.as_int());
  return out;
}

}  // namespace

Value flattened_value(const Body& body, const Tensor& tensor) {
  auto parts = body.flatten();
  if (!parts) {
    throw TypeError(concat("save: a tensor of class ", body.type_name(),
                           " does not say what it is made of: override flatten() in it, or save "
                           "what it stands for"));
  }
  const Layout& layout = tensor.layout();
  std::vector<Value::Entry> entries{{kFlattenedType, body.type_name()},
                                    {kDType, std::string(info(layout.dtype).name)},
                                    {kShape, numbers(layout.shape)},
                                    {kStride, numbers(layout.strides)},
                                    {kRequiresGrad, tensor.requires_grad()},
                                    {kParameter, tensor.is_parameter()},
                                    {kContext, parts->context}};
  for (const auto& [name, payload] : parts->tensors) {
    if (name.starts_with("tenon.")) {
      throw TypeError(concat("save: a tensor of class ", body.type_name(), " calls a part ", name,
                             ", and such names are taken"));
    }
    entries.emplace_back(name, payload);
  }
  return Value::dict(std::move(entries));
}

Value with_flattened(const Value& tree) {
  return mapped_tensors(tree, [](const Tensor& tensor) -> Value {
    if (!tensor.body().is_wrapper() || is_uninitialized(tensor.body())) return tensor;
    return with_flattened(flattened_value(tensor.body(), tensor));
  });
}

bool is_flattened(const Value& value) noexcept {
  if (value.kind() != Value::Kind::dict || value.entries().empty()) return false;
  const auto& [key, type] = value.entries()[0];
  return key.kind() == Value::Kind::string && key.as_string() == kFlattenedType &&
         type.kind() == Value::Kind::string;
}

Value unflattened_value(const Value& value) {
  const std::string& type = value.find(kFlattenedType)->as_string();
  if (!has_unflatten(type)) return value;
  Flattened parts;
  for (const auto& [name, item] : value.entries()) {
    if (name.kind() == Value::Kind::string && item.is_tensor() &&
        !name.as_string().starts_with("tenon."))
      parts.tensors.emplace_back(name.as_string(), item.as_tensor());
  }
  if (const Value* context = value.find(kContext)) parts.context = *context;
  const std::string& name = part(value, kDType, Value::Kind::string).as_string();
  const auto dtype = dtype_from_name(name);
  if (!dtype) throw ValueError(concat("a user-defined tensor of an unknown dtype, ", name));
  Layout like{numbers(part(value, kShape, Value::Kind::list)),
              numbers(part(value, kStride, Value::Kind::list)), 0, *dtype, Device::cpu()};
  if (!parts.tensors.empty()) like.device = parts.tensors[0].second.device();
  const Tensor made = unflatten(type, parts, like);
  if (part(value, kParameter, Value::Kind::boolean).as_bool())
    BodyEditor::set_parameter(made.body(), true);
  if (part(value, kRequiresGrad, Value::Kind::boolean).as_bool())
    BodyEditor::set_requires_grad(made.body(), true);
  return made;
}

Value with_user_defined(const Value& tree) {
  if (!has_any_unflatten()) return tree;
  return mapped_dicts(
      tree, [](const Value& dict) { return is_flattened(dict) ? unflattened_value(dict) : dict; });
}

}  // namespace tenon
