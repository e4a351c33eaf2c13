#include "io/pickle/written_composites.h"

#include "base/stored_dtype.h"
#include "base/text.h"
#include "core/uninitialized.h"
#include "io/pickle/rebuild.h"
#include "io/pickle/sparse.h"
#include "io/read/records.h"
#include "io/read/tensors.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

[[noreturn]] void refuse(const Value& object, std::string_view what) {
  throw ValueError(concat("save: a ", object.object_name(), " whose parts do not fit: ", what,
                          "; leave it out"));
}

void check_sparse(const Value& object, ReadMeter& meter) {
  try {
    for (const auto& [indices, bounds] : index_bounds(object, "save")) {
      // Those that stay in a file were looked at there; those on meta are not written.
      if (!indices.device().is_cpu()) continue;
      check_not_repeated(indices.shape(), indices.dtype(), indices.storage().nbytes(), "save");
      meter.work(static_cast<std::uint64_t>(indices.numel()));
      check_indices(packed_copy(indices), bounds, "save", 0);
    }
  } catch (const FormatError& error) {
    throw ValueError(error.what());
  }
  const Value* coalesced = object.object_state().find("is_coalesced");
  if (coalesced != nullptr && !coalesced->is_none() && coalesced->kind() != Kind::boolean)
    refuse(object, "is_coalesced is no bool");
}

void check_few_bits(const Value& object, const Tensor& data, const Shape& size) {
  const auto bytes = bytes_of_few_bits(size, data.dtype());
  if (!bytes) refuse(object, concat("sizes ", bracketed(size), " overflow"));
  if (data.layout().offset != 0 || !data.layout().is_contiguous() || data.numel() < *bytes) {
    refuse(object, concat("sizes ", bracketed(size), " need ", *bytes,
                          " bytes one behind the other, and its data has ", data.numel()));
  }
}

void check_quantized(const Value& object) {
  const Value& state = object.object_state();
  const Tensor data = state.find("data")->as_tensor();
  const Shape& size = state.find("size")->as_size();
  check_dimensions(size);
  if (values_in_element(data.dtype()) != 1) check_few_bits(object, data, size);
  const Value* axis = state.find("axis");
  const bool by_channel = state.find("qscheme")->as_string().starts_with("torch.per_channel");
  if (by_channel != (axis != nullptr)) refuse(object, "a scheme of channels goes with an axis");
  if (!by_channel) return;
  const std::int64_t channels = size[static_cast<std::size_t>(axis->as_int())];
  for (const char* name : {"scales", "zero_points"}) {
    const Tensor each = state.find(name)->as_tensor();
    if (is_uninitialized(each.body()) || each.dim() != 1 || each.size(0) != channels)
      refuse(object, concat("its ", name, " are not one for each of ", channels, " channels"));
  }
}

}  // namespace

void check_written_composite(const Value& object, ReadMeter& meter) {
  const std::string& name = object.object_name();
  if (object.object_state().kind() != Kind::dict) return;  // it has no parts
  for (const auto& [key, part] : object.object_state().entries()) {
    if (part.is_tensor() && is_uninitialized(part.as_tensor().body()))
      refuse(object, concat("its ", key.as_string(), " has no shape yet"));
  }
  if (name == kSparseName) check_sparse(object, meter);
  if (name == kQuantizedName) check_quantized(object);
}

}  // namespace tenon
