#include "ops/support/gradients.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/flip.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace {

// The dimensions that are reduced, in order; all if none are given.
std::vector<std::int64_t> reduced_dims(const Shape& shape, const Dims& dim) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<std::int64_t> dims;
  if (dim.empty()) {
    for (std::int64_t d = 0; d < rank; ++d) dims.push_back(d);
  } else if (rank > 0) {
    for (const std::int64_t d : dim) dims.push_back(wrap_dim(d, rank));
    std::sort(dims.begin(), dims.end());
  }
  return dims;
}

}  // namespace

Scalar conj(const Scalar& value) {
  if (value.kind() != Scalar::Kind::complex) return value;
  return std::conj(value.to<std::complex<double>>());
}

// Each dimension steps over all that smaller steps reach.
bool never_meet(const Shape& shape, const Dims& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) steps.emplace_back(strides[d], shape[d]);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

Tensor spread_reduced(const Tensor& reduced, const Shape& shape, const Dims& dim, bool keepdim) {
  Tensor whole = reduced;
  if (!keepdim) {
    for (const std::int64_t d : reduced_dims(shape, dim)) whole = whole.unsqueeze(d);
  }
  return whole.expand(shape);
}

Tensor sum_to(const Tensor& grad, const Shape& shape) {
  const std::size_t extra = grad.shape().size() - shape.size();
  Dims dims;
  for (std::size_t d = 0; d < grad.shape().size(); ++d) {
    if (d < extra || (shape[d - extra] == 1 && grad.shape()[d] != 1))
      dims.push_back(static_cast<std::int64_t>(d));
  }
  if (dims.empty()) return grad;
  const Tensor summed = grad.sum(dims, {.keepdim = true});
  return extra == 0 ? summed : summed.view(shape);
}

std::int64_t reduced_count(const Shape& shape, const Dims& dim) {
  std::int64_t count = 1;
  for (const std::int64_t d : reduced_dims(shape, dim)) count *= shape[static_cast<std::size_t>(d)];
  return count;
}

// An operator of its own, so that it can be differentiated: its gradient is the view.
namespace op {
struct put_strided {
  using Signature = Tensor(const Tensor& self, const Shape& shape, const Dims& stride,
                           std::int64_t offset);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo put_strided::info{"_put_strided", kind};
}  // namespace op

template <>
struct Rule<op::put_strided> {
  static constexpr std::string_view gradient = "PutStridedBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Shape& /*shape*/, const Dims& stride, std::int64_t offset) {
    const Tensor packed = grad.contiguous();
    g.set(0, packed.as_strided(g.shape(0), stride, packed.storage_offset() + offset));
  }
  static Layout infer(const Tensor& self, const Shape& shape, const Dims& /*stride*/,
                      std::int64_t /*offset*/) {
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Shape& /*shape*/, const Dims& stride,
                  std::int64_t offset) {
    const Tensor all = out.variable_data();
    all.zero_();
    if (self.numel() == 0) return;
    const Tensor view = all.as_strided(self.shape(), stride, offset);
    if (never_meet(self.shape(), stride)) {
      view.copy_(self);
      return;
    }
    // Several elements may have one place.
    Tensor places = full({}, offset, {.dtype = int64, .device = self.device()});
    for (std::size_t d = 0; d < self.shape().size(); ++d) {
      places = places.unsqueeze(-1) +
               arange(self.shape()[d], {.dtype = int64, .device = self.device()}) * stride[d];
    }
    all.view({-1}).index_add_(0, places.reshape({-1}), self.reshape({-1}));
  }
};

Tensor put_back(const Tensor& part, const Shape& shape, const Layout& view) {
  return call<op::put_strided>(part, shape, view.strides, view.offset);
}

namespace {

// The product of all others, for each element along the last dimension: what is before it times
// what is after it, which holds with zeros among them too.
Tensor product_of_others(const Tensor& self) {
  const Tensor one = ones_like(self.narrow(-1, 0, 1));
  const std::int64_t n = self.size(-1);
  const Tensor before = cat({one, self.narrow(-1, 0, n - 1).cumprod(-1)}, -1);
  const Tensor after = flip(cat({one, flip(self.narrow(-1, 1, n - 1), -1).cumprod(-1)}, -1), -1);
  return before * after;
}

}  // namespace

