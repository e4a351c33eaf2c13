// Values as Python shows them.
#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "core/python_text.h"
#include "core/value_depth.h"
#include "tenon/value.h"

namespace tenon {

namespace {

constexpr std::size_t kLongestRepr = std::size_t{256} << 20;

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
  // Every value is a character at least, so that this bounds the steps too.
  if (out.size() > kLongestRepr) {
    throw ValueError(concat("the repr of the value has more than ", kLongestRepr,
                            " bytes, as parts of it are shared: look at a part of it"));
  }
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
      // As Python 3.12 and later have it.
      const bool ordered = value.is_ordered_dict();
      if (ordered && value.entries().empty()) {
        out += "OrderedDict()";
        return;
      }
      out += ordered ? "OrderedDict({" : "{";
      const char* separator = "";
      for (const auto& [key, item] : value.entries()) {
        out += separator;
        write(out, key, depth + 1);
        out += ": ";
        write(out, item, depth + 1);
        separator = ", ";
      }
      out += ordered ? "})" : "}";
      return;
    }
  }
}

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
    case Kind::object: return object_name();
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

std::string Value::repr() const {
  std::string out;
  write(out, *this, 0);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << value.repr(); }

}  // namespace tenon
