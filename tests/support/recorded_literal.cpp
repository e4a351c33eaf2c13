// Python literals, as tests/record/cases.py writes them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "support/recorded.h"

namespace tenon::recorded {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value whole() {
    Value value = next();
    if (at_ != text_.size()) fail("the end");
    return value;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;

  [[noreturn]] void fail(const std::string& wanted) const {
    throw Error("a recorded literal has no " + wanted + " at " + std::to_string(at_) + ": " +
                std::string(text_.substr(at_, 40)));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void spaces() {
    while (peek() == ' ') ++at_;
  }
  bool take(char c) {
    spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }

  Value next() {
    spaces();
    const char c = peek();
    if (c == '\'' || c == '"') return string();
    if (c == '[') return Value::list(items(']'));
    if (c == '(') return Value::tuple(items(')'));
    if (c == '{') return dict();
    return word_or_number();
  }

  std::string string() {
    const char quote = text_[at_++];
    std::string out;
    for (; peek() != quote; ++at_) {
      if (at_ >= text_.size()) fail("closing quote");
      if (peek() == '\\') {
        ++at_;
        if (peek() != 'n' && peek() != '\\' && peek() != '\'' && peek() != '"')
          fail("escape that is known");
        out += peek() == 'n' ? '\n' : peek();
      } else {
        out += peek();
      }
    }
    ++at_;
    return out;
  }

  std::vector<Value> items(char end) {
    ++at_;
    std::vector<Value> all;
    while (!take(end)) {
      all.push_back(next());
      if (!take(',') && (spaces(), peek() != end)) fail("',' between items");
    }
    return all;
  }

  Value dict() {
    ++at_;
    std::vector<Value::Entry> entries;
    while (!take('}')) {
      Value key = next();
      expect(':');
      entries.emplace_back(std::move(key), next());
      if (!take(',') && (spaces(), peek() != '}')) fail("',' between entries");
    }
    return Value::dict(std::move(entries));
  }

  std::string_view token() {
    spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" ,:()[]{}").find(text_[at_]) == text_.npos)
      ++at_;
    if (at_ == begin) fail("value");
    return text_.substr(begin, at_ - begin);
  }

  Value word_or_number() {
    const std::string_view word = token();
    if (word == "None") return {};
    if (word == "True" || word == "False") return word == "True";
    if (word == "tensor") return tensor();
    return is_integer(word) ? Value(integer(word)) : Value(number(word));
  }

  static bool is_integer(std::string_view word) {
    return std::ranges::all_of(word, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
  }
  std::int64_t integer(std::string_view word) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) fail("integer before here");
    return value;
  }
  double number(std::string_view word) const {
    if (word == "nan" || word == "-nan") {
      return std::copysign(std::numeric_limits<double>::quiet_NaN(), word == "nan" ? 1.0 : -1.0);
    }
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) fail("number before here");
    return value;
  }

  // tensor(float32, [2, 3], [0.5, ...])
  Tensor tensor() {
    expect('(');
    const DType type = dtype(std::string(token()));
    expect(',');
    Dims shape;
    expect('[');
    while (!take(']')) {
      shape.push_back(integer(token()));
      take(',');
    }
    expect(',');
    expect('[');
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    const bool real = is_floating_point(type) || is_complex(type);
    while (!take(']')) {
      const std::string_view word = token();
      if (real) {
        reals.push_back(number(word));
      } else {
        integers.push_back(word == "True" ? 1 : word == "False" ? 0 : integer(word));
      }
      take(',');
    }
    expect(')');
    if (is_complex(type)) {
      const Tensor parts = tenon::tensor(reals, {.dtype = type == complex128 ? float64 : float32});
      Dims pairs = shape;
      pairs.push_back(2);
      return view_as_complex(parts.reshape(pairs));
    }
    const Tensor flat = real ? tenon::tensor(reals, {.dtype = float64}).to(type)
                             : tenon::tensor(integers, {.dtype = int64}).to(type);
    return flat.reshape(shape);
  }
};

}  // namespace

Value literal(std::string_view text) { return Parser(text).whole(); }

}  // namespace tenon::recorded
