#include "json.h"

#include <tenon/uninitialized.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/module_state.h"
#include "core/value_text.h"
#include "io/rebuild.h"
#include "text.h"

namespace tenon::cli {

void JsonWriter::raw(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() > 1 << 16) flush();
}
void JsonWriter::text(std::string_view value) {
  buffer_ += '"';
  append_json(buffer_, value);
  raw("\"");
}
void JsonWriter::real(double value) {
  if (std::isfinite(value)) return raw(Value(value).repr());
  in("float", [&] { text(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"); });
}
void JsonWriter::flush() {
  std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
  buffer_.clear();
}

namespace {

class Values {
 public:
  Values(JsonWriter& out, std::string name) : out_(out), name_(std::move(name)) {}

  void write(const Value& value, bool top = false) {
    switch (value.kind()) {
      case Value::Kind::none: out_.raw("null"); return;
      case Value::Kind::boolean: out_.raw(value.as_bool() ? "true" : "false"); return;
      case Value::Kind::integer: return integer(value);
      case Value::Kind::big_integer: return wrapped("int", value.digits());
      case Value::Kind::real: return out_.real(value.as_real());
      case Value::Kind::complex:
        out_.raw("{\"complex\": [");
        out_.real(value.as_complex().real());
        out_.raw(", ");
        out_.real(value.as_complex().imag());
        out_.raw("]}");
        return;
      case Value::Kind::string: out_.text(value.as_string()); return;
      case Value::Kind::bytes: return bytes(value.as_bytes());
      case Value::Kind::list: return items(value, top);
      case Value::Kind::tuple: return out_.in("tuple", [&] { items(value, top); });
      case Value::Kind::set: return out_.in("set", [&] { items(value, top); });
      case Value::Kind::size:
        return out_.in(
            "size", [&] { out_.list(value.as_size(), [&](std::int64_t n) { out_.number(n); }); });
      case Value::Kind::dtype: return wrapped("dtype", info(value.as_dtype()).name);
      case Value::Kind::device: return wrapped("device", value.as_device().str());
      case Value::Kind::tensor:
        return wrapped(is_lazy(value.as_tensor()) ? "uninitialized" : "tensor", name_);
      case Value::Kind::dict: return dict(value, top);
      case Value::Kind::object: return object(value, top);
    }
  }

 private:
  void wrapped(std::string_view key, std::string_view text) {
    out_.in(key, [&] { out_.text(text); });
  }
  void integer(const Value& value) {
    const std::int64_t number = value.as_int();
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (number >= -kExact && number <= kExact) return out_.number(number);
    wrapped("int", value.digits());
  }
  void bytes(std::string_view bytes) {
    std::string hex;
    hex.reserve(bytes.size() * 2);
    for (const char c : bytes) {
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
    wrapped("bytes", hex);
  }
  // A value below this one. A name may be empty, and what is below it begins with the dot then.
  void below(const Value& value, std::string_view key, bool top) {
    const std::size_t before = name_.size();
    if (!top) name_ += '.';
    name_ += key;
    write(value);
    name_.resize(before);
  }
  void items(const Value& value, bool top) {
    std::size_t i = 0;
    out_.list(value.items(), [&](const Value& item) { below(item, std::to_string(i++), top); });
  }
  static bool is_module_part(std::string_view key) {
    return std::find(std::begin(kModuleParts), std::end(kModuleParts), key) !=
           std::end(kModuleParts);
  }
  static std::string key_text(const Value& key) {
    return key.kind() == Value::Kind::string ? key.as_string() : key.repr();
  }
  void dict(const Value& value, bool top, bool module = false) {
    bool texts = true;
    for (const auto& [key, item] : value.entries())
      texts = texts && key.kind() == Value::Kind::string;
    if (texts) {
      out_.raw("{");
      bool first = true;
      for (const auto& [key, item] : value.entries()) {
        if (!first) out_.raw(", ");
        first = false;
        out_.text(key.as_string());
        out_.raw(": ");
        // The parts of a module are no part of its tensors' names.
        if (module && is_module_part(key.as_string()))
          write(item, top);
        else
          below(item, key.as_string(), top);
      }
      return out_.raw("}");
    }
    out_.in("dict", [&] {
      out_.list(value.entries(), [&](const Value::Entry& entry) {
        out_.raw("[");
        write(entry.first);
        out_.raw(", ");
        below(entry.second, key_text(entry.first), top);
        out_.raw("]");
      });
    });
  }
  void object(const Value& value, bool top) {
    if (value.object_name() == kSparseName || value.object_name() == kNestedName)
      return dict(value.object_state(), top);
    if (value.object_name() == kQuantizedName) return quantized(value.object_state(), top);
    if (value.object_name() == kLayoutName)
      return wrapped("layout", value.object_arguments().items()[0].as_string());
    out_.raw("{\"global\": ");
    out_.text(value.object_name());
    out_.raw(", \"args\": ");
    items(value.object_arguments(), top);
    out_.raw(", \"state\": ");
    const Value& state = value.object_state();
    if (is_module_state(state))
      dict(state, top, true);
    else
      write(state, top);
    if (!value.object_items().is_none()) {
      out_.raw(", \"items\": ");
      write(value.object_items(), top);
    }
    out_.raw("}");
  }
  // Its integers are listed under the tensor's own name.
  void quantized(const Value& state, bool top) {
    out_.raw("{\"layout\": \"torch.strided\"");
    for (const auto& [key, item] : state.entries()) {
      if (key.as_string() == "data") continue;
      out_.raw(", ");
      out_.text(key.as_string());
      out_.raw(": ");
      below(item, key.as_string(), top);
    }
    out_.raw("}");
  }

  JsonWriter& out_;
  std::string name_;  // of the value that is being written
};

class TextSize {
 public:
  explicit TextSize(std::uint64_t most) : most_(most) {}
  // `name` is how many bytes the name of the value has.
  void add(const Value& value, std::uint64_t name) {
    if (bytes_ > most_) return;
    bytes_ += 16;
    switch (value.kind()) {
      case Value::Kind::string: bytes_ += value.as_string().size(); break;
      case Value::Kind::bytes: bytes_ += value.as_bytes().size() * 2; break;
      case Value::Kind::big_integer: bytes_ += value.big_bytes().size() * 3; break;
      case Value::Kind::size: bytes_ += value.as_size().size() * 22; break;
      case Value::Kind::tensor: bytes_ += name; break;
      case Value::Kind::list:
      case Value::Kind::tuple:
      case Value::Kind::set:
        for (const Value& item : value.items()) add(item, name + 4);
        break;
      case Value::Kind::dict:
        for (const auto& [key, item] : value.entries()) {
          add(key, 0);
          const std::size_t own = key.kind() == Value::Kind::string
                                      ? key.as_string().size()
                                      : repr_up_to(key, static_cast<std::size_t>(most_)).size();
          if (own > most_) bytes_ = most_ + 1;
          add(item, name + 1 + own);
        }
        break;
      case Value::Kind::object:
        bytes_ += value.object_name().size();
        add(value.object_arguments(), name);
        add(value.object_state(), name);
        add(value.object_items(), name);
        break;
      default: break;
    }
  }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t most_, bytes_ = 0;
};

}  // namespace

void write_value(JsonWriter& out, const Value& value, const std::string& name) {
  Values(out, name).write(value, name.empty());
}

std::uint64_t text_size(const Value& value, std::uint64_t most) {
  TextSize size(most);
  size.add(value, 0);
  return size.bytes();
}

}  // namespace tenon::cli
