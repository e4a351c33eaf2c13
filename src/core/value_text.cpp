// Values as Python shows them.
#include "core/value_text.h"

#include <algorithm>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/visible.h"
#include "core/python_text.h"
#include "core/value_depth.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

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

class Repr {
 public:
  explicit Repr(std::size_t most) noexcept : most_(most) {}

  void write(const Value& value, int depth) {
    if (depth > kMaxDepth) too_deep();
    // Every value is a character at least, so that this bounds the steps too.
    if (out.size() > most_) return;
    switch (value.kind()) {
      case Value::Kind::none: out += "None"; return;
      case Value::Kind::boolean: append(out, value.as_bool()); return;
      case Value::Kind::integer: append(out, value.as_int()); return;
      case Value::Kind::real: append(out, value.as_real()); return;
      case Value::Kind::complex: out += Scalar(value.as_complex()).repr(); return;
      case Value::Kind::string: return text(value.as_string());
      case Value::Kind::bytes: write_bytes(out, fitting(value.as_bytes())); return;
      case Value::Kind::big_integer: out += digits(value); return;
      case Value::Kind::object:
        out += visible(fitting(value.object_name()));
        return write(value.object_arguments(), depth + 1);
      case Value::Kind::set:
        return items(value.items().empty() ? "set(" : "{", value.items(),
                     value.items().empty() ? ")" : "}", depth);
      case Value::Kind::tensor: out += value.as_tensor().repr(); return;
      case Value::Kind::dtype: out += repr(value.as_dtype()); return;
      case Value::Kind::device: out += value.as_device().repr(); return;
      case Value::Kind::size: out += value.as_size().repr(); return;
      case Value::Kind::list: return items("[", value.items(), "]", depth);
      case Value::Kind::tuple:
        return items("(", value.items(), value.items().size() == 1 ? ",)" : ")", depth);
      case Value::Kind::dict: return dict(value, depth);
    }
  }

  std::string out;

 private:
  // As much of a text as `out` has room for, and a little more; no byte of it becomes less than
  // one. The text may be in many places, and the rest of it would be written to be thrown away.
  std::string_view fitting(std::string_view text) const {
    const std::size_t room = most_ - out.size();
    if (text.size() <= room) return text;
    std::size_t end = room + 1;
    const auto inside_a_character = [&] {
      return (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
    };
    while (end < text.size() && end < room + 4 && inside_a_character()) ++end;
    return text.substr(0, end);
  }
  void text(std::string_view whole) {
    const std::string_view part = fitting(whole);
    if (part.size() == whole.size()) {
      out += python_quoted(whole);
      return;
    }
    // The rest has a say in which quotes there are.
    const char* const quote = whole.find('"') != whole.npos    ? "\""
                              : whole.find('\'') != whole.npos ? "'"
                                                               : "";
    out += python_quoted(concat(part, quote));
  }
  // Finding them takes the square of their number: once for an integer that is in many places.
  const std::string& digits(const Value& value) {
    const auto [known, fresh] = digits_.try_emplace(value.identity());
    if (fresh) known->second = value.digits();
    return known->second;
  }
  void items(const char* begin, std::span<const Value> items, const char* end, int depth) {
    out += begin;
    for (std::size_t i = 0; i < items.size() && out.size() <= most_; ++i) {
      if (i != 0) out += ", ";
      write(items[i], depth + 1);
    }
    out += end;
  }
  // As Python 3.12 and later have it.
  void dict(const Value& value, int depth) {
    const bool ordered = value.is_ordered_dict();
    if (ordered && value.entries().empty()) {
      out += "OrderedDict()";
      return;
    }
    out += ordered ? "OrderedDict({" : "{";
    const char* separator = "";
    for (const auto& [key, item] : value.entries()) {
      if (out.size() > most_) break;
      out += separator;
      write(key, depth + 1);
      out += ": ";
      write(item, depth + 1);
      separator = ", ";
    }
    out += ordered ? "})" : "}";
  }

  std::size_t most_;
  std::unordered_map<const void*, std::string> digits_;  // of long integers, by identity
};

// How long the text is at most if every part is written once, however often it is used.
class LengthOfParts {
 public:
  void add(const Value& value, int depth) {
    if (depth > kMaxDepth) too_deep();
    bytes += 4;  // what is between two values
    if (value.identity() != nullptr && !known_.insert(value.identity()).second) return;
    constexpr std::size_t kNumber = 24, kBrackets = 16;
    switch (value.kind()) {
      case Value::Kind::string: bytes += 10 * value.as_string().size(); return;
      case Value::Kind::bytes: bytes += 4 * value.as_bytes().size(); return;
      case Value::Kind::big_integer: bytes += 3 * value.big_bytes().size(); return;
      case Value::Kind::size: bytes += kBrackets + kNumber * value.as_size().size(); return;
      case Value::Kind::tensor: return tensor(value.as_tensor());
      case Value::Kind::list:
      case Value::Kind::tuple:
      case Value::Kind::set:
        bytes += kBrackets;
        for (const Value& item : value.items()) add(item, depth + 1);
        return;
      case Value::Kind::dict:
        bytes += kBrackets;
        for (const auto& [key, item] : value.entries()) {
          add(key, depth + 1);
          add(item, depth + 1);
        }
        return;
      case Value::Kind::object:
        bytes += value.object_name().size();
        return add(value.object_arguments(), depth + 1);
      case Value::Kind::complex: bytes += 2 * kNumber; return;
      default: bytes += kNumber; return;
    }
  }

  std::size_t bytes = 0;

 private:
  // The elements that it shows are in its storage.
  void tensor(const Tensor& tensor) {
    constexpr std::size_t kWithoutElements = 1024, kPerByte = 16;
    bytes += kWithoutElements;
    if (!tensor.body().is_wrapper() && tensor.storage().defined() &&
        known_.insert(tensor.storage().identity()).second)
      bytes += kPerByte * tensor.storage().nbytes();
  }

  std::unordered_set<const void*> known_;
};

}  // namespace

std::string Value::digits() const {
  return kind_ == Kind::big_integer ? decimal(big_bytes()) : concat(as_int());
}

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
    case Kind::object: return visible(object_name(), 200);
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return is_ordered_dict() ? "OrderedDict" : "dict";
    case Kind::tensor: return "Tensor";
    case Kind::dtype: return "torch.dtype";
    case Kind::device: return "torch.device";
    case Kind::size: return "torch.Size";
  }
  __builtin_unreachable();
}

std::string repr_up_to(const Value& value, std::size_t most) {
  // The text of a user-defined tensor is its class's code, which may destroy what it is in.
  const Value held = value;
  Repr repr(most);
  repr.write(held, 0);
  return std::move(repr.out);
}

std::string short_repr(const Value& value) {
  constexpr std::size_t kMost = 200;
  std::string text = repr_up_to(value, kMost);
  if (text.size() <= kMost) return text;
  text.resize(kMost);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
  return text + "...";
}

std::string Value::repr() const {
  constexpr std::size_t kAlways = std::size_t{16} << 20;
  const Value held = *this;
  std::string text = repr_up_to(held, kAlways);
  if (text.size() <= kAlways) return text;
  LengthOfParts parts;
  parts.add(held, 0);
  const std::size_t most = kAlways + parts.bytes;
  text = std::string();
  text = repr_up_to(held, most);
  if (text.size() <= most) return text;
  throw ValueError(concat("the repr of the value has more than ", most,
                          " bytes, as parts of it are shared: look at a part of it"));
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << value.repr(); }

}  // namespace tenon
