#include "tenon/value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/hash_index.h"
#include "base/text.h"
#include "core/free_list.h"
#include "core/secret_hash.h"
#include "core/value_depth.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// What every checkpoint has by the thousand: the names, and the dicts of metadata.
template <class Node>
struct Recycled : RefCounted {
  static void* operator new(std::size_t size) { return FreeList<Node>::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    FreeList<Node>::release(memory, size);
  }
};
struct StringNode final : Recycled<StringNode> {
  explicit StringNode(std::string text) : text(std::move(text)) {}
  std::string text;
};
struct ComplexNode final : RefCounted {
  explicit ComplexNode(std::complex<double> number) : number(number) {}
  std::complex<double> number;
};
struct SizeNode final : RefCounted {
  explicit SizeNode(Shape shape) : shape(std::move(shape)) {}
  Shape shape;
};
struct SequenceNode final : RefCounted {
  explicit SequenceNode(std::vector<Value> items) : items(std::move(items)) {}
  std::vector<Value> items;
};
struct DictNode final : Recycled<DictNode> {
  std::vector<Value::Entry> entries;
  Value attributes;
  HashIndex places;  // of entries, where they are many
  bool ordered = false;
};

// Up to so many entries are compared one by one.
constexpr std::size_t kFew = 8;

struct ObjectNode final : RefCounted {
  std::string name;
  Value arguments, state, items;
};

// The integer that a float is, if 64 bits hold it.
std::optional<std::int64_t> whole_number(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Parts that were found equal, by their identities. What is one object in several places is
// compared once: without that, values that share their parts take a time that doubles with every
// level. What equals the same part is equal, so that not each pair of parts is compared either. A
// comparison ends at the first parts that are not equal.
class EqualParts {
 public:
  // Most comparisons are of a few values, and end before remembering would gain anything.
  bool known(const Value& a, const Value& b) {
    if (++compared_ <= kMany) return false;
    const void *const x = a.identity(), *const y = b.identity();
    return equal_to_.contains(x) && equal_to_.contains(y) && first_of(x) == first_of(y);
  }
  void remember(const Value& a, const Value& b) {
    if (compared_ <= kMany) return;
    const void *const x = a.identity(), *const y = b.identity();
    equal_to_.try_emplace(x, x);
    equal_to_.try_emplace(y, y);
    equal_to_.at(first_of(y)) = first_of(x);
  }

  static constexpr std::size_t kMany = 256;

 private:
  // The same one for all parts that are equal.
  const void* first_of(const void* part) {
    for (;;) {
      const void*& next = equal_to_.at(part);
      if (next == part) return part;
      part = next = equal_to_.at(next);  // half the way for those who come after
    }
  }

  std::size_t compared_ = 0;
  std::unordered_map<const void*, const void*> equal_to_;  // another part; of the first, itself
};

// Compares trees of values.
class Comparison {
 public:
  bool equal(const Value& a, const Value& b, int depth) {
    if (a.kind() != b.kind()) return false;
    if (depth > kMaxDepth) too_deep();
    switch (a.kind()) {
      case Value::Kind::none: return true;
      case Value::Kind::boolean: return a.as_bool() == b.as_bool();
      case Value::Kind::integer: return a.as_int() == b.as_int();
      case Value::Kind::real: return a.as_real() == b.as_real();
      case Value::Kind::complex: return a.as_complex() == b.as_complex();
      case Value::Kind::string: return equal_bytes(a, a.as_string(), b, b.as_string());
      case Value::Kind::bytes: return equal_bytes(a, a.as_bytes(), b, b.as_bytes());
      case Value::Kind::big_integer: return equal_bytes(a, a.big_bytes(), b, b.big_bytes());
      case Value::Kind::tensor: return a.as_tensor().is(b.as_tensor());
      case Value::Kind::dtype: return a.as_dtype() == b.as_dtype();
      case Value::Kind::device: return a.as_device() == b.as_device();
      case Value::Kind::size: return a.as_size() == b.as_size();
      default: break;
    }
    // One object is not always equal to itself: it may hold a NaN.
    if (equal_.known(a, b)) return true;
    if (!equal_parts(a, b, depth)) return false;  // and then nothing is equal any more
    equal_.remember(a, b);
    return true;
  }

 private:
  bool equal_bytes(const Value& a, std::string_view in_a, const Value& b, std::string_view in_b) {
    if (a.identity() == b.identity()) return true;
    constexpr std::size_t kShort = 64;
    if (in_a.size() <= kShort || in_a.size() != in_b.size()) return in_a == in_b;
    if (equal_.known(a, b)) return true;
    if (in_a != in_b) return false;
    equal_.remember(a, b);
    return true;
  }
  bool equal_parts(const Value& a, const Value& b, int depth) {
    if (a.kind() == Value::Kind::object) {
      return a.object_name() == b.object_name() &&
             equal(a.object_arguments(), b.object_arguments(), depth + 1) &&
             equal(a.object_state(), b.object_state(), depth + 1) &&
             equal(a.object_items(), b.object_items(), depth + 1);
    }
    if (a.kind() == Value::Kind::dict) {
      const auto x = a.entries(), y = b.entries();
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [&](const Value::Entry& p, const Value::Entry& q) {
                          return equal(p.first, q.first, depth + 1) &&
                                 equal(p.second, q.second, depth + 1);
                        });
    }
    const auto x = a.items(), y = b.items();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](const Value& p, const Value& q) { return equal(p, q, depth + 1); });
  }

  EqualParts equal_;
};

