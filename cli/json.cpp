#include "json.h"

#include <tenon/uninitialized.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "base/visible.h"
#include "core/module_state.h"
#include "core/value_text.h"
#include "io/pickle/rebuild.h"
#include "text.h"

namespace tenon::cli {

void JsonWriter::raw(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() > 1 << 16) flush();
}
void JsonWriter::text(std::string_view value) {
  raw("\"");
  // In pieces: it may be several times as long when it is escaped.
  constexpr std::size_t kPiece = 1 << 12;
  while (!value.empty()) {
    std::size_t end = 0;  // of a character
    while (end < value.size() && end < kPiece) end += first_character(value.substr(end)).length;
    append_json(buffer_, value.substr(0, end));
    value.remove_prefix(end);
    raw("");
  }
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

// Where a value is, which is the name of a tensor. It is put into words when there is one: keys may
// share what is long in them, and lead to none.
class Place {
 public:
  explicit Place(std::string name = {}) : name_(std::move(name)) {}

  // To what is under a key, or at a position if there is none. A name may be empty, and what is
  // below it begins with the dot then; below the top there is none.
  void enter(const Value* key, std::size_t position, bool top) {
    steps_.push_back({key, position, top, 0});
  }
  void leave() {
    if (named_ == steps_.size()) {
      name_.resize(steps_.back().before);
      --named_;
    }
    steps_.pop_back();
  }
  // `key_text` is called with keys that are no text.
  template <class KeyText>
  const std::string& name(KeyText&& key_text) {
    for (; named_ < steps_.size(); ++named_) {
      Step& step = steps_[named_];
      step.before = name_.size();
      if (!step.top) name_ += '.';
      if (step.key == nullptr)
        name_ += std::to_string(step.position);
      else if (step.key->kind() == Value::Kind::string)
        name_ += step.key->as_string();
      else
        name_ += key_text(*step.key);
    }
    return name_;
  }

 private:
  struct Step {
    const Value* key;
    std::size_t position;
    bool top;
    std::size_t before;  // how long the name is without it
  };
  std::vector<Step> steps_;
  std::string name_;
  std::size_t named_ = 0;  // so many of the steps are in it
};

class Values {
 public:
  Values(JsonWriter& out, std::string name) : out_(out), place_(std::move(name)) {}

  void write(const Value& value, bool top = false) {
    switch (value.kind()) {
      case Value::Kind::none: out_.raw("null"); return;
      case Value::Kind::boolean: out_.raw(value.as_bool() ? "true" : "false"); return;
      case Value::Kind::integer: return integer(value);
      case Value::Kind::big_integer: return wrapped("int", digits(value));
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
        return wrapped(is_lazy(value.as_tensor()) ? "uninitialized" : "tensor",
                       place_.name([&](const Value& key) { return key_text(key); }));
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
  // A value below this one.
  void below(const Value& value, const Value& key, bool top) {
    place_.enter(&key, 0, top);
    write(value);
    place_.leave();
  }
  void items(const Value& value, bool top) {
    std::size_t i = 0;
    out_.list(value.items(), [&](const Value& item) {
      place_.enter(nullptr, i++, top);
      write(item);
      place_.leave();
    });
  }
  static bool is_module_part(std::string_view key) {
    return std::find(std::begin(kModuleParts), std::end(kModuleParts), key) !=
           std::end(kModuleParts);
  }
  // What is one object in many places is put into words once: finding the digits of a long integer
  // takes the square of their number.
  const std::string& digits(const Value& value) {
    const auto [known, fresh] = digits_.try_emplace(value.identity());
    if (fresh) known->second = value.digits();
    return known->second;
  }
  // A key that is no text as a part of a name.
  std::string key_text(const Value& key) {
    return key.kind() == Value::Kind::big_integer ? digits(key) : key.repr();
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
          below(item, key, top);
      }
      return out_.raw("}");
    }
    out_.in("dict", [&] {
      out_.list(value.entries(), [&](const Value::Entry& entry) {
        out_.raw("[");
        write(entry.first);
        out_.raw(", ");
        below(entry.second, entry.first, top);
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
      below(item, key, top);
    }
    out_.raw("}");
  }

  JsonWriter& out_;
  Place place_;                                          // of the value that is being written
  std::unordered_map<const void*, std::string> digits_;  // of long integers, by identity
};

// Counts what Values writes, or a little more.
class TextSize {
 public:
  explicit TextSize(std::uint64_t most) : most_(most) {}

  void add(const Value& value) {
    if (bytes_ > most_) return;
    bytes_ += kAround;
    switch (value.kind()) {
      case Value::Kind::string: add_text(value.as_string()); break;
      case Value::Kind::bytes: bytes_ += value.as_bytes().size() * 2; break;
      case Value::Kind::integer: bytes_ += std::abs(value.as_real()) < 1e13 ? 0U : 18U; break;
      case Value::Kind::big_integer: bytes_ += digits_of(value) + work_of_new(value); break;
      case Value::Kind::real: add_real(value.as_real()); break;
      case Value::Kind::complex: bytes_ += 52; break;
      case Value::Kind::dtype:
      case Value::Kind::device: bytes_ += 32; break;
      case Value::Kind::size: bytes_ += value.as_size().size() * 22; break;
      case Value::Kind::tensor:
        bytes_ += 8;
        add_text(place_.name([&](const Value& key) { return key_text(key); }));
        break;
      case Value::Kind::list:
      case Value::Kind::tuple:
      case Value::Kind::set: add_items(value); break;
      case Value::Kind::dict: add_dict(value); break;
      case Value::Kind::object:
        bytes_ += 32;
        add_text(value.object_name());
        add(value.object_arguments());
        add(value.object_state());
        add(value.object_items());
        break;
      default: break;
    }
  }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  // What stands around most values, or is all of those that are short.
  static constexpr std::uint64_t kAround = 16;

  void add_real(double number) {
    std::string text;
    append(text, number);
    const std::size_t all = text.size() + (std::isfinite(number) ? 2 : 16);
    if (all > kAround) bytes_ += all - kAround;
  }
  void add_items(const Value& value) {
    std::size_t i = 0;
    for (const Value& item : value.items()) {
      if (bytes_ > most_) return;
      place_.enter(nullptr, i++, false);
      add(item);
      place_.leave();
    }
  }
  void add_dict(const Value& value) {
    for (const auto& [key, item] : value.entries()) {
      if (bytes_ > most_) return;
      add(key);
      if (key.kind() != Value::Kind::string) bytes_ += 4;
      place_.enter(&key, 0, false);
      add(item);
      place_.leave();
    }
  }
  // As append_json writes it.
  void add_text(std::string_view text) {
    while (!text.empty() && bytes_ <= most_) {
      const Character c = first_character(text);
      if (!c.whole) {
        bytes_ += 6;
      } else if (c.code == '"' || c.code == '\\') {
        bytes_ += 2;
      } else if (is_hidden(c.code)) {
        bytes_ += c.code < 0x10000 ? 6 : 12;
      } else {
        bytes_ += c.length;
      }
      text.remove_prefix(c.length);
    }
  }
  // As much of a key that is no text as is of interest. There is one for every key on the way.
  std::string key_text(const Value& key) {
    if (key.kind() == Value::Kind::big_integer) return std::string(digits_of(key), '0');
    add_work(key);
    if (bytes_ > most_) return {};
    std::string text = repr_up_to(key, most_ - bytes_);
    bytes_ += text.size();
    return text;
  }

  static std::size_t digits_of(const Value& integer) { return integer.big_bytes().size() * 3; }
  // Of finding the digits of a long integer: as the text that takes as long to write.
  static std::uint64_t work_of(const Value& integer) {
    const std::uint64_t size = integer.big_bytes().size();
    return size * size / 64;
  }
  // They are kept.
  std::uint64_t work_of_new(const Value& integer) {
    return known_.insert(integer.identity()).second ? work_of(integer) : 0;
  }
  // But not of those in keys.
  void add_work(const Value& key) {
    if (bytes_ > most_) return;
    if (key.kind() == Value::Kind::big_integer) bytes_ += work_of(key);
    if (key.kind() != Value::Kind::tuple) return;
    bytes_ += key.items().size();
    for (const Value& part : key.items()) add_work(part);
  }

  std::uint64_t most_, bytes_ = 0;
  Place place_;
  std::unordered_set<const void*> known_;  // long integers, by identity
};

}  // namespace

void write_value(JsonWriter& out, const Value& value, const std::string& name) {
  Values(out, name).write(value, name.empty());
}

std::uint64_t text_size(const Value& value, std::uint64_t most) {
  TextSize size(most);
  size.add(value);
  return size.bytes();
}

}  // namespace tenon::cli
