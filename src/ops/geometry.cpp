// Distances and products of vectors in space.
#include "tenon/geometry.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ops/gradients.h"
#include "ops/operands.h"
#include "tenon/arithmetic.h"
#include "tenon/autograd.h"
#include "tenon/custom_op.h"
#include "tenon/error.h"
#include "tenon/ops.h"
#include "tenon/reductions.h"

namespace tenon {

constinit OpInfo op::cdist::info{"cdist", kind};
constinit OpInfo op::cross::info{"cross", kind};
constinit OpInfo op::kron::info{"kron", kind};

template <>
struct Rule<op::cdist> {
  static Tensor compose(const Tensor& x1, const Tensor& x2, double p) {
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
    const bool recorded = is_grad_enabled() && (x1.requires_grad() || x2.requires_grad());
    const std::int64_t rows = x1.size(-2), at_a_time = recorded ? rows : rows_at_a_time(x1, x2);
    if (rows <= at_a_time) return distances(x1, x2, p);
    std::vector<Tensor> blocks;
    for (std::int64_t row = 0; row < rows; row += at_a_time) {
      const std::int64_t count = std::min(at_a_time, rows - row);
      blocks.push_back(distances(x1.narrow(-2, row, count), x2, p));
    }
    return cat(blocks, -2);
  }

 private:
  static Tensor distances(const Tensor& x1, const Tensor& x2, double p) {
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1);
  }
  // Rows of x1 whose differences to all of x2 are of a moderate number.
  static std::int64_t rows_at_a_time(const Tensor& x1, const Tensor& x2) {
    constexpr std::int64_t kDifferences = std::int64_t{1} << 22;
    const std::int64_t items = x1.numel() / std::max<std::int64_t>(1, x1.size(-2) * x1.size(-1));
    const double each = static_cast<double>(std::max<std::int64_t>(1, items)) *
                        static_cast<double>(std::max<std::int64_t>(1, x2.numel()));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kDifferences / each));
  }
};

template <>
struct Rule<op::cross> {
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
    return Layout::packed(broadcast_shapes(self.shape(), other.shape()), result_type(self, other),
                          device);
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