Tensor prod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, const Dims& dim,
                     bool keepdim) {
  if (self.numel() == 0) return zeros_like(self);
  const Tensor spread = spread_reduced(grad, self.shape(), dim, keepdim);
  if (self.dim() == 0) return spread;
  if ((self == 0).any().item<bool>()) {
    // One dimension at a time would not do for several: they become one, at the end.
    const auto dims = reduced_dims(self.shape(), dim);
    Dims order;
    Shape kept;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
      order.push_back(d);
      kept.push_back(self.size(d));
    }
    for (const std::int64_t d : dims) order.push_back(d);
    const Tensor moved = self.permute(order);
    Shape flat = kept;
    flat.push_back(-1);
    const Tensor others = product_of_others(moved.reshape(flat)).reshape(moved.shape());
    Dims back = Dims::filled(order.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    return spread * others.permute(back).conj();
  }
  return spread * (spread_reduced(result, self.shape(), dim, keepdim) / self).conj();
}

// Shared evenly among those that are the largest, or the smallest.
Tensor extreme_gradient(const Tensor& grad, const Tensor& self, const Tensor& result,
                        const Dims& dim, bool keepdim) {
  const Tensor mask = self == spread_reduced(result, self.shape(), dim, keepdim);
  const Tensor count = mask.sum(dim, {.keepdim = true}).to(grad.dtype());
  const Tensor whole = spread_reduced(grad, self.shape(), dim, keepdim);
  return mask.to(grad.dtype()) * (whole / count);
}

Tensor extreme_of_all_gradient(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // One that is no number is the extreme of all.
  const Tensor mask = (self == result).logical_or(self.isnan().logical_and(result.isnan()));
  const Tensor part = grad / mask.sum().to(grad.dtype());
  return masked_fill(part.expand(self.shape()), mask.logical_not(), 0);
}

Tensor var_gradient(const Tensor& grad, const Tensor& self, const Dims& dim, double correction,
                    bool keepdim) {
  const Tensor spread = spread_reduced(grad, self.shape(), dim, keepdim);
  const double free = static_cast<double>(reduced_count(self.shape(), dim)) - correction;
  const Tensor apart = self - self.mean(dim, {.keepdim = true});
  return spread * apart * (2 / free);
}

Tensor norm_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, double p,
                     const Dims& dim, bool keepdim) {
  if (p == 0) return {};  // it counts, and has none: as in PyTorch
  const Tensor spread = spread_reduced(grad, self.shape(), dim, keepdim);
  const Tensor length = spread_reduced(result, self.shape(), dim, keepdim);
  if (p == 1) return self.sgn() * spread;
  if (p == 2) return masked_fill(self / length, length == 0, 0) * spread;
  if (std::isinf(p)) {
    const Tensor size = self.abs();
    const Tensor mask =
        (size == length).logical_or(size.isnan().logical_and(length.isnan())).to(grad.dtype());
    const Tensor count = mask.sum(dim, {.keepdim = true});
    return self.sgn() * (mask / count) * spread;
  }
  const Tensor scaled = masked_fill(spread / length.pow(p - 1), length == 0, 0);
  if (p < 1) return masked_fill(self.sgn() * self.abs().pow(p - 1), self == 0, 0) * scaled;
  if (p < 2) return self.sgn() * self.abs().pow(p - 1) * scaled;
  return self * self.abs().pow(p - 2) * scaled;
}

Tensor cumprod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result,
                        std::int64_t dim) {
  if (self.numel() <= 1) return grad;
  const std::int64_t n = self.size(dim);
  if (n == 1) return grad;
  if (!(self == 0).any().item<bool>()) {
    // Each is a factor of all results from it on.
    const Tensor sums = flip(flip(grad * result.conj(), dim).cumsum(dim), dim);
    return sums / self.conj();
  }
  std::vector<Tensor> parts;
  for (std::int64_t k = 0; k < n; ++k) {
    const Tensor before = k == 0 ? ones_like(self.narrow(dim, 0, 1))
                                 : self.narrow(dim, 0, k).prod({dim}, {.keepdim = true});
    const Tensor after =
        k == n - 1 ? before
                   : cat({before, before * self.narrow(dim, k + 1, n - k - 1).cumprod(dim)}, dim);
    parts.push_back((grad.narrow(dim, k, n - k) * after.conj()).sum({dim}, {.keepdim = true}));
  }
  return cat(parts, dim);
}

Tensor slices_gradient(const Tensor& grad, const Shape& shape, const Tensor& index,
                       std::int64_t dim) {
  // Into the zeros themselves: pages of them that nothing is added to are never touched.
  return zeros(shape, {.dtype = grad.dtype(), .device = grad.device()})
      .index_add_(dim, index, grad);
}

Tensor picked_gradient(const Tensor& grad, const Shape& shape, const Tensor& indices,
                       std::int64_t dim, bool keepdim) {
  const Tensor zero = zeros(shape, {.dtype = grad.dtype(), .device = grad.device()});
  if (shape.empty()) return zero + grad.sum();
  if (keepdim) return zero.scatter_add_(dim, indices, grad);
  return zero.scatter_add_(dim, indices.unsqueeze(dim), grad.unsqueeze(dim));
}

}  // namespace tenon
