#include "io/json/value_json.h"

#include <simdjson.h>

#include <cmath>
#include <unordered_set>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/value_depth.h"
#include "io/pickle/composites.h"
#include "io/pickle/pickle.h"
#include "io/pickle/plain_key.h"
#include "io/pickle/written_composites.h"
#include "io/read/records.h"
#include "io/support/utf8.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using Kind = Value::Kind;
namespace json = simdjson::dom;

constexpr std::size_t kMostText = 32'000'000;

std::string real_text(double value) {
  if (std::isnan(value)) return R"({"float": "nan"})";
  if (std::isinf(value)) return value < 0 ? R"({"float": "-inf"})" : R"({"float": "inf"})";
  return Value(value).repr();  // Python's, which has a point or an exponent
}

class JsonText {
 public:
  JsonText(MeteredText& out, const TensorText& tensor, ReadMeter& meter)
      : out_(out), tensor_(tensor), meter_(meter) {}

  void value(const Value& value, int depth) {
    if (depth > kMaxDepth) too_deep();
    // Parts that are used in many places are written out for each.
    if (out_.size() > kMostText)
      throw ValueError("save: more than 32 million bytes of values beside the tensors");
    switch (value.kind()) {
      case Kind::none: out_ += "null"; return;
      case Kind::boolean: out_ += value.as_bool() ? "true" : "false"; return;
      case Kind::integer: out_ += std::to_string(value.as_int()); return;
      case Kind::big_integer:
        check_written_integer(value.big_bytes());
        return digits("int", value.big_bytes());
      case Kind::real: out_ += real_text(value.as_real()); return;
      case Kind::complex:
        out_ += concat(R"({"complex": [)", real_text(value.as_complex().real()), ", ",
                       real_text(value.as_complex().imag()), "]}");
        return;
      case Kind::string: return append_json_text(out_, value.as_string());
      case Kind::bytes: return digits("bytes", value.as_bytes());
      case Kind::list: return items(value.items(), depth);
      case Kind::tuple:
      case Kind::set:
        if (value.kind() == Kind::set) {
          for (const Value& item : value.items()) check_written_item(item, meter_);
        }
        out_ += value.kind() == Kind::tuple ? R"({"tuple": )" : R"({"set": )";
        items(value.items(), depth);
        out_ += "}";
        return;
      case Kind::dict: return dict(value, depth);
      case Kind::object: return object(value, depth);
      case Kind::tensor: tensor_(out_, value.as_tensor()); return;
      case Kind::dtype: return word("dtype", info(value.as_dtype()).name);
      case Kind::device: return word("device", value.as_device().str());
      case Kind::size: out_ += concat(R"({"size": )", json_numbers(value.as_size()), "}"); return;
    }
  }

 private:
  void word(const char* key, std::string_view text) {
    out_ += concat("{\"", key, "\": ");
    append_json_text(out_, text);
    out_ += "}";
  }
  // Bytes as hexadecimal digits.
  void digits(const char* key, std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out_ += concat("{\"", key, "\": \"");
    for (const char c : bytes) {
      out_ += kDigits[static_cast<unsigned char>(c) >> 4];
      out_ += kDigits[static_cast<unsigned char>(c) & 15];
    }
    out_ += "\"}";
  }
  void items(std::span<const Value> items, int depth) {
    out_ += "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += ", ";
      value(items[i], depth + 1);
    }
    out_ += "]";
  }
  void dict(const Value& dict, int depth) {
    out_ += dict.is_ordered_dict() ? R"({"ordered_dict": [)" : R"({"dict": [)";
    bool first = true;
    for (const auto& [key, item] : dict.entries()) {
      out_ += first ? "[" : ", [";
      first = false;
      check_written_key(key, meter_);
      value(key, depth + 1);
      out_ += ", ";
      value(item, depth + 1);
      out_ += "]";
    }
    out_ += "]";
    const Value attributes = dict.attributes();
    if (!attributes.is_none()) {
      out_ += R"(, "attributes": )";
      value(attributes, depth + 1);
    }
    out_ += "}";
  }
  void object(const Value& object, int depth) {
    // In how many places it may be, its elements are looked at once.
    if (checked_.insert(object.identity()).second) {
      meter_.memory(ReadMeter::kObject);
      check_whole_composite(object);
      check_written_composite(object, meter_);
    }
    out_ += R"({"object": [)";
    append_json_text(out_, object.object_name());
    for (const Value& part :
         {object.object_arguments(), object.object_state(), object.object_items()}) {
      out_ += ", ";
      value(part, depth + 1);
    }
    out_ += "]}";
  }

  MeteredText& out_;
  const TensorText& tensor_;
  ReadMeter& meter_;
  std::unordered_set<const void*> checked_;  // objects, by identity
};

