// The operators behind tenon/ops/arithmetic.h, which user-defined tensors match calls by: op::exp,
// op::add_ and so on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/detail/function_names.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// Each function is an operator in three forms: exp makes a tensor, exp_ writes into its argument,
// exp_out into another tensor, which comes first.

// What is known of them at run time, in the order above: new, in place, out.
TENON_API extern OpInfo unary_infos[kUnaryFunctions][3];
TENON_API extern OpInfo binary_infos[kBinaryFunctions][3];

template <UnaryFunction N>
struct Unary {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][0];
};
template <UnaryFunction N>
struct UnaryInPlace {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][1];
};
template <UnaryFunction N>
struct UnaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][2];
};
template <BinaryFunction N>
struct Binary {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][0];
};
template <BinaryFunction N>
struct BinaryInPlace {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][1];
};
template <BinaryFunction N>
struct BinaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][2];
};

struct TENON_API polygamma {
  using Signature = Tensor(std::int64_t n, const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API polygamma_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t n);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};

#define TENON_ROW(name, node, result, kernel, autocast, forms) \
  using name = Unary<UnaryFunction::name>;                     \
  TENON_IF_##forms(using name##_ = UnaryInPlace<UnaryFunction::name>;)
TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

#define TENON_ROW(name, node, result, kernel, autocast, forms) \
  using name = Binary<BinaryFunction::name>;                   \
  TENON_IF_##forms(using name##_ = BinaryInPlace<BinaryFunction::name>;)
TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

}  // namespace op

}  // namespace tenon
