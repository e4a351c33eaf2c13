// Distances and products of vectors in space.
#include "tenon/ops/cdist.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::cdist::info{"cdist", kind};
constinit OpInfo op::cross::info{"cross", kind};
constinit OpInfo op::kron::info{"kron", kind};

namespace {

// Differences of some rows of x1 to all of x2, and the slope of the distance along each: how far it
// grows with the difference. Where two rows are the same it is 0.
Tensor differences(const Tensor& x1, const Tensor& x2) {
  return x1.unsqueeze(-2) - x2.unsqueeze(-3);
}
Tensor slopes(const Tensor& difference, const Tensor& distance, double p) {
  if (p == 1) return difference.sgn();
  const Tensor far = distance.unsqueeze(-1);
  if (std::isinf(p)) return difference.sgn() * (difference.abs() == far).to(difference.dtype());
  const Tensor same = far == 0, divisor = masked_fill(far, same, 1);
  if (p == 2) return masked_fill(difference / divisor, same, 0);
  const Tensor none = difference == 0;
  const Tensor size = masked_fill(difference.abs(), none, 1) / divisor;
  return masked_fill(difference.sgn() * size.pow(p - 1), none, 0);
}

// Rows of x1 whose differences to all of x2 are about as many numbers as there are anyway, in the
// arguments and the result: what a call takes beside them stays in proportion.
std::int64_t rows_at_a_time(const Tensor& x1, const Tensor& x2, const Shape& result) {
  constexpr double kLeast = 1 << 14;
  const auto all = static_cast<double>(x1.numel() + x2.numel() + result.numel());
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, x1.size(-2)));
  const double each = static_cast<double>(result.numel()) / rows * static_cast<double>(x1.size(-1));
  return static_cast<std::int64_t>(
      std::clamp(std::max(kLeast, all) / std::max(1.0, each), 1.0, rows));
}

// Calls f(first row, number of rows).
template <class F>
void for_row_blocks(const Tensor& x1, const Tensor& x2, const Shape& result, F&& f) {
  const std::int64_t rows = x1.size(-2), at_a_time = rows_at_a_time(x1, x2, result);
  for (std::int64_t row = 0; row < rows; row += at_a_time) f(row, std::min(at_a_time, rows - row));
}

}  // namespace

template <>
struct Rule<op::cdist> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static constexpr std::string_view gradient = "CdistBackward0";
  static bool saves(std::size_t /*place*/, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& x1, const Tensor& x2,
                       double p) {
    if (p == 0) {
      if (g.wanted(0)) g.set(0, zeros_like(x1));
      if (g.wanted(1)) g.set(1, zeros_like(x2));
      return;
    }
    const Tensor distance = g.result();
    std::vector<Tensor> of_rows;
    Tensor of_x2;
    for_row_blocks(x1, x2, grad.shape(), [&](std::int64_t row, std::int64_t count) {
      const auto part = [&](const Tensor& t) { return t.narrow(-2, row, count); };
      const Tensor each =
          slopes(differences(part(x1), x2), part(distance), p) * part(grad).unsqueeze(-1);
      if (g.wanted(0)) of_rows.push_back(sum(each, {-2}));
      if (!g.wanted(1)) return;
      const Tensor columns = sum(each, {-3});
      of_x2 = of_x2.defined() ? of_x2 - columns : -columns;
    });
    if (g.wanted(0)) g.set(0, of_rows.empty() ? zeros_like(x1) : cat(of_rows, -2));
    if (g.wanted(1)) g.set(1, of_x2.defined() ? of_x2 : zeros_like(x2));
  }
  static Layout infer(const Tensor& x1, const Tensor& x2, double p) {
    if (x1.dim() < 2 || x2.dim() < 2) {
      throw ShapeError(concat("cdist only supports at least 2D tensors, and these are ",
                              bracketed(x1.shape()), " and ", bracketed(x2.shape())));
    }
    if (x1.size(-1) != x2.size(-1)) {
      throw ShapeError(concat("cdist: X1 and X2 must have the same number of columns. X1: ",
                              x1.size(-1), " X2: ", x2.size(-1), " (their shapes are ",
                              bracketed(x1.shape()), " and ", bracketed(x2.shape()), ")"));
    }
    if (!is_floating_point(x1.dtype()) || !is_floating_point(x2.dtype())) {
      throw DTypeError(concat("cdist only supports floating-point dtypes, and these are ",
                              repr(x1.dtype()), " and ", repr(x2.dtype())));
    }
    if (!(p >= 0)) throw ValueError(concat("cdist only supports non-negative p values: ", p));
    const Tensor both[] = {x1, x2};
    const Device device = same_device("cdist", both);
    const auto items = [](const Tensor& t) {
      Shape shape = t.shape();
      for (int i = 0; i < 2; ++i) shape.erase(shape.size() - 1);
      return shape;
    };
    Shape shape = broadcast_shapes(items(x1), items(x2));
    shape.push_back(x1.size(-2));
    shape.push_back(x2.size(-2));
    const DType dtype = result_type(x1, x2);
    if (!has_binary(BinaryFunction::sub, dtype)) not_implemented("cdist", dtype);
    return Layout::packed(shape, dtype, device);
  }
  static void run(Tensor& out, const Tensor& x1, const Tensor& x2, double p) {
    const Tensor whole = out.variable_data();
    for_row_blocks(x1, x2, out.shape(), [&](std::int64_t row, std::int64_t count) {
      whole.narrow(-2, row, count).copy_(norm(differences(x1.narrow(-2, row, count), x2), p, -1));
    });
  }
};

