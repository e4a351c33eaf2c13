#include "io/pickle/composite_calls.h"

#include "base/stored_dtype.h"
#include "base/text.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "io/pickle/composites.h"
#include "io/pickle/tensor_attributes.h"

namespace tenon {

namespace {

using ItemKind = PickleItem::Kind;

}  // namespace

// With the table that finds them by their keys.
void CompositeCalls::charge_entries(std::size_t count) {
  meter_.work(count + 1);
  meter_.memory(2 * ReadMeter::kObject + count * (sizeof(Value::Entry) + 64));
}

bool CompositeCalls::has_shape(const Value& value) {
  return value.is_tensor() && !is_uninitialized(value.as_tensor().body());
}

// A parameter is its data with two flags; the data is made here, so that it can be given them.
Value CompositeCalls::of_parameter(const Arguments& args, Role role, int depth) {
  const bool stateful = role == Role::rebuild_parameter_with_state;
  need(args, stateful ? 4 : 3, stateful ? 4 : 3);
  const bool requires_grad = boolean(args, args.items[1], "requires_grad");
  hooks(args, args.items[2]);
  const Value data = value(args.items[0], depth + 1);
  if (!data.is_tensor()) return composite_parameter(args, data);
  if (!has_shape(data)) wrong(args, "a parameter of something that is no tensor");
  if (requires_grad && !is_differentiable(data.as_tensor().dtype()))
    wrong(args, "a parameter of whole numbers cannot require grad");
  charge_tensor(data.as_tensor().layout().shape.size());
  const Tensor made = builder_.parameter(data.as_tensor(), requires_grad);
  if (stateful) set_state(args, made, args.items[3], depth);
  return made;
}

Value CompositeCalls::composite_parameter(const Arguments& args, const Value& data) const {
  if (data.kind() != Value::Kind::object) wrong(args, "a parameter of something that is no tensor");
  return data;
}

// Attributes: a dict, or a pair of two, the second of which wins.
void CompositeCalls::set_state(const Arguments& args, const Tensor& made, const PickleItem& item,
                               int depth) {
  const Value state = value(item, depth + 1);
  if (state.is_none()) return;
  if (state.kind() != Value::Kind::tuple) return set_attributes(args, made, state, Value());
  if (state.items().size() != 2) wrong(args, "its state is no pair");
  set_attributes(args, made, state.items()[0], state.items()[1]);
}

void CompositeCalls::set_attributes(const Arguments& args, const Tensor& made, const Value& first,
                                    const Value& second) {
  std::vector<Value::Entry> all;
  for (const Value& dict : {first, second}) {
    if (dict.is_none()) continue;
    if (dict.kind() != Value::Kind::dict) wrong(args, "its state is no dict");
    charge_entries(dict.entries().size());
    for (const auto& [key, attribute] : dict.entries()) {
      if (key.kind() != Value::Kind::string) wrong(args, "an attribute whose name is no text");
      if (is_tensors_own(key.as_string()))
        wrong(args, concat("an attribute ", key.as_string(), ", which is a tensor's own"));
      meter_.text(key.as_string().size());
      all.emplace_back(key, attribute);
    }
  }
  if (all.empty()) return;
  // What a dict has is there once. Only two of them may have the same.
  const bool both = !first.is_none() && !second.is_none();
  const Value merged = both ? Value::dict(std::move(all)) : Value();
  const auto entries = both ? merged.entries() : std::span<const Value::Entry>(all);
  auto& attributes = BodyEditor::need_attributes(made.body()).values;
  // A new tensor has none yet: one by one, each would be looked for among those before it.
  attributes.reserve(entries.size());
  for (const auto& [key, attribute] : entries) attributes.emplace_back(key.as_string(), attribute);
}

// requires_grad, which is all that PyTorch writes, device and dtype. Of a buffer also whether it
// is persistent, which is its slot's to say.
Value CompositeCalls::of_uninitialized(const Arguments& args, Role kind, int depth) {
  const bool is_parameter = kind == Role::uninitialized_parameter;
  need(args, 0, is_parameter ? 3 : 4);
  const auto given = [&](std::size_t i) {
    return i < args.items.size() && args.items[i].kind != ItemKind::none;
  };
  UninitializedRecord record;
  record.parameter = record.requires_grad = is_parameter;
  if (!args.items.empty()) record.requires_grad = boolean(args, args.items[0], "requires_grad");
  if (given(1)) {
    const Value where = value(args.items[1], depth + 1);
    if (where.kind() != Value::Kind::device) wrong(args, "its device is none");
    record.device = where.as_device();
  }
  if (given(2)) record.dtype = dtype(args, args.items[2]);
  if (record.requires_grad && !is_differentiable(record.dtype))
    wrong(args, concat("a tensor of ", info(record.dtype).name, " cannot require grad"));
  charge_tensor(0);
  return builder_.uninitialized(record);
}

Value CompositeCalls::of_sparse(const Arguments& args, int depth) {
  need(args, 2, 2);
  const Value layout = value(args.items[0], depth + 1);
  const Value data = value(args.items[1], depth + 1);
  const bool named = layout.kind() == Value::Kind::object && layout.object_name() == kLayoutName;
  if (!named || data.kind() != Value::Kind::tuple) wrong(args, "no layout, or no data");
  charge_entries(6);
  const std::string& name = layout.object_arguments().items()[0].as_string();
  const auto parts = data.items();
  std::vector<Value::Entry> fields{{"layout", layout.object_arguments().items()[0]}};
  const bool coo = name == "torch.sparse_coo";
  const bool rows = name == "torch.sparse_csr" || name == "torch.sparse_bsr";
  const bool columns = name == "torch.sparse_csc" || name == "torch.sparse_bsc";
  if (!coo && !rows && !columns) wrong(args, concat("layout ", name, " is not known"));
  if (coo ? parts.size() != 3 && parts.size() != 4 : parts.size() != 4)
    wrong(args, "data of another number of parts");
  const std::size_t tensors = coo ? 2 : 3;
  const char* const names[] = {coo    ? "indices"
                               : rows ? "crow_indices"
                                      : "ccol_indices",
                               coo    ? "values"
                               : rows ? "col_indices"
                                      : "row_indices",
                               "values"};
  for (std::size_t i = 0; i < tensors; ++i) {
    if (!has_shape(parts[i])) wrong(args, concat(names[i], " are no tensor"));
    fields.emplace_back(names[i], parts[i]);
  }
  fields.emplace_back("size", parts[tensors]);
  if (coo && parts.size() == 4 && parts[3].kind() != Value::Kind::boolean && !parts[3].is_none())
    wrong(args, "is_coalesced is no bool");
  if (coo && parts.size() == 4) fields.emplace_back("is_coalesced", parts[3]);
  Value sparse =
      Value::object(std::string(kSparseName), Value::tuple({}), Value::dict(std::move(fields)));
  builder_.sparse(sparse);
  return sparse;
}

Value CompositeCalls::of_quantized(const Arguments& args, int depth) {
  need(args, 7, 7);
  const StorageUse use = storage_of(args);
  TensorRecord record = strided(args, use);
  hooks(args, args.items[6]);
  if (info(record.dtype).kind != DTypeKind::quantized)
    wrong(args, "a quantised tensor of ordinary numbers");
  const Value parameters = value(args.items[4], depth + 1);
  if (parameters.kind() != Value::Kind::tuple || parameters.items().empty())
    wrong(args, "no quantiser");
  const auto parts = parameters.items();
  if (parts[0].kind() != Value::Kind::object) wrong(args, "no scheme of quantization");
  charge_entries(6);
  const std::string& scheme = parts[0].object_name();
  if (!is_scheme(scheme)) wrong(args, "no scheme of quantization");
  const bool by_channel = scheme.starts_with("torch.per_channel");
  if (parts.size() != (by_channel ? 4u : 3u)) wrong(args, "a quantiser of another number of parts");
  check_quantizer(args, parts, by_channel, record.shape);
  const Value size(record.shape);
  if (values_in_element(record.dtype) != 1) as_bytes(args, record);
  std::vector<Value::Entry> fields{{"data", Value(tensor(args, record, use))},
                                   {"qscheme", Value(scheme)}};
  fields.emplace_back(by_channel ? "scales" : "scale", parts[1]);
  fields.emplace_back(by_channel ? "zero_points" : "zero_point", parts[2]);
  if (by_channel) fields.emplace_back("axis", parts[3]);
  fields.emplace_back("size", size);
  return Value::object(std::string(kQuantizedName), Value::tuple({}),
                       Value::dict(std::move(fields)));
}

void CompositeCalls::check_quantizer(const Arguments& args, std::span<const Value> parts,
                                     bool by_channel, const Shape& shape) const {
  if (!by_channel) {
    if (parts[1].kind() != Value::Kind::real && parts[1].kind() != Value::Kind::integer)
      wrong(args, "a scale that is no number");
    if (parts[2].kind() != Value::Kind::integer) wrong(args, "a zero point that is no integer");
    return;
  }
  if (!has_shape(parts[1]) || !has_shape(parts[2]))
    wrong(args, "scales or zero points that are no tensors");
  if (parts[3].kind() != Value::Kind::integer || parts[3].as_int() < 0 ||
      parts[3].as_int() >= static_cast<std::int64_t>(shape.size()))
    wrong(args, concat("an axis that the ", shape.size(), " dimensions do not have"));
  const std::int64_t channels = shape[static_cast<std::size_t>(parts[3].as_int())];
  for (const Value& one : parts.subspan(1, 2)) {
    if (one.as_tensor().dim() != 1 || one.as_tensor().size(0) != channels)
      wrong(args, concat("not a scale and a zero point for each of ", channels, " channels"));
  }
}

Value CompositeCalls::of_nested(const Arguments& args, int depth) {
  need(args, 4, 4);
  const char* const names[] = {"buffer", "sizes", "strides", "offsets"};
  charge_entries(4);
  std::vector<Value::Entry> fields;
  for (std::size_t i = 0; i < 4; ++i) {
    Value part = value(args.items[i], depth + 1);
    if (!has_shape(part)) wrong(args, concat("its ", names[i], " are no tensor"));
    fields.emplace_back(names[i], std::move(part));
  }
  return Value::object(std::string(kNestedName), Value::tuple({}), Value::dict(std::move(fields)));
}

}  // namespace tenon
