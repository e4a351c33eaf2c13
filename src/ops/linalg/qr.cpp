// Householder's reflections, a few columns at a time: what they do to all the others are products
// of matrices.
#include "ops/linalg/qr.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/matmul.h"

namespace tenon {
namespace {

constexpr std::int64_t kBlock = 32;

// Reflections whose product is I - V T V'. Rows of `vectors` are the columns of V.
struct Block {
  std::int64_t first;  // column, and row, they begin at
  Tensor vectors;
  Tensor t;
};

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(double* a, const double* b, double factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) a[i] += factor * b[i];
}

// Makes x the vector of the reflection that turns it into (r, 0, ..., 0), and gives r and the
// factor tau of I - tau v v'.
struct Reflection {
  double r, tau;
};
Reflection reflect(double* x, std::int64_t n) {
  const double head = x[0], rest = dot(x + 1, x + 1, n - 1);
  x[0] = 1;
  if (rest == 0) return {head, 0};
  const double r = -std::copysign(std::sqrt(head * head + rest), head);
  const double scale = 1 / (head - r);
  for (std::int64_t i = 1; i < n; ++i) x[i] *= scale;
  return {r, (r - head) / r};
}

// Factors the columns [first, first + count), which are rows of `columns`; notes the diagonal of R.
Block factor(const Tensor& columns, std::int64_t first, std::int64_t count,
             std::vector<double>& diagonal) {
  const std::int64_t length = columns.size(1) - first;
  const Tensor vectors =
      columns.slice(0, first, first + count).slice(1, first).clone(MemoryFormat::contiguous);
  const Tensor t = zeros({count, count}, {.dtype = float64, .device = Device::cpu()});
  double* v = vectors.data<double>();
  double* tt = t.data<double>();
  for (std::int64_t k = 0; k < count; ++k) {
    double* own = v + k * length;
    const auto [r, tau] = reflect(own + k, length - k);
    diagonal.push_back(r);
    for (std::int64_t j = k + 1; j < count; ++j) {
      double* other = v + j * length;
      add_scaled(other + k, own + k, -tau * dot(other + k, own + k, length - k), length - k);
    }
    // Above its head is a part of R, which is not wanted and would disturb the products.
    std::fill(own, own + k, 0.0);
    std::vector<double> with_earlier;
    for (std::int64_t j = 0; j < k; ++j)
      with_earlier.push_back(-tau * dot(v + j * length, own, length));
    for (std::int64_t i = 0; i < k; ++i) {
      double sum = 0;
      for (std::int64_t j = i; j < k; ++j)
        sum += tt[i * count + j] * with_earlier[static_cast<std::size_t>(j)];
      tt[i * count + k] = sum;
    }
    tt[k * count + k] = tau;
  }
  return {first, vectors, t};
}

// columns times I - V T V' from the right.
void apply(const Tensor& columns, const Block& block, const Tensor& t) {
  if (columns.size(0) == 0) return;
  columns.sub_(mm(mm(mm(columns, block.vectors.t()), t), block.vectors));
}

}  // namespace

Tensor orthonormal_columns(const Tensor& a) {
  TENON_ASSERT(a.dim() == 2 && a.size(0) >= a.size(1));
  const std::int64_t n = a.size(1);
  // Columns lie as rows, packed.
  const Tensor columns =
      a.t().to({.dtype = float64, .copy = true, .memory_format = MemoryFormat::contiguous});
  std::vector<Block> blocks;
  std::vector<double> diagonal;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t count = std::min(kBlock, n - first);
    blocks.push_back(factor(columns, first, count, diagonal));
    const Block& block = blocks.back();
    apply(columns.slice(0, first + count).slice(1, first), block, block.t);
  }
  const Tensor q = zeros({n, a.size(0)}, {.dtype = float64, .device = Device::cpu()});
  q.diagonal().fill_(1);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
    apply(q.slice(0, block->first).slice(1, block->first), *block, block->t.t());
  for (std::int64_t k = 0; k < n; ++k) {
    const double r = diagonal[static_cast<std::size_t>(k)];
    if (!(r > 0)) q.select(0, k).mul_(r < 0 ? -1 : 0);
  }
  return q.t().to(a.dtype());
}

}  // namespace tenon