template <>
struct Rule<op::cross> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static constexpr std::string_view gradient = "LinalgCrossBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place < 2 && wanted[1 - place];
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& other,
                       std::int64_t dim) {
    if (g.wanted(0)) g.set(0, cross(other.conj(), grad, dim));
    if (g.wanted(1)) g.set(1, cross(grad, self.conj(), dim));
  }
  static Layout infer(const Tensor& self, const Tensor& other, std::int64_t dim) {
    const Tensor both[] = {self, other};
    const Device device = same_device("cross", both);
    if (self.dim() != other.dim()) {
      throw ShapeError(concat("linalg.cross: inputs must have the same number of dimensions: ",
                              bracketed(self.shape()), " and ", bracketed(other.shape())));
    }
    if (self.dim() == 0 || self.size(dim) != 3 || other.size(dim) != 3) {
      throw ShapeError(concat("linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
                              bracketed(self.shape()), " and ", bracketed(other.shape())));
    }
    const DType dtype = result_type(self, other);
    // The products of two bools could be taken, and their differences could not.
    if (dtype == bool_ || !has_binary(BinaryFunction::mul, dtype)) not_implemented("cross", dtype);
    return Layout::packed(broadcast_shapes(self.shape(), other.shape()), dtype, device);
  }
  static void run(Tensor& out, const Tensor& self, const Tensor& other, std::int64_t dim) {
    const Tensor whole = out.variable_data();
    const Tensor a = self.to(out.dtype()), b = other.to(out.dtype());
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t j = (i + 1) % 3, k = (i + 2) % 3;
      whole.select(dim, i).copy_(a.select(dim, j) * b.select(dim, k) -
                                 a.select(dim, k) * b.select(dim, j));
    }
  }
};

template <>
struct Rule<op::kron> {
  static Tensor compose(const Tensor& self, const Tensor& other) {
    const std::int64_t rank = std::max(self.dim(), other.dim());
    Shape left, right, shape;
    for (std::int64_t d = -rank; d < 0; ++d) {
      const std::int64_t a = -d <= self.dim() ? self.size(d) : 1,
                         b = -d <= other.dim() ? other.size(d) : 1;
      left.push_back(a);
      left.push_back(1);
      right.push_back(1);
      right.push_back(b);
      shape.push_back(a * b);
    }
    return (self.reshape(left) * other.reshape(right)).reshape(shape);
  }
};

Tensor cdist(const Tensor& x1, const Tensor& x2, const CdistOptions& options) {
  return call<op::cdist>(x1, x2, options.p);
}
Tensor cross(const Tensor& self, const Tensor& other) {
  std::int64_t dim = 0;
  while (dim < self.dim() && self.size(dim) != 3) ++dim;
  if (dim == self.dim()) {
    throw ShapeError(
        concat("cross: no dimension of size 3 in input of shape ", bracketed(self.shape())));
  }
  return cross(self, other, dim);
}
Tensor cross(const Tensor& self, const Tensor& other, std::int64_t dim) {
  return call<op::cross>(self, other, dim);
}
Tensor kron(const Tensor& self, const Tensor& other) { return call<op::kron>(self, other); }

}  // namespace tenon
