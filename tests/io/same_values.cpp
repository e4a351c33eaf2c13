#include "io/same_values.h"

#include <cstring>
#include <utility>
#include <vector>

namespace tenon {

namespace {

using Kind = Value::Kind;

std::string below(std::string at, std::string inside) {
  return inside.empty() ? inside : std::move(at) + inside;
}

// The bytes of the elements in order.
std::string packed(const Tensor& tensor) {
  std::string out;
  const Layout& layout = tensor.layout();
  if (layout.numel() == 0) return out;
  if (layout.conj || layout.neg) return packed(tensor.resolve_conj().resolve_neg());
  const auto itemsize = static_cast<std::size_t>(layout.itemsize());
  if (tensor.is_contiguous())
    return {static_cast<const char*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
  std::vector<std::int64_t> index(layout.shape.size());
  for (;;) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * layout.strides[d];
    out.append(static_cast<const char*>(tensor.data_ptr()) + place * layout.itemsize(), itemsize);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == layout.shape[d - 1]) index[--d] = 0;
    if (d == 0) return out;
  }
}

}  // namespace

bool SameValues::is_another(const void* a, const void* b, bool& fresh) {
  const auto [place, is_new] = pairs_.try_emplace(a, b);
  fresh = is_new;
  return place->second != b;
}

std::string SameValues::values(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return ": " + a.type_name() + " and " + b.type_name();
  if (a.is_tensor()) return tensors(a.as_tensor(), b.as_tensor());
  const bool shares = a.kind() == Kind::list || a.kind() == Kind::dict || a.kind() == Kind::set;
  if (shares && options_.shared_lists) {
    bool fresh = false;
    if (is_another(a.identity(), b.identity(), fresh)) return ": is not the object it was";
    if (!fresh) return {};
  }
  switch (a.kind()) {
    case Kind::real: {
      const double x = a.as_real(), y = b.as_real();
      return std::memcmp(&x, &y, sizeof x) == 0 ? "" : ": another number";
    }
    case Kind::list:
    case Kind::tuple:
    case Kind::set: return items(a, b);
    case Kind::dict: return entries(a, b);
    case Kind::object: return objects(a, b);
    default: break;
  }
  // A long text in many places is compared once.
  if (a.identity() != nullptr) {
    const void*& equal = equals_[a.identity()];
    if (equal == b.identity()) return {};
    if (a == b) {
      equal = b.identity();
      return {};
    }
  }
  return a == b ? "" : ": " + a.repr() + " and " + b.repr();
}

std::string SameValues::items(const Value& a, const Value& b) {
  if (a.items().size() != b.items().size()) return ": another length";
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    std::string inside = values(a.items()[i], b.items()[i]);
    if (!inside.empty()) return below("." + std::to_string(i), std::move(inside));
  }
  return {};
}

std::string SameValues::entries(const Value& a, const Value& b) {
  if (a.is_ordered_dict() != b.is_ordered_dict()) return ": ordered, and not";
  if (a.entries().size() != b.entries().size()) return ": another length";
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    const auto& [key, item] = a.entries()[i];
    if (!(key == b.entries()[i].first)) return ": another key than " + key.repr();
    std::string inside = values(item, b.entries()[i].second);
    if (!inside.empty()) return below("." + key.repr(), std::move(inside));
  }
  return below("'s attributes", values(a.attributes(), b.attributes()));
}

std::string SameValues::objects(const Value& a, const Value& b) {
  if (a.object_name() != b.object_name()) return ": another name";
  std::string inside = values(a.object_arguments(), b.object_arguments());
  if (!inside.empty()) return below("()", std::move(inside));
  return below("{}", values(a.object_state(), b.object_state()));
}

std::string SameValues::tensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return ": another dtype";
  if (a.shape() != b.shape()) return ": another shape";
  if (options_.strides && a.stride() != b.stride()) return ": other strides";
  if (options_.bits && (a.is_conj() != b.is_conj() || a.is_neg() != b.is_neg()))
    return ": other bits";
  if (a.is_parameter() != b.is_parameter()) return ": a parameter, and none";
  if (a.requires_grad() != b.requires_grad()) return ": another requires_grad";
  if (a.is_meta() != b.is_meta()) return ": meta, and not";
  bool fresh = false;
  if (is_another(Value(a).identity(), Value(b).identity(), fresh))
    return ": is not the tensor it was";
  if (!fresh || a.is_meta()) return {};
  if (is_another(a.storage().identity(), b.storage().identity(), fresh) && options_.storages)
    return ": is not in the storage it was";
  if (packed(a) != packed(b)) return ": other elements";
  return options_.attributes ? attributes(a, b) : std::string();
}

std::string SameValues::attributes(const Tensor& a, const Tensor& b) {
  const auto x = a.attributes(), y = b.attributes();
  if (x.size() != y.size()) return ": other attributes";
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].first != y[i].first) return ": another attribute than " + x[i].first;
    std::string inside = values(x[i].second, y[i].second);
    if (!inside.empty()) return below("->" + x[i].first, std::move(inside));
  }
  return {};
}

}  // namespace tenon
