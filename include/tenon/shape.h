// Dims: a short list of whole numbers (sizes, strides, dimension lists). Shape: the same, printed
// as PyTorch's torch.Size.
//
// Up to five numbers are stored inside the object; longer lists are allocated. Both are plain
// values.
//
// Note [Braces with names]
// f({.stride = 2}) must not compile where f takes a list. g++ 12 forgets the names if the parameter
// is a std::initializer_list, or a class with a constructor from one: the values become the
// arguments of its other constructors. So what braces become here has no such constructor. It is a
// class with a template of any number of arguments, as Dims is; an array, const T (&list)[N]; or a
// std::span beside one of them. Where lists are nested, only a std::initializer_list will do
// (NestedNumbers): there a second class that the same values could become makes them ambiguous.
// A vector as a parameter is a template, which takes no braces at all.
// tests/compile_fail/named_braces.py tries every class and function.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/detail/api.h"

namespace tenon {

// The numbers that sizes are given as: of any integer type but bool, and of enums that convert.
template <class N>
concept SizeNumber = (std::integral<N> && !std::same_as<N, bool>) ||
                     (std::is_enum_v<N> && std::convertible_to<N, std::int64_t>);

class TENON_API Dims {
 public:
  using value_type = std::int64_t;
  static constexpr std::size_t kInline = 5;

  Dims() noexcept : inline_{} {}
  // A list of n equal numbers. A named function, because Dims(3) is the list [3].
  static Dims filled(std::size_t n, std::int64_t value);
  // 3 and {2, 3}: a single number stands for a list of one, as PyTorch takes an int for a tuple.
  template <SizeNumber... N>
    requires(sizeof...(N) > 0)
  Dims(N... values) : inline_{} {
    if constexpr (sizeof...(N) <= kInline) {
      size_ = sizeof...(N);
      inline_ = {as_size(values)...};
    } else {
      const std::int64_t all[] = {as_size(values)...};
      assign(all);
    }
  }
  // A vector, a span, an array of them.
  template <class L>
    requires std::convertible_to<const L&, std::span<const std::int64_t>> &&
             (!std::derived_from<L, Dims>)
  Dims(const L& values) : inline_{} {
    assign(values);
  }
  Dims(const Dims& other) : inline_{} {
    if (other.size_ <= kInline) {
      copy_inline(other);
    } else {
      assign(other);
    }
  }
  Dims(Dims&& other) noexcept : inline_{} { take(other); }
  Dims& operator=(const Dims& other) {
    if (this == &other) return *this;
    if (size_ <= kInline && other.size_ <= kInline) {
      copy_inline(other);
    } else {
      assign(other);
    }
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      if (size_ > kInline) delete[] heap_;
      take(other);
    }
    return *this;
  }
  ~Dims() {
    if (size_ > kInline) delete[] heap_;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t* data() noexcept { return size_ > kInline ? heap_ : inline_.data(); }
  const std::int64_t* data() const noexcept { return size_ > kInline ? heap_ : inline_.data(); }
  std::int64_t* begin() noexcept { return data(); }
  std::int64_t* end() noexcept { return data() + size_; }
  const std::int64_t* begin() const noexcept { return data(); }
  const std::int64_t* end() const noexcept { return data() + size_; }
  std::int64_t& operator[](std::size_t i) noexcept { return data()[i]; }
  const std::int64_t& operator[](std::size_t i) const noexcept { return data()[i]; }
  std::int64_t& back() noexcept { return data()[size_ - 1]; }
  const std::int64_t& back() const noexcept { return data()[size_ - 1]; }

  // New numbers are 0.
  void resize(std::size_t n) {
    if (size_ <= kInline && n <= kInline) {
      for (std::size_t i = size_; i < n; ++i) inline_[i] = 0;
      size_ = n;
    } else {
      resize_on_heap(n);
    }
  }
  void push_back(std::int64_t value) { insert(size_, value); }
  void insert(std::size_t at, std::int64_t value);
  void erase(std::size_t at) noexcept;

  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  // "(2, 3)", "(2,)", "()": a Python tuple.
  std::string repr() const;

 private:
  // ValueError for what no size can be, instead of a negative one.
  template <SizeNumber N>
  static std::int64_t as_size(N value) {
    if constexpr (std::is_unsigned_v<N> && sizeof(N) == sizeof(std::int64_t)) {
      if (value > static_cast<N>(std::numeric_limits<std::int64_t>::max())) too_large(value);
    }
    return static_cast<std::int64_t>(value);
  }
  [[noreturn]] static void too_large(std::uint64_t value);
  void assign(std::span<const std::int64_t> values);
  void resize_on_heap(std::size_t n);
  // All of the array, whatever part is used: a copy of fixed size is a few instructions.
  void copy_inline(const Dims& other) noexcept {
    size_ = other.size_;
    inline_ = other.inline_;
  }
  void take(Dims& other) noexcept {
    if (other.size_ > kInline) {
      size_ = other.size_;
      heap_ = other.heap_;
    } else {
      copy_inline(other);
    }
    other.size_ = 0;
  }

  std::size_t size_ = 0;
  union {
    std::array<std::int64_t, kInline> inline_;
    std::int64_t* heap_;
  };
};

class TENON_API Shape : public Dims {
 public:
  using Dims::Dims;
  Shape() noexcept = default;
  template <class D>
    requires std::same_as<std::remove_cvref_t<D>, Dims>
  Shape(D&& dims) noexcept(std::is_nothrow_constructible_v<Dims, D&&>)
      : Dims(std::forward<D>(dims)) {}

  // The number of elements; 1 for an empty shape. Defined for shapes that a tensor has, whose
  // product fits.
  std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t size : *this) n *= size;
    return n;
  }
  // "torch.Size([2, 3])"
  std::string repr() const;
};

TENON_API std::ostream& operator<<(std::ostream& out, const Dims& dims);
TENON_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace tenon
