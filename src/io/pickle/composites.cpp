#include "io/pickle/composites.h"

#include "base/stored_dtype.h"
#include "base/text.h"
#include "io/pickle/global_names.h"
#include "io/pickle/rebuild.h"
#include "io/support/shown.h"
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
  // Nothing beside its parts: that would not be written.
  const std::size_t parts = state.entries().size();
  if (layout == "torch.sparse_coo") {
    return has(state, "indices", Kind::tensor) &&
           parts == (state.find("is_coalesced") != nullptr ? 5u : 4u);
  }
  if (parts != 5) return false;
  if (layout == "torch.sparse_csr" || layout == "torch.sparse_bsr")
    return has(state, "crow_indices", Kind::tensor) && has(state, "col_indices", Kind::tensor);
  if (layout == "torch.sparse_csc" || layout == "torch.sparse_bsc")
    return has(state, "ccol_indices", Kind::tensor) && has(state, "row_indices", Kind::tensor);
  return false;
}

bool is_quantized(const Value& state) {
  if (!has(state, "data", Kind::tensor) || !has(state, "qscheme", Kind::string) ||
      !has(state, "size", Kind::size) || !is_scheme(state.find("qscheme")->as_string()))
    return false;
  const Tensor data = state.find("data")->as_tensor();
  const Shape& size = state.find("size")->as_size();
  const bool few_bits = values_in_element(data.dtype()) != 1;
  if (info(data.dtype()).kind != DTypeKind::quantized || (!few_bits && !(data.shape() == size)))
    return false;
  for (const std::int64_t one : size) {
    if (one < 0) return false;
  }
  if (!has(state, "axis", Kind::integer)) {
    return state.entries().size() == 5 &&
           (has(state, "scale", Kind::real) || has(state, "scale", Kind::integer)) &&
           has(state, "zero_point", Kind::integer);
  }
  const std::int64_t axis = state.find("axis")->as_int();
  return state.entries().size() == 6 && has(state, "scales", Kind::tensor) &&
         has(state, "zero_points", Kind::tensor) && axis >= 0 &&
         axis < static_cast<std::int64_t>(size.size());
}

}  // namespace

bool is_scheme(std::string_view name) {
  constexpr std::string_view kModule = "torch.";
  return name.starts_with(kModule) &&
         meaning_of("torch", name.substr(kModule.size())).role == Role::scheme;
}

bool is_whole_composite(const Value& object) {
  const std::string& name = object.object_name();
  const Value &state = object.object_state(), &arguments = object.object_arguments();
  if (!object.object_items().is_none() || arguments.kind() != Kind::tuple) return false;
  if (name == kLayoutName) {
    return state.is_none() && arguments.items().size() == 1 &&
           arguments.items()[0].kind() == Kind::string &&
           arguments.items()[0].as_string().size() <= kLongestWord;
  }
  if (name == kCounterName) {
    return state.is_none() && arguments.items().size() == 1 &&
           arguments.items()[0].kind() == Kind::dict;
  }
  if (!arguments.items().empty()) return false;
  if (is_scheme(name)) return state.is_none();
  if (state.kind() != Kind::dict) return false;
  for (const auto& [key, part] : state.entries()) {
    if (key.kind() != Kind::string) return false;
  }
  if (name == kSparseName) return is_sparse(state);
  if (name == kQuantizedName) return is_quantized(state);
  if (name == kNestedName) {
    if (state.entries().size() != 4) return false;
    for (const char* part : {"buffer", "sizes", "strides", "offsets"}) {
      if (!has(state, part, Kind::tensor)) return false;
    }
    return true;
  }
  return false;
}

void check_whole_composite(const Value& object) {
  if (is_whole_composite(object)) return;
  throw TypeError(
      concat("save: an object of ", shown(object.object_name()),
             " is only a name here, and files hold tensors and plain values: leave it out"));
}

}  // namespace tenon
