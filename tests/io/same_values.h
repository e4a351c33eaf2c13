// Whether two trees of values say the same, with everything a file should keep.
#pragma once

#include <cstring>
#include <map>
#include <string>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {

struct SameOptions {
  bool strides = true;       // safetensors keeps elements in order
  bool attributes = true;    // of tensors
  bool shared_lists = true;  // what was one object is one
  bool bits = true;          // that a tensor is a view of conjugates
  bool storages = true;      // which tensors share one
};

class SameValues {
 public:
  explicit SameValues(SameOptions options = {}) : options_(options) {}

  // Empty, or where they differ.
  std::string differ(const Value& a, const Value& b, const std::string& at = "top") {
    using Kind = Value::Kind;
    if (a.kind() != b.kind()) return at + ": " + a.type_name() + " and " + b.type_name();
    if (a.is_tensor()) return tensors(a.as_tensor(), b.as_tensor(), at);
    const bool shares = a.kind() == Kind::list || a.kind() == Kind::dict || a.kind() == Kind::set;
    if (shares && options_.shared_lists) {
      const auto [place, fresh] = pairs_.try_emplace(a.identity(), b.identity());
      if (place->second != b.identity()) return at + ": is not the object it was";
      if (!fresh) return {};
    }
    switch (a.kind()) {
      case Kind::real: {
        const double x = a.as_real(), y = b.as_real();
        return std::memcmp(&x, &y, sizeof x) == 0 ? "" : at + ": another number";
      }
      case Kind::list:
      case Kind::tuple:
      case Kind::set: {
        if (a.items().size() != b.items().size()) return at + ": another length";
        for (std::size_t i = 0; i < a.items().size(); ++i) {
          std::string inside = differ(a.items()[i], b.items()[i], at + "." + std::to_string(i));
          if (!inside.empty()) return inside;
        }
        return {};
      }
      case Kind::dict: {
        if (a.is_ordered_dict() != b.is_ordered_dict()) return at + ": ordered, and not";
        if (a.entries().size() != b.entries().size()) return at + ": another length";
        for (std::size_t i = 0; i < a.entries().size(); ++i) {
          const auto& [key, item] = a.entries()[i];
          if (!(key == b.entries()[i].first)) return at + ": another key than " + key.repr();
          std::string inside = differ(item, b.entries()[i].second, at + "." + key.repr());
          if (!inside.empty()) return inside;
        }
        return differ(a.attributes(), b.attributes(), at + "'s attributes");
      }
      case Kind::object: {
        if (a.object_name() != b.object_name()) return at + ": another name";
        std::string inside = differ(a.object_arguments(), b.object_arguments(), at + "()");
        if (inside.empty()) inside = differ(a.object_state(), b.object_state(), at + "{}");
        return inside;
      }
      default: return a == b ? "" : at + ": " + a.repr() + " and " + b.repr();
    }
  }

 private:
  std::string tensors(const Tensor& a, const Tensor& b, const std::string& at) {
    if (a.dtype() != b.dtype()) return at + ": another dtype";
    if (a.shape() != b.shape()) return at + ": another shape";
    if (options_.strides && a.stride() != b.stride()) return at + ": other strides";
    if (options_.bits && (a.is_conj() != b.is_conj() || a.is_neg() != b.is_neg()))
      return at + ": other bits";
    if (a.is_parameter() != b.is_parameter()) return at + ": a parameter, and none";
    if (a.requires_grad() != b.requires_grad()) return at + ": another requires_grad";
    if (a.is_meta() != b.is_meta()) return at + ": meta, and not";
    const auto [place, fresh] = pairs_.try_emplace(Value(a).identity(), Value(b).identity());
    if (place->second != Value(b).identity()) return at + ": is not the tensor it was";
    if (!fresh || a.is_meta()) return {};
    const auto storage = pairs_.try_emplace(a.storage().identity(), b.storage().identity()).first;
    if (options_.storages && storage->second != b.storage().identity())
      return at + ": is not in the storage it was";
    if (packed(a) != packed(b)) return at + ": other elements";
    if (!options_.attributes) return {};
    const auto x = a.attributes(), y = b.attributes();
    if (x.size() != y.size()) return at + ": other attributes";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].first != y[i].first) return at + ": another attribute than " + x[i].first;
      std::string inside = differ(x[i].second, y[i].second, at + "->" + x[i].first);
      if (!inside.empty()) return inside;
    }
    return {};
  }
  // The bytes of the elements in order.
  static std::string packed(const Tensor& tensor) {
    std::string out;
    const Layout& layout = tensor.layout();
    if (layout.numel() == 0) return out;
    if (layout.conj || layout.neg) return packed(tensor.resolve_conj().resolve_neg());
    const auto itemsize = static_cast<std::size_t>(layout.itemsize());
    if (tensor.is_contiguous())
      return {static_cast<const char*>(tensor.data_ptr()),
              static_cast<std::size_t>(tensor.nbytes())};
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

  SameOptions options_;
  std::map<const void*, const void*> pairs_;
};

inline void expect_same(const Value& a, const Value& b, const SameOptions& options = {}) {
  EXPECT_EQ(SameValues(options).differ(a, b), "");
}

}  // namespace tenon
