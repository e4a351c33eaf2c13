#include "tenon/value.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <ostream>
#include <random>
#include <unordered_map>

#include "base/text.h"
#include "core/python_text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

struct StringNode final : RefCounted {
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
struct DictNode final : RefCounted {
  std::vector<Value::Entry> entries;
  Value attributes;
};
struct ObjectNode final : RefCounted {
  std::string name;
  Value arguments, state;
};

// The digits of a number of any size: the lowest nine at a time.
std::string decimal(std::string_view bytes) {
  std::vector<std::uint32_t> words((bytes.size() + 3) / 4 + 1);
  const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
  for (std::size_t i = 0; i < words.size() * 4; ++i) {
    const auto byte = i < bytes.size() ? static_cast<unsigned char>(bytes[i])
                                       : static_cast<unsigned char>(negative ? 0xff : 0);
    words[i / 4] |= std::uint32_t{byte} << (i % 4 * 8);
  }
  if (negative) {
    std::uint64_t carry = 1;
    for (std::uint32_t& word : words) {
      carry += static_cast<std::uint32_t>(~word);
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::string out;
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
      rest = rest << 32 | words[i];
      words[i] = static_cast<std::uint32_t>(rest / 1'000'000'000);
      rest %= 1'000'000'000;
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    for (int digit = 0; digit < 9 && (rest != 0 || !words.empty()); ++digit, rest /= 10)
      out.push_back(static_cast<char>('0' + rest % 10));
  }
  if (out.empty()) out = "0";
  if (negative) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

// Python gives up at this depth too. Destruction has no such limit.
constexpr int kMaxDepth = 1000;

[[noreturn]] void too_deep() {
  throw ValueError(concat("the value is nested in more than ", kMaxDepth, " levels"));
}

bool equal(const Value& a, const Value& b, int depth) {
  if (a.kind() != b.kind()) return false;
  if (depth > kMaxDepth) too_deep();
  switch (a.kind()) {
    case Value::Kind::none: return true;
    case Value::Kind::boolean: return a.as_bool() == b.as_bool();
    case Value::Kind::integer: return a.as_int() == b.as_int();
    case Value::Kind::real: return a.as_real() == b.as_real();
    case Value::Kind::complex: return a.as_complex() == b.as_complex();
    case Value::Kind::string: return a.as_string() == b.as_string();
    case Value::Kind::bytes: return a.as_bytes() == b.as_bytes();
    case Value::Kind::big_integer: return a.big_bytes() == b.big_bytes();
    case Value::Kind::object:
      return a.object_name() == b.object_name() &&
             equal(a.object_arguments(), b.object_arguments(), depth + 1) &&
             equal(a.object_state(), b.object_state(), depth + 1);
    case Value::Kind::tensor: return a.as_tensor().is(b.as_tensor());
    case Value::Kind::dtype: return a.as_dtype() == b.as_dtype();
    case Value::Kind::device: return a.as_device() == b.as_device();
    case Value::Kind::size: return a.as_size() == b.as_size();
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::tuple: {
      const auto x = a.items(), y = b.items();
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [&](const Value& p, const Value& q) { return equal(p, q, depth + 1); });
    }
    case Value::Kind::dict: {
      const auto x = a.entries(), y = b.entries();
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [&](const Value::Entry& p, const Value::Entry& q) {
                          return equal(p.first, q.first, depth + 1) &&
                                 equal(p.second, q.second, depth + 1);
                        });
    }
  }
  __builtin_unreachable();
}

void write(std::string& out, const Value& value, int depth);

void write_items(std::string& out, std::span<const Value> items, int depth) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ", ";
    write(out, items[i], depth);
  }
}

// As Python shows bytes: b'a\\x00'
void write_bytes(std::string& out, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "b'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out += '\'';
}

void write(std::string& out, const Value& value, int depth) {
  if (depth > kMaxDepth) too_deep();
  switch (value.kind()) {
    case Value::Kind::none: out += "None"; return;
    case Value::Kind::boolean: append(out, value.as_bool()); return;
    case Value::Kind::integer: append(out, value.as_int()); return;
    case Value::Kind::real: append(out, value.as_real()); return;
    case Value::Kind::complex: out += Scalar(value.as_complex()).repr(); return;
    case Value::Kind::string: out += python_quoted(value.as_string()); return;
    case Value::Kind::bytes: write_bytes(out, value.as_bytes()); return;
    case Value::Kind::big_integer: out += value.digits(); return;
    case Value::Kind::object:
      out += value.object_name();
      write(out, value.object_arguments(), depth + 1);
      return;
    case Value::Kind::set:
      out += value.items().empty() ? "set(" : "{";
      write_items(out, value.items(), depth + 1);
      out += value.items().empty() ? ")" : "}";
      return;
    case Value::Kind::tensor: out += value.as_tensor().repr(); return;
    case Value::Kind::dtype: out += repr(value.as_dtype()); return;
    case Value::Kind::device: out += value.as_device().repr(); return;
    case Value::Kind::size: out += value.as_size().repr(); return;
    case Value::Kind::list:
      out += '[';
      write_items(out, value.items(), depth + 1);
      out += ']';
      return;
    case Value::Kind::tuple:
      out += '(';
      write_items(out, value.items(), depth + 1);
      out += value.items().size() == 1 ? ",)" : ")";
      return;
    case Value::Kind::dict: {
      out += '{';
      const char* separator = "";
      for (const auto& [key, item] : value.entries()) {
        out += separator;
        write(out, key, depth + 1);
        out += ": ";
        write(out, item, depth + 1);
        separator = ", ";
      }
      out += '}';
      return;
    }
  }
}

