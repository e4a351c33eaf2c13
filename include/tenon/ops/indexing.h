// What goes into x.index({...}), one for each thing Python allows between brackets:
//
//   x[1]           x.index({1})                    x[..., None]     x.index({Ellipsis, None})
//   x[2:, ::3]     x.index({Slice(2), Slice({}, {}, 3)})
//   x[mask]        x.index({mask})                 x[rows, :, cols] x.index({rows, Slice(), cols})
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

struct NoneType {
  constexpr operator std::optional<std::int64_t>() const noexcept { return {}; }
};
inline constexpr NoneType None{};  // a new dimension of size 1; in a Slice, from or to the end

struct Slice {
  constexpr Slice(std::optional<std::int64_t> from = {}, std::optional<std::int64_t> to = {},
                  std::int64_t by = 1) noexcept
      : start(from), stop(to), step(by) {}

  std::optional<std::int64_t> start, stop;
  std::int64_t step;
};

struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};  // as many whole dimensions as are left

class TENON_API TensorIndex {
 public:
  enum class Kind : std::uint8_t { none, ellipsis, integer, boolean, slice, tensor };

  TensorIndex(NoneType) noexcept : kind_(Kind::none) {}
  TensorIndex(EllipsisType) noexcept : kind_(Kind::ellipsis) {}
  TensorIndex(Slice slice) noexcept : kind_(Kind::slice), slice_(slice) {}
  TensorIndex(Tensor tensor) noexcept : kind_(Kind::tensor), tensor_(std::move(tensor)) {}
  // What is used as a tensor: a place of a module.
  template <class T>
    requires(!std::is_integral_v<T> && !std::is_same_v<T, Tensor> &&
             std::is_convertible_v<const T&, const Tensor&>)
  TensorIndex(const T& place) : TensorIndex(static_cast<const Tensor&>(place)) {}
  // A template, so that an integer is never taken for a bool or the other way round.
  template <class T>
    requires std::is_integral_v<T>
  TensorIndex(T value) noexcept
      : kind_(std::is_same_v<T, bool> ? Kind::boolean : Kind::integer),
        integer_(static_cast<std::int64_t>(value)) {}

  Kind kind() const noexcept { return kind_; }
  std::int64_t integer() const noexcept { return integer_; }
  const Slice& slice() const noexcept { return slice_; }
  const Tensor& tensor() const noexcept { return tensor_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};

// What stands between the brackets: {1, Slice(0, 2), mask}, or a vector, an array or a span.
class TensorIndices {
 public:
  TensorIndices() noexcept = default;
  // Note [Braces with names].
  template <class... I>
    requires(sizeof...(I) > 0 && (std::is_constructible_v<TensorIndex, const I&> && ...))
  TensorIndices(const I&... indices) {
    if constexpr (sizeof...(I) > kFew) many_.reserve(sizeof...(I));
    (add(TensorIndex(indices), sizeof...(I) > kFew), ...);
  }
  // A vector, an array, a span of them.
  template <class L>
    requires std::convertible_to<const L&, std::span<const TensorIndex>> &&
             (!std::same_as<L, TensorIndices>)
  TensorIndices(const L& indices) {
    const std::span<const TensorIndex> all = indices;
    many_.assign(all.begin(), all.end());
    count_ = many_.size();
  }

  std::span<const TensorIndex> span() const noexcept {
    return many_.empty() ? std::span<const TensorIndex>(few_).first(count_) : many_;
  }

 private:
  static constexpr std::size_t kFew = 4;  // more are rare, and have memory of their own

  void add(TensorIndex index, bool many) {
    if (many) {
      many_.push_back(std::move(index));
    } else {
      few_[count_] = std::move(index);
    }
    ++count_;
  }

  std::array<TensorIndex, kFew> few_{None, None, None, None};
  std::vector<TensorIndex> many_;
  std::size_t count_ = 0;
};

}  // namespace tenon
