// The operators behind tenon/ops/activation.h, which user-defined tensors match calls by: op::gelu,
// op::silu_ and so on. A name with _ at its end writes into its argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon::op {

struct TENON_API threshold {
  using Signature = Tensor(const Tensor& self, double threshold, double value);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API threshold_ {
  using Signature = const Tensor&(const Tensor& self, double threshold, double value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API hardtanh {
  using Signature = Tensor(const Tensor& self, double min_val, double max_val);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API hardtanh_ {
  using Signature = const Tensor&(const Tensor& self, double min_val, double max_val);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API hardswish {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API hardswish_ {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API hardsigmoid {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API hardsigmoid_ {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API silu {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API silu_ {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API mish {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API mish_ {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API elu {
  using Signature = Tensor(const Tensor& self, double alpha, double scale, double input_scale);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API elu_ {
  using Signature = const Tensor&(const Tensor& self, double alpha, double scale,
                                  double input_scale);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API celu {
  using Signature = Tensor(const Tensor& self, double alpha);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API celu_ {
  using Signature = const Tensor&(const Tensor& self, double alpha);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API leaky_relu {
  using Signature = Tensor(const Tensor& self, double negative_slope);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API leaky_relu_ {
  using Signature = const Tensor&(const Tensor& self, double negative_slope);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API gelu {
  using Signature = Tensor(const Tensor& self, std::string_view approximate);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API hardshrink {
  using Signature = Tensor(const Tensor& self, double lambd);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API softshrink {
  using Signature = Tensor(const Tensor& self, double lambd);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API softplus {
  using Signature = Tensor(const Tensor& self, double beta, double threshold);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API logsigmoid {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API glu {
  using Signature = Tensor(const Tensor& self, std::int64_t dim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API log_softmax {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API softmax {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

// Made of others.
struct TENON_API relu6 {
  using Signature = Tensor(const Tensor& self, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API selu {
  using Signature = Tensor(const Tensor& self, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API rrelu {
  using Signature = Tensor(const Tensor& self, double lower, double upper, bool training,
                           bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API softsign {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API tanhshrink {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API softmin {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API gumbel_softmax {
  using Signature = Tensor(const Tensor& self, double tau, bool hard, double eps, std::int64_t dim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API normalize {
  using Signature = Tensor(const Tensor& self, double p, const Dims& dim, double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API prelu {
  using Signature = Tensor(const Tensor& self, const Tensor& weight);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace tenon::op