// Whether Python finds two keys equal, if not both are tuples.
bool same_plain_key(const Value& a, const Value& b) {
  const auto number = [](const Value& value) {
    return value.kind() == Value::Kind::boolean || value.kind() == Value::Kind::integer ||
           value.kind() == Value::Kind::real || value.kind() == Value::Kind::complex;
  };
  // A torch.Size is a tuple of integers.
  if (a.kind() == Value::Kind::tuple && b.kind() == Value::Kind::size) return same_plain_key(b, a);
  if (a.kind() == Value::Kind::size && b.kind() == Value::Kind::tuple) {
    const auto same = [](std::int64_t n, const Value& item) {
      return same_plain_key(Value(n), item);
    };
    return std::equal(a.as_size().begin(), a.as_size().end(), b.items().begin(), b.items().end(),
                      same);
  }
  if (a.kind() == b.kind() || !number(a) || !number(b)) return a == b;
  if (a.kind() == Value::Kind::boolean) return same_plain_key(Value(std::int64_t{a.as_bool()}), b);
  if (b.kind() == Value::Kind::boolean || b.kind() < a.kind()) return same_plain_key(b, a);
  // An integer, or a real, and something of a wider type.
  if (b.kind() == Value::Kind::complex)
    return b.as_complex().imag() == 0 && same_plain_key(a, Value(b.as_complex().real()));
  const auto whole = whole_number(b.as_real());
  return whole && *whole == a.as_int();
}

// The tuples in keys, in the same way as Comparison.
class KeyComparison {
 public:
  bool same(const Value& a, const Value& b, int depth) {
    if (a.kind() != Value::Kind::tuple || b.kind() != Value::Kind::tuple)
      return same_plain_key(a, b);
    if (depth > kMaxDepth) too_deep();
    if (a.identity() == b.identity() || equal_.known(a, b)) return true;
    const auto x = a.items(), y = b.items();
    const auto same_part = [&](const Value& p, const Value& q) { return same(p, q, depth + 1); };
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end(), same_part)) return false;
    equal_.remember(a, b);
    return true;
  }

 private:
  EqualParts equal_;
};

// Hashes a key. What is one object in many places is hashed once, as it is compared once.
class KeyHash {
 public:
  std::size_t of(const Value& value, int depth);

