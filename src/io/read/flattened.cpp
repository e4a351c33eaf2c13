#include "io/read/flattened.h"

#include "base/text.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "core/value_text.h"
#include "io/read/records.h"
#include "io/read/tensors.h"
#include "io/read/tree_map.h"
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

[[noreturn]] void refuse(const Value& dict, std::string_view what) {
  throw ValueError(
      concat("a user-defined tensor of type ", short_repr(*dict.find(kFlattenedType)), " ", what));
}

const Value& part(const Value& dict, const char* name, Value::Kind kind) {
  const Value* found = dict.find(name);
  if (found == nullptr || found->kind() != kind) refuse(dict, concat("has no usable ", name));
  return *found;
}

Dims numbers(const Value& dict, const char* name) {
  const auto items = part(dict, name, Value::Kind::list).items();
  if (items.size() > kMostDimensions) {
    refuse(dict,
           concat("has ", items.size(), " dimensions in ", name, ", more than ", kMostDimensions));
  }
  Dims out;
  for (const Value& item : items) {
    if (item.kind() != Value::Kind::integer) refuse(dict, concat("has no usable ", name));
    out.push_back(item.as_int());
  }
  return out;
}

// What it says of itself, as if it were a tensor of the file: its class is somebody else's code,
// and trusts that a shape is one.
TensorRecord described(const Value& dict) {
  TensorRecord record;
  const Value& name = part(dict, kDType, Value::Kind::string);
  const auto dtype = dtype_from_name(name.as_string());
  if (!dtype) refuse(dict, concat("has an unknown dtype, ", short_repr(name)));
  record.dtype = *dtype;
  record.shape = Shape(numbers(dict, kShape));
  record.stride = numbers(dict, kStride);
  record.parameter = part(dict, kParameter, Value::Kind::boolean).as_bool();
  record.requires_grad = part(dict, kRequiresGrad, Value::Kind::boolean).as_bool();
  if (const std::string wrong = wrong_geometry(record, kAnyBytes); !wrong.empty())
    refuse(dict, concat("cannot be: ", wrong));
  if (record.requires_grad && !is_differentiable(*dtype))
    refuse(dict, concat("requires grad, which tensors of ", info(*dtype).name, " cannot"));
  return record;
}

}  // namespace

Value flattened_value(const Body& body, const Tensor& tensor) {
  const auto held = Ref<const Body>::share(&body);  // flatten() may swap the tensor
  auto parts = body.flatten();
  if (!parts) {
    throw TypeError(concat("save: a tensor of class ", body.type_name(),
                           " does not say what it is made of: override flatten() in it, or save "
                           "what it stands for"));
  }
  const Layout& layout = body.layout();
  check_dimensions(layout.shape);
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

namespace {

// Inside of so many user-defined tensors.
Value flattened_inside(const Value& tree, ReadMeter& meter, int depth) {
  constexpr int kMost = 64;
  if (depth > kMost) {
    throw ValueError(concat("save: user-defined tensors that are made of others more than ", kMost,
                            " deep: override flatten() so that it comes to an end"));
  }
  const auto flattened = [&](const Tensor& tensor) -> Value {
    if (!tensor.body().is_wrapper() || is_uninitialized(tensor.body())) return tensor;
    return flattened_inside(flattened_value(tensor.body(), tensor), meter, depth + 1);
  };
  return mapped_tensors(tree, flattened, meter);
}

}  // namespace

Value with_flattened(const Value& tree, ReadMeter& meter) {
  return flattened_inside(tree, meter, 0);
}

bool is_flattened(const Value& value) noexcept {
  if (value.kind() != Value::Kind::dict || value.entries().empty()) return false;
  const auto& [key, type] = value.entries()[0];
  return key.kind() == Value::Kind::string && key.as_string() == kFlattenedType &&
         type.kind() == Value::Kind::string;
}

std::optional<Layout> flattened_layout(const Value& value) {
  if (!has_unflatten(value.find(kFlattenedType)->as_string())) return std::nullopt;
  const TensorRecord record = described(value);
  return Layout{record.shape, record.stride, 0, record.dtype, Device::cpu()};
}

Value unflattened_value(const Value& value) {
  const std::string& type = value.find(kFlattenedType)->as_string();
  if (!has_unflatten(type)) return value;
  const TensorRecord record = described(value);
  Flattened parts;
  for (const auto& [name, item] : value.entries()) {
    if (name.kind() == Value::Kind::string && item.is_tensor() &&
        !name.as_string().starts_with("tenon."))
      parts.tensors.emplace_back(name.as_string(), item.as_tensor());
  }
  if (const Value* context = value.find(kContext)) parts.context = *context;
  Layout like{record.shape, record.stride, 0, record.dtype, Device::cpu()};
  if (!parts.tensors.empty()) like.device = parts.tensors[0].second.device();
  const Tensor made = unflatten(type, parts, like);
  if (record.parameter) BodyEditor::set_parameter(made.body(), true);
  if (record.requires_grad) BodyEditor::set_requires_grad(made.body(), true);
  return made;
}

Value with_user_defined(const Value& tree) {
  if (!has_any_unflatten()) return tree;
  return mapped_dicts(
      tree, [](const Value& dict) { return is_flattened(dict) ? unflattened_value(dict) : dict; });
}

}  // namespace tenon
