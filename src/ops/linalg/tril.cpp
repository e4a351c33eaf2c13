// Parts of matrices.
#include "tenon/ops/tril.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/reduce.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::tril::info{"tril", kind};
constinit OpInfo op::triu::info{"triu", kind};
constinit OpInfo op::tril_::info{"tril_", kind};
constinit OpInfo op::triu_::info{"triu_", kind};
constinit OpInfo op::diag::info{"diag", kind};
constinit OpInfo op::diag_embed::info{"diag_embed", kind};
constinit OpInfo op::trace::info{"trace", kind};

namespace {

void check_matrix(std::string_view op, const Tensor& self) {
  if (self.dim() >= 2) return;
  throw ShapeError(concat(op, ": input tensor must have at least 2 dimensions, but its shape is ",
                          bracketed(self.shape())));
}

// How many elements of a row are on the left of the triangle's edge.
std::int64_t left_part(bool lower, std::int64_t row, std::int64_t diagonal, std::int64_t columns) {
  // A diagonal may be as far away as numbers go.
  const std::int64_t rest = std::clamp(diagonal, -(row + 1), columns - row);
  return std::clamp<std::int64_t>(row + rest + (lower ? 1 : 0), 0, columns);
}

// Zeros where the other triangle of packed matrices is.
void clear_other(const Tensor& matrices, bool lower, std::int64_t diagonal) {
  const std::int64_t rows = matrices.size(-2), columns = matrices.size(-1);
  if (matrices.numel() == 0) return;
  const auto each = static_cast<std::size_t>(itemsize(matrices.dtype()));
  auto* data = static_cast<std::byte*>(matrices.data_ptr());
  constexpr std::int64_t kWorth = 1 << 15;
  parallel_for(0, matrices.numel() / columns, std::max<std::int64_t>(1, kWorth / columns),
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) {
                   const std::int64_t left = left_part(lower, i % rows, diagonal, columns);
                   const std::int64_t from = lower ? left : 0, to = lower ? columns : left;
                   if (from == to) continue;  // and memset wants no null
                   std::memset(data + static_cast<std::size_t>(i * columns + from) * each, 0,
                               static_cast<std::size_t>(to - from) * each);
                 }
               });
}

template <bool kLower>
struct TriangleRule {
  static constexpr std::string_view gradient = kLower ? "TrilBackward0" : "TriuBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::int64_t diagonal) {
    g.set(0, kLower ? tril(grad, diagonal) : triu(grad, diagonal));
  }
};
template <bool kLower>
struct FreshTriangleRule : TriangleRule<kLower> {
  static Layout infer(const Tensor& self, std::int64_t /*diagonal*/) {
    check_matrix(kLower ? "tril" : "triu", self);
    return Layout::packed(self.shape(), self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, std::int64_t diagonal) {
    copy_tensor(out, self);
    clear_other(out, kLower, diagonal);
  }
};
template <bool kLower>
struct InPlaceTriangleRule : TriangleRule<kLower> {
  static void check(const Tensor& self, std::int64_t /*diagonal*/) {
    check_matrix(kLower ? "tril_" : "triu_", self);
  }
  static void cpu(const Tensor& self, std::int64_t diagonal) {
    if (self.is_contiguous()) return clear_other(self, kLower, diagonal);
    const Tensor packed = self.contiguous();
    clear_other(packed, kLower, diagonal);
    copy_tensor(self, packed);
  }
};

}  // namespace

template <>
struct Rule<op::tril> : FreshTriangleRule<true> {};
template <>
struct Rule<op::triu> : FreshTriangleRule<false> {};
template <>
struct Rule<op::tril_> : InPlaceTriangleRule<true> {};
template <>
struct Rule<op::triu_> : InPlaceTriangleRule<false> {};

template <>
struct Rule<op::diag> {
  static Tensor compose(const Tensor& self, std::int64_t diagonal) {
    if (self.dim() == 1) return diag_embed(self, {.offset = diagonal});
    if (self.dim() == 2) return self.diagonal(diagonal).clone(MemoryFormat::contiguous);
    throw ShapeError(concat("diag(): Supports 1D or 2D tensors. Got ", self.dim(),
                            "D: ", bracketed(self.shape())));
  }
};