 private:
  std::size_t of_items(const Value& value, int depth) {
    const bool many = ++hashed_ > EqualParts::kMany;
    if (many) {
      const auto found = known_.find(value.identity());
      if (found != known_.end()) return found->second;
    }
    auto all = static_cast<std::size_t>(value.kind());
    for (const Value& item : value.items()) all = hash_number(of(item, depth + 1), all);
    if (many) known_.emplace(value.identity(), all);
    return all;
  }

  std::size_t hashed_ = 0;
  std::map<const void*, std::size_t> known_;  // lists, tuples and sets, by identity
};

std::size_t KeyHash::of(const Value& value, int depth) {
  if (depth > kMaxDepth) too_deep();
  const auto kind = static_cast<std::size_t>(value.kind());
  const auto of_integer = [](std::int64_t number) {
    return hash_number(static_cast<std::uint64_t>(number),
                       static_cast<std::size_t>(Value::Kind::integer));
  };
  const auto of_real = [&](double number) {
    if (const auto whole = whole_number(number)) return of_integer(*whole);
    return hash_number(std::hash<double>()(number), static_cast<std::size_t>(Value::Kind::real));
  };
  switch (value.kind()) {
    case Value::Kind::string: return hash_text(value.as_string());
    case Value::Kind::bytes: return hash_text(value.as_bytes()) ^ kind;
    case Value::Kind::big_integer: return hash_text(value.big_bytes()) ^ kind;
    case Value::Kind::boolean: return of_integer(value.as_bool() ? 1 : 0);
    case Value::Kind::integer: return of_integer(value.as_int());
    case Value::Kind::real: return of_real(value.as_real());
    case Value::Kind::tensor: return hash_number(value.as_tensor().id(), kind);
    case Value::Kind::complex:
      if (value.as_complex().imag() == 0) return of_real(value.as_complex().real());
      return hash_number(std::hash<double>()(value.as_complex().real()),
                         hash_number(std::hash<double>()(value.as_complex().imag()), kind));
    case Value::Kind::dtype: return hash_number(static_cast<std::uint64_t>(value.as_dtype()), kind);
    case Value::Kind::device: return hash_text(value.as_device().str()) ^ kind;
    case Value::Kind::size: {
      auto all = static_cast<std::size_t>(Value::Kind::tuple);
      for (const std::int64_t n : value.as_size()) all = hash_number(of_integer(n), all);
      return all;
    }
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::tuple: return of_items(value, depth);
    default: return kind;
  }
}

bool has_node(Value::Kind kind) noexcept {
  switch (kind) {
    case Value::Kind::string:
    case Value::Kind::complex:
    case Value::Kind::list:
    case Value::Kind::tuple:
    case Value::Kind::set:
    case Value::Kind::bytes:
    case Value::Kind::big_integer:
    case Value::Kind::object:
    case Value::Kind::dict:
    case Value::Kind::size: return true;
    default: return false;
  }
}

// What keys nearly always are is compared and hashed without more ado.
inline bool is_same(const Value& a, const Value& b) {
  if (a.kind() == Value::Kind::string && b.kind() == Value::Kind::string)
    return a.as_string() == b.as_string();
  const bool tuples = a.kind() == Value::Kind::tuple && b.kind() == Value::Kind::tuple;
  return tuples ? KeyComparison().same(a, b, 0) : same_plain_key(a, b);
}
inline std::size_t hash(const Value& key) {
  if (key.kind() == Value::Kind::string) return hash_text(key.as_string());
  return KeyHash().of(key, 0);
}

}  // namespace

bool same_key(const Value& a, const Value& b) { return is_same(a, b); }
std::size_t hash_key(const Value& key) { return hash(key); }