// Of text that a file chooses: with numbers of this process's own, so that nobody can choose text
// whose hashes meet.
std::size_t hash_text(std::string_view text) {
  static const std::array<std::uint64_t, 2> own = [] {
    std::random_device device;
    const auto word = [&] { return (std::uint64_t{device()} << 32 | device()) | 1; };
    return std::array<std::uint64_t, 2>{word(), word()};
  }();
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = own[0] ^ text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), n);
    hash = fold(hash ^ word, own[1]) + own[0];
    text.remove_prefix(n);
  }
  return fold(hash, own[1]);
}

// Equal values have equal hashes.
std::size_t hash(const Value& value, int depth) {
  if (depth > kMaxDepth) too_deep();
  const auto mix = [](std::size_t a, std::size_t b) { return (a ^ b) * 0x9e3779b97f4a7c15u; };
  const auto kind = static_cast<std::size_t>(value.kind());
  switch (value.kind()) {
    case Value::Kind::string: return mix(kind, hash_text(value.as_string()));
    case Value::Kind::bytes: return mix(kind, hash_text(value.as_bytes()));
    case Value::Kind::big_integer: return mix(kind, hash_text(value.big_bytes()));
    case Value::Kind::boolean: return mix(kind, value.as_bool() ? 1 : 0);
    case Value::Kind::integer: return mix(kind, std::hash<std::int64_t>()(value.as_int()));
    case Value::Kind::real: return mix(kind, std::hash<double>()(value.as_real()));
    case Value::Kind::tensor: return mix(kind, value.as_tensor().id());
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::tuple: {
      std::size_t all = kind;
      for (const Value& item : value.items()) all = mix(all, hash(item, depth + 1));
      return all;
    }
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

}  // namespace

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
Value::Value(std::string value) : kind_(Kind::string), content_(new StringNode(std::move(value))) {}
Value::Value(Shape value) : kind_(Kind::size), content_(new SizeNode(std::move(value))) {}

Value::Value(const Tensor& value) noexcept {
  if (!value.defined()) return;
  kind_ = Kind::tensor;
  content_.cell = Ref<detail::Cell>(value.cell()).detach();
}

Value::Value(std::span<const Tensor> values)
    : Value(list(std::vector<Value>(values.begin(), values.end()))) {}

Value Value::list(std::vector<Value> items) {
  Value value;
  value.content_.node = new SequenceNode(std::move(items));
  value.kind_ = Kind::list;
  return value;
}

Value Value::tuple(std::vector<Value> items) {
  Value value = list(std::move(items));
  value.kind_ = Kind::tuple;
  return value;
}

Value Value::set(std::vector<Value> items) {
  Value value = list(std::move(items));
  value.kind_ = Kind::set;
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
  auto node = make_ref<ObjectNode>();
  node->name = std::move(name);
  node->arguments = std::move(arguments);
  node->state = std::move(state);
  Value value;
  value.content_.node = node.detach();
  value.kind_ = Kind::object;
  return value;
}

Value Value::dict(std::vector<Entry> entries) { return dict(std::move(entries), Value()); }

Value Value::dict(std::vector<Entry> entries, Value attributes) {
  auto node = make_ref<DictNode>();
  node->attributes = std::move(attributes);
  std::unordered_multimap<std::size_t, std::size_t> places;
  for (Entry& entry : entries) {
    const std::size_t key_hash = hash(entry.first, 0);
    auto [place, end] = places.equal_range(key_hash);
    while (place != end && !(node->entries[place->second].first == entry.first)) ++place;
    if (place != end) {
      node->entries[place->second].second = std::move(entry.second);
    } else {
      places.emplace(key_hash, node->entries.size());
      node->entries.push_back(std::move(entry));
    }
  }
  Value value;
  value.content_.node = node.detach();
  value.kind_ = Kind::dict;
  return value;
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
  for (const Entry& entry : entries()) {
    if (entry.first == key) return &entry.second;
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

std::string Value::digits() const {
  return kind_ == Kind::big_integer ? decimal(big_bytes()) : concat(as_int());
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

bool operator==(const Value& a, const Value& b) { return equal(a, b, 0); }

std::string Value::type_name() const {
  switch (kind_) {
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::big_integer: return "int";
    case Kind::real: return "float";
    case Kind::complex: return "complex";
    case Kind::string: return "str";
    case Kind::bytes: return "bytes";
    case Kind::set: return "set";
    case Kind::object: return object_name();
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::tensor: return "Tensor";
    case Kind::dtype: return "torch.dtype";
    case Kind::device: return "torch.device";
    case Kind::size: return "torch.Size";
  }
  __builtin_unreachable();
}

std::string Value::repr() const {
  std::string out;
  write(out, *this, 0);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << value.repr(); }

}  // namespace tenon
