#include "same_tree.h"

#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tenon/extend/body.h"
#include "tenon/storage.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

class Comparison {
 public:
  explicit Comparison(bool layouts) : layouts_(layouts) {}

  std::string differ(const Value& a, const Value& b, const std::string& at) {
    if (a.kind() != b.kind()) return at + ": " + a.type_name() + " and " + b.type_name();
    // What was found the same once is so wherever it is again.
    if (a.identity() != nullptr && !same_.emplace(a.identity(), b.identity()).second) return {};
    switch (a.kind()) {
      case Kind::real: return numbers(a.as_real(), b.as_real(), at);
      case Kind::complex: {
        const auto x = a.as_complex(), y = b.as_complex();
        const std::string wrong = numbers(x.real(), y.real(), at);
        return wrong.empty() ? numbers(x.imag(), y.imag(), at) : wrong;
      }
      case Kind::list:
      case Kind::tuple:
      case Kind::set: return items(a, b, at);
      case Kind::dict: return dicts(a, b, at);
      case Kind::object: return objects(a, b, at);
      case Kind::tensor: return tensors(a.as_tensor(), b.as_tensor(), at);
      default: return a == b ? "" : at + ": another " + a.type_name();
    }
  }

 private:
  static std::string numbers(double x, double y, const std::string& at) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y) ? "" : at + ": another number";
  }
  std::string items(const Value& a, const Value& b, const std::string& at) {
    if (a.items().size() != b.items().size()) return at + ": another length";
    for (std::size_t i = 0; i < a.items().size(); ++i) {
      std::string inside = differ(a.items()[i], b.items()[i], at + "." + std::to_string(i));
      if (!inside.empty()) return inside;
    }
    return {};
  }
  std::string dicts(const Value& a, const Value& b, const std::string& at) {
    if (a.is_ordered_dict() != b.is_ordered_dict()) return at + ": ordered, and not";
    std::string inside = entries(a, b, at);
    return inside.empty() ? attributes(a.attributes(), b.attributes(), at) : inside;
  }
  std::string entries(const Value& a, const Value& b, const std::string& at) {
    const auto x = entries_of(a), y = entries_of(b);
    if (x.size() != y.size()) return at + ": another length";
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string below = at + "." + std::to_string(i);
      std::string inside = differ(x[i].first, y[i].first, below + "'s key");
      if (inside.empty()) inside = differ(x[i].second, y[i].second, below);
      if (!inside.empty()) return inside;
    }
    return {};
  }
  // Notes of safetensors that do not fit are shown as they are read, and not written again.
  std::vector<Value::Entry> entries_of(const Value& dict) const {
    std::vector<Value::Entry> out;
    for (const Value::Entry& entry : dict.entries()) {
      const bool note = !layouts_ && entry.first.kind() == Kind::string &&
                        entry.first.as_string().starts_with("tenon.");
      if (!note) out.push_back(entry);
    }
    return out;
  }
  // No attributes and an empty dict of them are the same in a file, and what kind of dict they are
  // in is nothing: in Python it is the object's own.
  std::string attributes(const Value& a, const Value& b, const std::string& at) {
    const Value nothing = Value::dict({});
    return entries(a.is_none() ? nothing : a, b.is_none() ? nothing : b, at + "'s attributes");
  }
  std::string objects(const Value& a, const Value& b, const std::string& at) {
    if (a.object_name() != b.object_name()) return at + ": another name";
    std::string inside = differ(a.object_arguments(), b.object_arguments(), at + "()");
    if (inside.empty()) inside = differ(a.object_state(), b.object_state(), at + "{}");
    if (inside.empty()) inside = differ(a.object_items(), b.object_items(), at + "[]");
    return inside;
  }

  std::string tensors(const Tensor& a, const Tensor& b, const std::string& at) {
    if (a.dtype() != b.dtype()) return at + ": another dtype";
    if (a.is_parameter() != b.is_parameter()) return at + ": a parameter, and none";
    if (a.requires_grad() != b.requires_grad()) return at + ": another requires_grad";
    if (a.body().is_wrapper() || b.body().is_wrapper())
      return a.body().is_wrapper() == b.body().is_wrapper() ? "" : at + ": uninitialised, and not";
    const Layout &x = a.layout(), &y = b.layout();
    if (x.shape != y.shape) return at + ": another shape";
    if (a.is_meta() != b.is_meta()) return at + ": meta, and not";
    if (!layouts_) return elements(a, b, at);
    if (x.strides != y.strides || x.offset != y.offset) return at + ": other strides";
    if (x.conj != y.conj || x.neg != y.neg) return at + ": other bits";
    std::string inside = storages(a.storage(), b.storage(), at);
    return inside.empty() ? attributes_of(a, b, at) : inside;
  }
  std::string storages(const Storage& a, const Storage& b, const std::string& at) {
    if (a.data() == nullptr || !same_.emplace(a.identity(), b.identity()).second) return {};
    if (a.nbytes() != b.nbytes()) return at + ": a storage of another size";
    return std::memcmp(a.data(), b.data(), a.nbytes()) == 0 ? "" : at + ": other bytes";
  }
  std::string attributes_of(const Tensor& a, const Tensor& b, const std::string& at) {
    const auto x = a.attributes(), y = b.attributes();
    if (x.size() != y.size()) return at + ": other attributes";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].first != y[i].first) return at + ": another attribute";
      std::string inside = differ(x[i].second, y[i].second, at + "->" + std::to_string(i));
      if (!inside.empty()) return inside;
    }
    return {};
  }
  // Of tensors that are small, and hold what they say.
  static std::string elements(const Tensor& a, const Tensor& b, const std::string& at) {
    const Layout &x = a.layout(), &y = b.layout();
    const bool bits = x.conj || x.neg || y.conj || y.neg;
    if (bits || a.is_meta() || x.numel() == 0 || x.numel() > 4096) return {};
    const auto size = static_cast<std::size_t>(x.itemsize());
    const auto* from = static_cast<const char*>(a.storage().data());
    const auto* to = static_cast<const char*>(b.storage().data());
    std::vector<std::int64_t> index(x.shape.size());
    for (;;) {
      std::int64_t here = x.offset, there = y.offset;
      for (std::size_t d = 0; d < index.size(); ++d) {
        here += index[d] * x.strides[d];
        there += index[d] * y.strides[d];
      }
      if (std::memcmp(from + here * x.itemsize(), to + there * x.itemsize(), size) != 0)
        return at + ": other elements";
      std::size_t d = index.size();
      while (d > 0 && ++index[d - 1] == x.shape[d - 1]) index[--d] = 0;
      if (d == 0) return {};
    }
  }

  bool layouts_;
  std::set<std::pair<const void*, const void*>> same_;
};

}  // namespace

std::string differs(const Value& a, const Value& b, bool layouts) {
  return Comparison(layouts).differ(a, b, "top");
}

}  // namespace tenon