Value::Value(const Value& other) noexcept : kind_(other.kind_), content_(other.content_) {
  if (has_node(kind_)) {
    Ref<RefCounted>::share(content_.node).detach();
  } else if (kind_ == Kind::tensor) {
    Ref<detail::Cell>::share(content_.cell).detach();
  }
}

void Value::release() noexcept {
  if (has_node(kind_)) {
    Ref<RefCounted>::adopt(content_.node);
  } else if (kind_ == Kind::tensor) {
    Ref<detail::Cell>::adopt(content_.cell);
  }
}

Value::Value(std::complex<double> value) : kind_(Kind::complex), content_(new ComplexNode(value)) {}
RefCounted* Value::text_node(std::string value) { return new StringNode(std::move(value)); }
Value::Value(Shape value) : kind_(Kind::size), content_(new SizeNode(std::move(value))) {}

Value::Value(const Tensor& value) noexcept {
  if (!value.defined()) return;
  kind_ = Kind::tensor;
  content_.cell = Ref<detail::Cell>(value.cell()).detach();
}

Value::Value(std::span<const Tensor> values)
    : Value(list(std::vector<Value>(values.begin(), values.end()))) {}

Value Value::sequence(Kind kind, std::vector<Value> items) {
  Value value;
  value.content_.node = new SequenceNode(std::move(items));
  value.kind_ = kind;
  return value;
}

Value Value::bytes(std::string bytes) {
  Value value(std::move(bytes));
  value.kind_ = Kind::bytes;
  return value;
}

Value Value::big_integer(std::string_view bytes) {
  const auto sign = [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; };
  while (bytes.size() > 1 && (bytes.back() == 0 || bytes.back() == '\xff') &&
         sign(bytes.back()) == sign(bytes[bytes.size() - 2])) {
    bytes.remove_suffix(1);
  }
  if (bytes.size() <= 8) {
    std::uint64_t number = !bytes.empty() && sign(bytes.back()) ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(number);
  }
  Value value{std::string(bytes)};
  value.kind_ = Kind::big_integer;
  return value;
}

Value Value::object(std::string name, Value arguments, Value state) {
  return object(std::move(name), std::move(arguments), std::move(state), Value());
}

Value Value::object(std::string name, Value arguments, Value state, Value items) {
  auto node = make_ref<ObjectNode>();
  node->name = std::move(name);
  node->arguments = std::move(arguments);
  node->state = std::move(state);
  node->items = std::move(items);
  Value value;
  value.content_.node = node.detach();
  value.kind_ = Kind::object;
  return value;
}

Value Value::make_dict(std::vector<Entry> entries, Value attributes, bool ordered) {
  auto node = make_ref<DictNode>();
  node->ordered = ordered || !attributes.is_none();
  node->attributes = std::move(attributes);
  const bool many = entries.size() > kFew;
  if (many) node->places.reserve(entries.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto same = [&](std::size_t at) { return is_same(entries[at].first, entries[i].first); };
    std::size_t place = 0;
    std::size_t key_hash = 0;
    if (many) {
      key_hash = hash(entries[i].first);
      const std::uint32_t found = node->places.find(key_hash, same);
      place = found == HashIndex::kNone ? kept : found;
    } else {
      while (place < kept && !same(place)) ++place;
    }
    if (place < kept) {
      entries[place].second = std::move(entries[i].second);
      continue;
    }
    if (many) node->places.insert(key_hash, static_cast<std::uint32_t>(kept));
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(kept), entries.end());
  node->entries = std::move(entries);
  Value value;
  value.content_.node = node.detach();
  value.kind_ = Kind::dict;
  return value;
}

bool Value::is_ordered_dict() const noexcept {
  return kind_ == Kind::dict && static_cast<const DictNode*>(content_.node)->ordered;
}

const void* Value::identity() const noexcept {
  switch (kind_) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
    case Kind::dtype:
    case Kind::device: return nullptr;
    case Kind::tensor: return content_.cell;
    default: return content_.node;
  }
}

