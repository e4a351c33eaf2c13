// Value: one variable of any of the types that state is made of: numbers, text, tensors, lists,
// dicts. What a user-defined tensor returns from an operator, hangs on a tensor, or flattens into.
//
// Lists, tuples and dicts are shared, not copied, and cannot be changed once made: a Value is as
// cheap to pass as a Tensor, and may be read on any thread. However deep values are nested, letting
// go of them takes no stack.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/extend/ref.h"
#include "tenon/scalar.h"
#include "tenon/shape.h"
#include "tenon/tensor.h"

namespace tenon {

class TENON_API Value {
 public:
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    big_integer,  // beyond 64 bits
    real,
    complex,
    string,
    bytes,
    list,
    tuple,
    set,
    dict,
    object,  // of a class that is only a name here
    tensor,
    dtype,
    device,
    size
  };
  using Entry = std::pair<Value, Value>;

  Value() noexcept : content_() {}  // None
  Value(const Value& other) noexcept;
  Value(Value&& other) noexcept
      : kind_(std::exchange(other.kind_, Kind::none)), content_(other.content_) {}
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(content_, other.content_);
    return *this;
  }
  ~Value() { release(); }

  // A template, so that nothing else (a pointer, say) becomes a bool on the way.
  template <std::integral I>
    requires(sizeof(I) < 8 || std::signed_integral<I>)
  Value(I value) noexcept
      : kind_(std::same_as<I, bool> ? Kind::boolean : Kind::integer),
        content_(std::int64_t{value}) {}
  // ValueError beyond what int64 holds.
  template <std::unsigned_integral I>
    requires(sizeof(I) == 8)
  Value(I value) : Value(Scalar(std::uint64_t{value}).to<std::int64_t>()) {}
  Value(double value) noexcept : kind_(Kind::real), content_(value) {}
  Value(float value) noexcept : Value(static_cast<double>(value)) {}
  Value(DType value) noexcept : kind_(Kind::dtype), content_(value) {}
  Value(Device value) noexcept : kind_(Kind::device), content_(value) {}
  Value(std::complex<double> value);
  // Templates, as of what is in braces: Note [Braces with names].
  template <std::same_as<std::string> S>
  Value(S value) : kind_(Kind::string), content_(text_node(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(Shape value);
  Value(const Tensor& value) noexcept;    // undefined is None
  Value(std::span<const Tensor> values);  // a list
  template <std::same_as<std::vector<Tensor>> V>
  Value(const V& values) : Value(std::span<const Tensor>(values)) {}
  template <std::size_t N>
  Value(const Tensor (&values)[N]) : Value(std::span<const Tensor>(values)) {}
  // Of a vector, a span, or what is in braces, list({1, "a"}): an array, Note [Braces with names].
  template <std::same_as<std::vector<Value>> V>
  static Value list(V items) {
    return sequence(Kind::list, std::move(items));
  }
  static Value list(std::span<const Value> items) {
    return sequence(Kind::list, {items.begin(), items.end()});
  }
  template <std::size_t N>
  static Value list(const Value (&items)[N]) {
    return list(std::span<const Value>(items));
  }
  template <std::same_as<std::vector<Value>> V>
  static Value tuple(V items) {
    return sequence(Kind::tuple, std::move(items));
  }
  static Value tuple(std::span<const Value> items) {
    return sequence(Kind::tuple, {items.begin(), items.end()});
  }
  template <std::size_t N>
  static Value tuple(const Value (&items)[N]) {
    return tuple(std::span<const Value>(items));
  }
  template <std::same_as<std::vector<Value>> V>
  static Value set(V items) {
    return sequence(Kind::set, std::move(items));
  }
  static Value set(std::span<const Value> items) {
    return sequence(Kind::set, {items.begin(), items.end()});
  }
  template <std::size_t N>
  static Value set(const Value (&items)[N]) {
    return set(std::span<const Value>(items));
  }
  static Value bytes(std::string bytes);
  // Two's complement, lowest byte first; the shortest that has the same value is kept, an integer
  // if 64 bits hold it.
  static Value big_integer(std::string_view bytes);
  // In this order. A key that comes twice keeps its place and takes the later value; as in Python,
  // 1, 1.0 and True are the same key. The attributes, if there are any, are a dict themselves: an
  // OrderedDict may have some, as a state dict has its _metadata.
  template <std::same_as<std::vector<Entry>> V>
  static Value dict(V entries, Value attributes = {}) {
    return make_dict(std::move(entries), std::move(attributes), false);
  }
  static Value dict(std::span<const Entry> entries, Value attributes = {}) {
    return make_dict({entries.begin(), entries.end()}, std::move(attributes), false);
  }
  template <std::size_t N>
  static Value dict(const Entry (&entries)[N], Value attributes = {}) {
    return dict(std::span<const Entry>(entries), std::move(attributes));
  }
  // The same as an OrderedDict of Python's collections, which is what state dicts are and what a
  // dict with attributes always is. It is equal to a dict with the same entries.
  template <std::same_as<std::vector<Entry>> V>
  static Value ordered_dict(V entries, Value attributes = {}) {
    return make_dict(std::move(entries), std::move(attributes), true);
  }
  static Value ordered_dict(std::span<const Entry> entries, Value attributes = {}) {
    return make_dict({entries.begin(), entries.end()}, std::move(attributes), true);
  }
  template <std::size_t N>
  static Value ordered_dict(const Entry (&entries)[N], Value attributes = {}) {
    return ordered_dict(std::span<const Entry>(entries), std::move(attributes));
  }
  // Something that a file describes and that is not made: the full name of its class or function,
  // the arguments it was called with, the state it was given, and, if its class is some list or
  // dict, the items put into it.
  static Value object(std::string name, Value arguments, Value state);
  static Value object(std::string name, Value arguments, Value state, Value items);

  Kind kind() const noexcept { return kind_; }
  bool is_none() const noexcept { return kind_ == Kind::none; }
  bool is_tensor() const noexcept { return kind_ == Kind::tensor; }

  // What it is said to be; TypeError, naming both types, if it is something else. as_real takes an
  // integer too, as_complex any number, items a list, a tuple or a set.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_real() const;
  std::complex<double> as_complex() const;
  const std::string& as_string() const;
  Tensor as_tensor() const;
  DType as_dtype() const;
  Device as_device() const;
  const Shape& as_size() const;
  std::span<const Value> items() const;
  std::span<const Entry> entries() const;
  // The value under a key of a dict, or null. TypeError if this is no dict.
  const Value* find(const Value& key) const;
  // What keys and positions, joined by dots, lead to, or null: "model.layers.0.weight". Where keys
  // have dots themselves, the longest that leads there is taken; keys that are no text are meant by
  // their repr. An object leads to its items and its state; a pickled module to its parameters,
  // buffers and modules. The empty path leads here.
  const Value* find_path(std::string_view path) const;
  Value attributes() const;  // of a dict; None if it has none
  bool is_ordered_dict() const noexcept;
  // The same for copies of a value, another for one that was made separately: what id() is in
  // Python. Null for what has none: None, numbers, dtypes and devices.
  const void* identity() const noexcept;
  const std::string& as_bytes() const;
  // The bytes of an integer beyond 64 bits, and its digits.
  const std::string& big_bytes() const;
  std::string digits() const;  // of any integer
  const std::string& object_name() const;
  const Value& object_arguments() const;
  const Value& object_state() const;
  const Value& object_items() const;

  // Equal in kind and content; tensors when they are the same tensor. ValueError beyond a thousand
  // levels.
  friend TENON_API bool operator==(const Value& a, const Value& b);

  // "int", "Tensor", ...: the name of its type in Python, for messages. The name of an object was
  // chosen by a file: its first 200 bytes, as they are safe to show.
  std::string type_name() const;
  // As Python's repr() writes it. What is shared is written out in every place: ValueError if that
  // is 16 MiB more than with each part written once, and beyond a thousand levels.
  std::string repr() const;

 private:
  union Content {
    explicit Content(std::int64_t value = 0) noexcept : integer(value) {}
    explicit Content(double value) noexcept : real(value) {}
    explicit Content(DType value) noexcept : dtype(value) {}
    explicit Content(Device value) noexcept : device(value) {}
    explicit Content(RefCounted* value) noexcept : node(value) {}

    std::int64_t integer;
    double real;
    DType dtype;
    Device device;
    RefCounted* node;    // string, complex, list, tuple, dict, size
    detail::Cell* cell;  // tensor
  };

  // What templates call is none: compilers do not agree on the names of constrained ones.
  static RefCounted* text_node(std::string value);
  static Value sequence(Kind kind, std::vector<Value> items);
  static Value make_dict(std::vector<Entry> entries, Value attributes, bool ordered);
  void release() noexcept;
  [[noreturn]] void wrong_kind(const char* expected) const;

  Kind kind_ = Kind::none;
  Content content_;
};

TENON_API std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace tenon
