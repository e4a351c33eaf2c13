#include "optim/state_conversion.h"

#include <algorithm>
#include <vector>

#include "core/alias.h"
#include "core/value_depth.h"
#include "tenon/layout.h"

namespace tenon::optim {

namespace {

// So many elements of the tensor's storage, one after another, as they are stored.
Tensor row_of(const Tensor& tensor, std::int64_t begin, std::int64_t count) {
  Layout row = tensor.layout();
  row.shape = Shape({count});
  row.strides = Dims({1});
  row.offset = begin;
  row.conj = row.neg = false;
  return Tensor(alias_body(tensor.body(), std::move(row)));
}

}  // namespace

Value StateConversion::of(const Value& value, const Tensor& parameter, As as) {
  return convert(value, target_of(parameter), as, 0);
}

StateConversion::Target& StateConversion::target_of(const Tensor& parameter) {
  const Device device = parameter.device();
  std::optional<DType> dtype;
  if (is_floating_point(parameter.dtype())) dtype = parameter.dtype();
  const auto found = std::find_if(targets_.begin(), targets_.end(), [&](const Target& target) {
    return target.dtype == dtype && target.device == device;
  });
  if (found != targets_.end()) return *found;
  return targets_.emplace_back(Target{.dtype = dtype, .device = device});
}

Value StateConversion::convert(const Value& value, Target& target, As as, int depth) {
  const Value::Kind kind = value.kind();
  const bool is_tensor = kind == Value::Kind::tensor;
  if (is_tensor && as == As::step) return value;
  if (is_tensor && as == As::own)
    return value.as_tensor().to({.dtype = target.dtype, .device = target.device});
  if (!is_tensor && kind != Value::Kind::dict && kind != Value::Kind::list &&
      kind != Value::Kind::tuple)
    return value;
  if (depth > kMaxDepth) too_deep();
  if (const auto found = target.made.find(value.identity()); found != target.made.end())
    return found->second.value;
  Value made;
  if (is_tensor) {
    const Tensor tensor = value.as_tensor();
    const auto shared = over_row(tensor, target);
    made = shared ? *shared : tensor.to({.dtype = target.dtype, .device = target.device});
  } else if (kind == Value::Kind::dict) {
    std::vector<Value::Entry> entries;
    entries.reserve(value.entries().size());
    for (const auto& [key, item] : value.entries()) {
      const bool step = key.kind() == Value::Kind::string && key.as_string() == "step";
      entries.emplace_back(key, convert(item, target, step ? As::step : As::other, depth + 1));
    }
    made = Value::dict(std::move(entries));
  } else {
    std::vector<Value> items;
    items.reserve(value.items().size());
    for (const Value& item : value.items())
      items.push_back(convert(item, target, As::other, depth + 1));
    made =
        kind == Value::Kind::list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  target.made.emplace(value.identity(), Made{value, made});
  return made;
}

// PyTorch makes every tensor one of its own. That is done while it takes no more than the storage
// has, which is always so where tensors are over different elements; from there on the storage is
// converted as a whole, and tensors share the result as they share the storage.
std::optional<Tensor> StateConversion::over_row(const Tensor& tensor, Target& target) {
  if (tensor.body().is_wrapper() || tensor.storage().data() == nullptr) return std::nullopt;
  const Layout layout = tensor.layout();
  const DType dtype = target.dtype.value_or(layout.dtype);
  const std::int64_t numel = layout.numel();
  if (numel == 0 || (layout.dtype == dtype && layout.device == target.device)) return std::nullopt;

  const auto held = static_cast<std::int64_t>(tensor.storage().nbytes() /
                                              static_cast<std::size_t>(layout.itemsize()));
  const std::int64_t reach = required_bytes(layout) / layout.itemsize() - layout.offset;
  Part& part = target.parts[{tensor.storage().identity(), layout.dtype}];
  part.storage = tensor.storage();
  const std::int64_t cost = std::min(numel, reach);
  const bool whole = cost > held - part.spent;
  if (!whole) part.spent += cost;
  if (!whole && numel <= reach) return std::nullopt;

  Layout own = layout;
  own.dtype = dtype;
  own.conj = layout.conj && is_complex(dtype);
  if (!whole) own.offset = 0;
  check_layout(own);  // elements of a wider dtype may be too many to count
  const bool requires_grad = tensor.requires_grad() && is_differentiable(dtype);
  Tensor row = whole ? part.row : Tensor();
  if (!row.defined()) {
    row = (whole ? row_of(tensor, 0, held) : row_of(tensor, layout.offset, reach))
              .to({.dtype = target.dtype, .device = target.device});
    if (whole) part.row = row;
  }
  own.device = row.device();
  own.offset += row.layout().offset;
  Tensor made(alias_body(row.body(), std::move(own)));
  if (requires_grad) made.requires_grad_();
  return made;
}

}  // namespace tenon::optim