void Value::wrong_kind(const char* expected) const {
  throw TypeError(
      concat("expected a value of type ", expected, ", but this is of type ", type_name()));
}

bool Value::as_bool() const {
  if (kind_ != Kind::boolean) wrong_kind("bool");
  return content_.integer != 0;
}

std::int64_t Value::as_int() const {
  if (kind_ != Kind::integer) wrong_kind("int");
  return content_.integer;
}

double Value::as_real() const {
  if (kind_ == Kind::integer) return static_cast<double>(content_.integer);
  if (kind_ != Kind::real) wrong_kind("float");
  return content_.real;
}

std::complex<double> Value::as_complex() const {
  if (kind_ == Kind::complex) return static_cast<const ComplexNode*>(content_.node)->number;
  if (kind_ != Kind::integer && kind_ != Kind::real) wrong_kind("complex");
  return as_real();
}

const std::string& Value::as_string() const {
  if (kind_ != Kind::string) wrong_kind("str");
  return static_cast<const StringNode*>(content_.node)->text;
}

Tensor Value::as_tensor() const {
  if (kind_ != Kind::tensor) wrong_kind("Tensor");
  return Tensor(Ref<detail::Cell>::share(content_.cell));
}

DType Value::as_dtype() const {
  if (kind_ != Kind::dtype) wrong_kind("torch.dtype");
  return content_.dtype;
}

Device Value::as_device() const {
  if (kind_ != Kind::device) wrong_kind("torch.device");
  return content_.device;
}

const Shape& Value::as_size() const {
  if (kind_ != Kind::size) wrong_kind("torch.Size");
  return static_cast<const SizeNode*>(content_.node)->shape;
}

std::span<const Value> Value::items() const {
  if (kind_ != Kind::list && kind_ != Kind::tuple && kind_ != Kind::set)
    wrong_kind("list, tuple or set");
  return static_cast<const SequenceNode*>(content_.node)->items;
}

std::span<const Value::Entry> Value::entries() const {
  if (kind_ != Kind::dict) wrong_kind("dict");
  return static_cast<const DictNode*>(content_.node)->entries;
}

const Value* Value::find(const Value& key) const {
  if (kind_ != Kind::dict) wrong_kind("dict");
  const auto& node = static_cast<const DictNode&>(*content_.node);
  const auto same = [&](std::size_t at) { return is_same(node.entries[at].first, key); };
  if (node.entries.size() > kFew) {
    const std::uint32_t found = node.places.find(hash(key), same);
    return found == HashIndex::kNone ? nullptr : &node.entries[found].second;
  }
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    if (same(i)) return &node.entries[i].second;
  }
  return nullptr;
}

Value Value::attributes() const {
  if (kind_ != Kind::dict) wrong_kind("dict");
  return static_cast<const DictNode*>(content_.node)->attributes;
}

const std::string& Value::as_bytes() const {
  if (kind_ != Kind::bytes) wrong_kind("bytes");
  return static_cast<const StringNode*>(content_.node)->text;
}

const std::string& Value::big_bytes() const {
  if (kind_ != Kind::big_integer) wrong_kind("int");
  return static_cast<const StringNode*>(content_.node)->text;
}

namespace {

const ObjectNode& object_node(const Value& value, const RefCounted* node) {
  if (value.kind() != Value::Kind::object)
    throw TypeError(concat("expected an object, but this is of type ", value.type_name()));
  return static_cast<const ObjectNode&>(*node);
}

}  // namespace

const std::string& Value::object_name() const { return object_node(*this, content_.node).name; }
const Value& Value::object_arguments() const { return object_node(*this, content_.node).arguments; }
const Value& Value::object_state() const { return object_node(*this, content_.node).state; }
const Value& Value::object_items() const { return object_node(*this, content_.node).items; }

bool operator==(const Value& a, const Value& b) { return Comparison().equal(a, b, 0); }

}  // namespace tenon