class JsonReader {
 public:
  JsonReader(const std::function<Value(std::string_view)>& tensor,
             const std::function<void(const Value&)>& object,
             const std::function<void(const std::string&)>& refuse, ReadMeter& meter)
      : tensor_(tensor), object_(object), refuse_(refuse), meter_(meter) {}

  Value value(json::element element, int depth) {
    if (depth > kMaxDepth) refuse_("values in more than a thousand levels");
    meter_.work(4);
    meter_.memory(2 * sizeof(Value));
    switch (element.type()) {
      case json::element_type::NULL_VALUE: return {};
      case json::element_type::BOOL: return bool(element.get_bool());
      case json::element_type::INT64: return std::int64_t(element.get_int64());
      case json::element_type::DOUBLE: return double(element.get_double());
      case json::element_type::STRING: return text(element);
      case json::element_type::ARRAY: return Value::list(items(element, depth));
      case json::element_type::OBJECT: return object(element.get_object(), depth);
      default: refuse_("a number that is too large");
    }
    return {};
  }

 private:
  Value text(json::element element) {
    const std::string_view text = element.get_string();
    meter_.text(text.size());
    return text;
  }
  std::vector<Value> items(json::element element, int depth) {
    meter_.memory(2 * ReadMeter::kObject);
    std::vector<Value> out;
    for (const json::element item : json::array(element.get_array()))
      out.push_back(value(item, depth + 1));
    return out;
  }
  std::vector<Value::Entry> pairs(json::element element, int depth) {
    std::vector<Value::Entry> out;
    for (const json::element item : json::array(element.get_array())) {
      auto pair = items(item, depth);
      if (pair.size() != 2) refuse_("an entry of a dict that is no pair");
      if (!charge_key(pair[0], meter_)) refuse_("a key of a dict that is no plain value");
      meter_.memory(sizeof(Value::Entry) + ReadMeter::kObject);
      out.emplace_back(std::move(pair[0]), std::move(pair[1]));
    }
    return out;
  }
  std::string bytes(json::element element) const {
    const std::string_view digits = element.get_string();
    meter_.text(digits.size());
    std::string out;
    const auto digit = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      refuse_("bytes that are no hexadecimal digits");
      return 0;
    };
    if (digits.size() % 2 != 0) refuse_("bytes that are no hexadecimal digits");
    for (std::size_t i = 0; i < digits.size(); i += 2)
      out.push_back(static_cast<char>(digit(digits[i]) << 4 | digit(digits[i + 1])));
    return out;
  }
  double real(const Value& number) const {
    if (number.kind() != Kind::real && number.kind() != Kind::integer) refuse_("no number");
    return number.as_real();
  }

  Value object(json::object object, int depth) {
    std::string_view what;
    json::element content;
    Value attributes;
    std::size_t keys = 0;
    for (const auto field : object) {
      if (++keys == 1) {
        what = field.key;
        content = field.value;
      } else if (keys == 2 && field.key == "attributes" &&
                 (what == "dict" || what == "ordered_dict")) {
        attributes = value(field.value, depth + 1);
        if (attributes.kind() != Kind::dict) refuse_("attributes that are no dict");
      } else {
        refuse_("an object with more keys than one");
      }
    }
    if (keys == 0) refuse_("an object that does not say what it is");
    if (what == "tuple") return Value::tuple(items(content, depth));
    if (what == "set") return Value::set(unique_items(items(content, depth), meter_));
    if (what == "dict") return Value::dict(pairs(content, depth), attributes);
    if (what == "ordered_dict") return Value::ordered_dict(pairs(content, depth), attributes);
    if (what == "bytes") return Value::bytes(bytes(content));
    if (what == "int") {
      std::string digits = bytes(content);
      if (digits.size() > kLongestInteger) refuse_("an integer of too many bytes");
      return Value::big_integer(std::move(digits));
    }
    if (what == "tensor") return tensor_(content.get_string());
    if (what == "float") {
      const std::string_view name = content.get_string();
      if (name == "nan") return std::nan("");
      if (name == "inf") return HUGE_VAL;
      if (name == "-inf") return -HUGE_VAL;
      refuse_("a float of another kind");
    }
    if (what == "complex") {
      const auto parts = items(content, depth);
      if (parts.size() != 2) refuse_("a complex number that has not two parts");
      return std::complex<double>(real(parts[0]), real(parts[1]));
    }
    if (what == "dtype") {
      const auto dtype = dtype_from_name(content.get_string());
      if (!dtype) refuse_("a dtype that is not known");
      return *dtype;
    }
    if (what == "device") {
      try {
        return Device(std::string(std::string_view(content.get_string())));
      } catch (const Error& error) {
        refuse_(error.what());
      }
    }
    if (what == "size") {
      Dims sizes;
      for (const Value& item : items(content, depth)) {
        if (item.kind() != Kind::integer) refuse_("a size that is no integer");
        if (sizes.size() == kMostDimensions) refuse_("a size of more than 64 dimensions");
        sizes.push_back(item.as_int());
      }
      return Shape(sizes);
    }
    if (what == "object") {
      auto parts = items(content, depth);
      if (parts.size() != 4 || parts[0].kind() != Kind::string)
        refuse_("an object that is not made of four parts");
      Value made = Value::object(parts[0].as_string(), parts[1], parts[2], parts[3]);
      if (!is_whole_composite(made)) refuse_("an object that is not what it is called");
      object_(made);
      return made;
    }
    refuse_(concat("an object of kind ", json_text(what), " is not known"));
    return {};
  }

  const std::function<Value(std::string_view)>& tensor_;
  const std::function<void(const Value&)>& object_;
  const std::function<void(const std::string&)>& refuse_;
  ReadMeter& meter_;
};

}  // namespace

