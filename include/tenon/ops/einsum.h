// Sums of products, written with letters for dimensions.
//
//   Tensor c = einsum("bij,bjk->bik", a, b);      // products of matrices
//   Tensor d = einsum("...ii->...i", x);          // diagonals
//   Tensor s = einsum("bhqd,bhkd->bhqk", q, k);
//
// A letter that is in several operands is the same dimension of all of them, one that is not in the
// result is summed over, "..." stands for the dimensions without letters, which broadcast. Without
// "->" the result has the letters that are there once, in the order of the alphabet, upper case
// first. Operands are multiplied from left to right, as products of matrices where something is
// summed. ValueError or ShapeError that says where the equation does not fit.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"

namespace tenon {

namespace op {

struct TENON_API einsum {
  using Signature = Tensor(std::string_view equation, std::span<const Tensor> operands);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API tensordot {
  using Signature = Tensor(const Tensor& a, const Tensor& b, const Dims& dims_a,
                           const Dims& dims_b);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

TENON_API Tensor einsum(std::string_view equation, TensorList operands);
template <class... T>
  requires(sizeof...(T) > 0 && (std::convertible_to<const T&, const Tensor&> && ...))
Tensor einsum(std::string_view equation, const T&... operands) {
  return einsum(equation, TensorList(static_cast<const Tensor&>(operands)...));
}

// How many dimensions of each are summed over, or which: .dims = 2, .dims = {{1, 2}, {0, 1}}.
class TENON_API TensordotDims {
 public:
  template <std::integral I>
  TensordotDims(I number) : number_(static_cast<std::int64_t>(number)) {}
  TensordotDims(const Dims& a, const Dims& b) : a_(a), b_(b) {}

  std::optional<std::int64_t> number() const noexcept { return number_; }
  const Dims& a() const noexcept { return a_; }
  const Dims& b() const noexcept { return b_; }

 private:
  std::optional<std::int64_t> number_;
  Dims a_, b_;
};
struct TensordotOptions {
  OnlyByName by_name = {};
  TensordotDims dims = 2;
};
// Summed over pairs of dimensions: as many of the last of a and the first of b as are said, or
// those that are listed.
TENON_API Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims = 2);
TENON_API Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a,
                           const Dims& dims_b);
template <class O = TensordotOptions>
OnlyOf<O, TensordotOptions, Tensor> tensordot(const Tensor& a, const Tensor& b, const O& options) {
  const TensordotDims& dims = options.dims;
  return dims.number() ? tensordot(a, b, *dims.number()) : tensordot(a, b, dims.a(), dims.b());
}

// The product of matrices, from the left.
TENON_API Tensor chain_matmul(TensorList matrices);

}  // namespace tenon
