// Choosing between elements: by a mask, and by bounds.
//
//   Tensor y = where(x > 0, x, x * 0.01);
//   x.masked_fill_(mask, -1e9);
//   Tensor z = clamp(x, {.min = 0, .max = 6});
#pragma once

#include <optional>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API where {
  using Signature = Tensor(const Tensor& condition, const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API masked_fill_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& mask, const Tensor& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API masked_fill {
  using Signature = Tensor(const Tensor& self, const Tensor& mask, const Tensor& value);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API nan_to_num {
  using Signature = Tensor(const Tensor& self, double nan, std::optional<double> posinf,
                           std::optional<double> neginf);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API clamp {
  using Signature = Tensor(const Tensor& self, const std::optional<Tensor>& min,
                           const std::optional<Tensor>& max);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API clamp_ {
  using Signature = const Tensor&(const Tensor& self, const std::optional<Tensor>& min,
                                  const std::optional<Tensor>& max);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};

}  // namespace op

// self where the condition holds, other where not. All three broadcast; the condition is of bools,
// or of bytes.
TENON_API Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
inline Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return where(condition, self, wrapped_number(other));
}
inline Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return where(condition, wrapped_number(self), other);
}
inline Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return where(condition, wrapped_number(self), wrapped_number(other));
}

// Where it holds, or is not zero: the positions along each dimension (nonzero_as_tuple).
TENON_API std::vector<Tensor> where(const Tensor& condition);

TENON_API const Tensor& where_out(const Tensor& out, const Tensor& condition, const Tensor& self,
                                  const Tensor& other);

// A copy with the value, which is one element, where the mask holds; both broadcast. The dtype
// stays and must hold the value, whose fraction is cut off if it has none. masked_fill_, a method,
// writes into the tensor itself.
TENON_API Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);
inline Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return masked_fill(self, mask, wrapped_number(value));
}

// A copy with the first elements of source, one after another, where the mask, which broadcasts,
// holds. ShapeError if source has too few.
inline Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  return self.masked_scatter(mask, source);
}

struct ClampTensorOptions {
  Tensor min = {};  // undefined: no bound
  Tensor max = {};
};
// Every element between the bounds, of which there is at least one; where min is above max, it is
// max. NaN stays.
TENON_API Tensor clamp(const Tensor& self, const ClampOptions& options);
TENON_API Tensor clamp(const Tensor& self, const ClampTensorOptions& options);
TENON_API const Tensor& clamp_(const Tensor& self, const ClampOptions& options);
TENON_API const Tensor& clamp_(const Tensor& self, const ClampTensorOptions& options);
inline Tensor clip(const Tensor& self, const ClampOptions& options) { return clamp(self, options); }
inline Tensor clip(const Tensor& self, const ClampTensorOptions& options) {
  return clamp(self, options);
}
inline const Tensor& clip_(const Tensor& self, const ClampOptions& options) {
  return clamp_(self, options);
}
inline Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp(self, {.min = min}); }
inline Tensor clamp_max(const Tensor& self, const Scalar& max) { return clamp(self, {.max = max}); }
TENON_API const Tensor& clamp_out(const Tensor& out, const Tensor& self,
                                  const ClampOptions& options);
TENON_API const Tensor& clamp_out(const Tensor& out, const Tensor& self,
                                  const ClampTensorOptions& options);

// Numbers in place of NaN and the infinities.
TENON_API Tensor nan_to_num(const Tensor& self, const NanToNumOptions& options = {});

}  // namespace tenon