void append_json_text(MeteredText& out, std::string_view text) {
  if (!is_utf8(text)) throw ValueError("save: text that is not UTF-8");
  out += '"';
  while (!text.empty()) {
    const auto plain = std::find_if(text.begin(), text.end(), [](char c) {
      return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
    });
    const auto length = static_cast<std::size_t>(plain - text.begin());
    out += text.substr(0, length);
    text.remove_prefix(length);
    if (text.empty()) break;
    const char c = text[0];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    }
    text.remove_prefix(1);
  }
  out += '"';
}

std::string json_text(std::string_view text) {
  ReadMeter meter = ReadMeter::of_saving();
  MeteredText out(meter);
  append_json_text(out, text);
  return out.take();
}

std::string json_numbers(const Dims& dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += concat(i == 0 ? "" : ", ", dims[i]);
  return out + "]";
}

void append_json(MeteredText& out, const Value& value, const TensorText& tensor, ReadMeter& meter) {
  JsonText(out, tensor, meter).value(value, 0);
}

Value from_json(std::string_view text, const std::function<Value(std::string_view)>& tensor,
                const std::function<void(const Value&)>& object,
                const std::function<void(const std::string&)>& refuse, ReadMeter& meter) {
  meter.memory(kJsonCost * text.size());
  try {
    json::parser parser;
    if (parser.allocate(text.size(), kJsonDepth) != simdjson::SUCCESS)
      throw OutOfMemoryError("values in JSON", text.size());
    Value value = JsonReader(tensor, object, refuse, meter)
                      .value(parser.parse(simdjson::padded_string(text)), 0);
    meter.release(kJsonCost * text.size());
    return value;
  } catch (const simdjson::simdjson_error& error) {
    refuse(concat("no JSON of the kind it should be: ", error.what()));
  }
  return {};
}

}  // namespace tenon
