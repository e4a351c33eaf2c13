// JSON on standard output.
#pragma once

#include <tenon/value.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::cli {

// Into a buffer that is written when it is full.
class JsonWriter {
 public:
  JsonWriter() = default;
  ~JsonWriter() { flush(); }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void raw(std::string_view text);
  void text(std::string_view value);
  void number(std::int64_t value) { raw(std::to_string(value)); }
  void real(double value);  // {"float": "nan"} and so on for what JSON cannot say
  void flush();

  template <class Items, class One>
  void list(const Items& items, One&& one) {
    raw("[");
    bool first = true;
    for (const auto& item : items) {
      if (!first) raw(", ");
      first = false;
      one(item);
    }
    raw("]");
  }
  // {"key": ...}
  template <class Inside>
  void in(std::string_view key, Inside&& inside) {
    raw("{");
    text(key);
    raw(": ");
    inside();
    raw("}");
  }

 private:
  std::string buffer_;
};

// What is no tensor. Tensors are named by where they are: `name` is where the value itself is.
void write_value(JsonWriter& out, const Value& value, const std::string& name);

// How many bytes of text write_value() makes of the value at most, shared parts written out and
// characters escaped, counted up to `most`. Long integers count as more, as finding their digits
// takes longer than writing them.
std::uint64_t text_size(const Value& value, std::uint64_t most);

}  // namespace tenon::cli