template <>
struct Rule<op::diag_embed> {
  static constexpr std::string_view gradient = "DiagEmbedBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t offset,
                       std::int64_t dim1, std::int64_t dim2) {
    g.set(0, grad.diagonal(offset, dim1, dim2));
  }
  static Layout infer(const Tensor& self, std::int64_t offset, std::int64_t dim1,
                      std::int64_t dim2) {
    const std::int64_t rank = self.dim() + 1;
    const auto first = static_cast<std::size_t>(wrap_dim(dim1, rank)),
               second = static_cast<std::size_t>(wrap_dim(dim2, rank));
    if (self.dim() == 0) throw ShapeError("diag_embed: a number has no last dimension");
    if (first == second) {
      throw ShapeError(
          concat("diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2));
    }
    const std::int64_t size = self.size(-1) + std::abs(offset);
    Shape shape = self.shape();
    shape.erase(shape.size() - 1);
    shape.insert(std::min(first, second), size);
    shape.insert(std::max(first, second), size);
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, std::int64_t offset, std::int64_t dim1,
                  std::int64_t dim2) {
    const Tensor whole = out.variable_data();
    whole.zero_();
    whole.diagonal(offset, dim1, dim2).copy_(self);
  }
};

template <>
struct Rule<op::trace> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "TraceBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    const Shape& shape = g.shape(0);
    const std::int64_t n = std::min(shape[0], shape[1]);
    const Tensor part = diag_embed(grad.expand({n}));
    Tensor whole = part;
    if (shape[0] != n || shape[1] != n) {
      const TensorOptions like{.dtype = grad.dtype(), .device = grad.device()};
      if (shape[0] > n) whole = cat({part, zeros({shape[0] - n, n}, like)}, 0);
      if (shape[1] > n) whole = cat({part, zeros({n, shape[1] - n}, like)}, 1);
    }
    g.set(0, whole);
  }
  static Layout infer(const Tensor& self) {
    if (self.dim() != 2) {
      throw ShapeError(concat("trace: expected a matrix, but got tensor with dim ", self.dim(),
                              " of shape ", bracketed(self.shape())));
    }
    const bool whole = is_integral(self.dtype()) || self.dtype() == bool_;
    const DType dtype = whole ? int64 : self.dtype();
    if (!has_reduction(ReduceFunction::sum, dtype)) not_implemented("trace", dtype);
    return Layout::packed({}, dtype, self.device());
  }
  static void run(Tensor& out, const Tensor& self) {
    sum_out(out.variable_data(), self.diagonal());
  }
};

Tensor tril(const Tensor& self, std::int64_t diagonal) { return call<op::tril>(self, diagonal); }
Tensor triu(const Tensor& self, std::int64_t diagonal) { return call<op::triu>(self, diagonal); }
Tensor diag(const Tensor& self, std::int64_t diagonal) { return call<op::diag>(self, diagonal); }
Tensor diag_embed(const Tensor& self, DiagEmbedOptions options) {
  return call<op::diag_embed>(self, options.offset, options.dim1, options.dim2);
}
Tensor trace(const Tensor& self) { return call<op::trace>(self); }

namespace {

// min(1, columns) + min(2, columns) + ... + min(n, columns), if that is a number.
std::optional<std::int64_t> staircase(std::int64_t n, std::int64_t columns) {
  if (n <= 0) return 0;
  const std::int64_t up = std::min(n, columns);
  const auto twice = checked_mul(up, up + 1), flat = checked_mul(n - up, columns);
  return twice && flat ? checked_add(*twice / 2, *flat) : std::nullopt;
}

// How many elements the lower triangle has; the upper one is a lower one turned round.
std::optional<std::int64_t> triangle_size(bool lower, std::int64_t rows, std::int64_t columns,
                                          std::int64_t diagonal) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  if (rows == 0 || columns == 0) return 0;
  if (rows > kMost || columns > kMost) return std::nullopt;
  const std::int64_t near = std::clamp(diagonal, -rows, columns);
  const std::int64_t edge = lower ? near : columns - rows - near;
  const auto with = staircase(rows + edge, columns), without = staircase(edge, columns);
  return with && without ? std::optional(*with - *without) : std::nullopt;
}

Tensor triangle_indices(std::string_view op, bool lower, std::int64_t rows, std::int64_t columns,
                        const TriangleIndicesOptions& options) {
  if (rows < 0) throw ValueError(concat(op, ": row must be non-negative, got ", rows));
  if (columns < 0) throw ValueError(concat(op, ": col must be non-negative, got ", columns));

  const auto count = triangle_size(lower, rows, columns, options.offset);
  if (!count) {
    throw ShapeError(
        concat(op, ": the triangle of ", rows, " rows and ", columns, " columns is too large"));
  }
  const DType dtype = options.dtype.value_or(int64);
  const Device device = options.device ? *options.device : empty({0}).device();
  if (device.is_meta()) return empty({2, *count}, {.dtype = dtype, .device = device});

  const Tensor all = empty({2, *count}, {.dtype = int64, .device = Device::cpu()});
  std::int64_t *row = static_cast<std::int64_t*>(all.data_ptr()), *column = row + *count;
  // Rows before the first of a lower triangle are many if its diagonal is far away.
  const std::int64_t first =
      lower ? std::max<std::int64_t>(0, -std::clamp(options.offset, -rows, columns)) : 0;
  std::int64_t n = 0;
  for (std::int64_t i = first; n < *count; ++i) {
    const std::int64_t left = left_part(lower, i, options.offset, columns);
    for (std::int64_t j = lower ? 0 : left; j < (lower ? left : columns); ++j, ++n) {
      row[n] = i;
      column[n] = j;
    }
  }
  return all.to({.dtype = dtype, .device = device});
}

}  // namespace

Tensor tril_indices(std::int64_t row, std::int64_t col, const TriangleIndicesOptions& options) {
  return triangle_indices("tril_indices", true, row, col, options);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, const TriangleIndicesOptions& options) {
  return triangle_indices("triu_indices", false, row, col, options);
}

const Tensor& TensorMethods::tril_(std::int64_t diagonal) const {
  return call<op::tril_>(itself(*this), diagonal);
}
const Tensor& TensorMethods::triu_(std::int64_t diagonal) const {
  return call<op::triu_>(itself(*this), diagonal);
}

}  // namespace tenon
