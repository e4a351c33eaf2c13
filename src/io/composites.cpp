#include "io/composites.h"

#include "io/rebuild.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

bool has(const Value& state, const char* name, Kind kind) {
  const Value* found = state.find(name);
  return found != nullptr && found->kind() == kind;
}

bool is_sparse(const Value& state) {
  if (!has(state, "layout", Kind::string) || !has(state, "values", Kind::tensor)) return false;
  if (!has(state, "size", Kind::size) && !has(state, "size", Kind::tuple)) return false;
  const std::string& layout = state.find("layout")->as_string();
  if (layout == "torch.sparse_coo") return has(state, "indices", Kind::tensor);
  if (layout == "torch.sparse_csr" || layout == "torch.sparse_bsr")
    return has(state, "crow_indices", Kind::tensor) && has(state, "col_indices", Kind::tensor);
  if (layout == "torch.sparse_csc" || layout == "torch.sparse_bsc")
    return has(state, "ccol_indices", Kind::tensor) && has(state, "row_indices", Kind::tensor);
  return false;
}

bool is_quantized(const Value& state) {
  if (!has(state, "data", Kind::tensor) || !has(state, "qscheme", Kind::string) ||
      !has(state, "size", Kind::size))
    return false;
  const Tensor data = state.find("data")->as_tensor();
  const Shape& size = state.find("size")->as_size();
  const bool few_bits = data.dtype() == quint4x2 || data.dtype() == quint2x4;
  if (info(data.dtype()).kind != DTypeKind::quantized || (!few_bits && !(data.shape() == size)))
    return false;
  for (const std::int64_t one : size) {
    if (one < 0) return false;
  }
  if (!has(state, "axis", Kind::integer)) {
    return (has(state, "scale", Kind::real) || has(state, "scale", Kind::integer)) &&
           has(state, "zero_point", Kind::integer);
  }
  const std::int64_t axis = state.find("axis")->as_int();
  return has(state, "scales", Kind::tensor) && has(state, "zero_points", Kind::tensor) &&
         axis >= 0 && axis < static_cast<std::int64_t>(size.size());
}

}  // namespace

bool is_whole_composite(const Value& object) {
  const std::string& name = object.object_name();
  const Value &state = object.object_state(), &arguments = object.object_arguments();
  if (!object.object_items().is_none() || arguments.kind() != Kind::tuple) return false;
  if (name == kLayoutName) {
    return state.is_none() && arguments.items().size() == 1 &&
           arguments.items()[0].kind() == Kind::string;
  }
  if (name == kCounterName) {
    return state.is_none() && arguments.items().size() == 1 &&
           arguments.items()[0].kind() == Kind::dict;
  }
  if (!arguments.items().empty()) return false;
  if (name.starts_with("torch.per_")) return state.is_none();
  if (state.kind() != Kind::dict) return false;
  for (const auto& [key, part] : state.entries()) {
    if (key.kind() != Kind::string) return false;
  }
  if (name == kSparseName) return is_sparse(state);
  if (name == kQuantizedName) return is_quantized(state);
  if (name == kNestedName) {
    for (const char* part : {"buffer", "sizes", "strides", "offsets"}) {
      if (!has(state, part, Kind::tensor)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace tenon
