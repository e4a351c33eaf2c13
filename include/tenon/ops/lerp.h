// Functions of three tensors that add a product without rounding it first, the ones optimizers are
// made of.
//
//   p.add_(g, {.alpha = -lr});
//   exp_avg.lerp_(g, 1 - beta1);
//   exp_avg_sq.mul_(beta2).addcmul_(g, g, {.value = 1 - beta2});
#pragma once

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/scalar.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// add and sub with a factor. Without one they are op::add and op::sub.
struct TENON_API add_scaled {
  using Signature = Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API add_scaled_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API sub_scaled {
  using Signature = Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API sub_scaled_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API lerp {
  using Signature = Tensor(const Tensor& self, const Tensor& end, const Tensor& weight);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API lerp_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& end, const Tensor& weight);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API addcmul {
  using Signature = Tensor(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                           const Scalar& value);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API addcmul_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                                  const Scalar& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API addcdiv {
  using Signature = Tensor(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                           const Scalar& value);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API addcdiv_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                                  const Scalar& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};

}  // namespace op

// self + alpha * other, self - alpha * other. Whole numbers take a whole alpha.
TENON_API Tensor add(const Tensor& self, const Tensor& other, AlphaOptions options);
TENON_API Tensor sub(const Tensor& self, const Tensor& other, AlphaOptions options);
TENON_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other,
                                AlphaOptions options);
TENON_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other,
                                AlphaOptions options);

// self + weight * (end - self). All of one dtype; a weight without dimensions is converted.
TENON_API Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight);
TENON_API Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
TENON_API const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end,
                                 const Tensor& weight);

// self + value * tensor1 * tensor2, self + value * tensor1 / tensor2
TENON_API Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                         ValueOptions options = {});
TENON_API Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                         ValueOptions options = {});
TENON_API const Tensor& addcmul_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                    const Tensor& tensor2, ValueOptions options = {});
TENON_API const Tensor& addcdiv_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                    const Tensor& tensor2, ValueOptions options = {});

}  // namespace tenon
