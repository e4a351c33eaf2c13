#include "ops/linalg/multiply.h"

#include <algorithm>
#include <atomic>
#include <complex>

#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/few_rows.h"
#include "kernels/gemm.h"
#include "ops/onednn/gemm.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

namespace {

struct Sizes {
  std::int64_t batch, m, n, k;
};

// A batch as oneDNN takes it: rows or columns packed. One that is neither is copied.
class Batch {
 public:
  explicit Batch(const Tensor& tensor) : tensor_(tensor) {
    if (!packed_along(2) && !packed_along(1)) tensor_ = tensor.contiguous();
    transposed_ = !packed_along(2);
    leading_ = leading(transposed_ ? 2 : 1);
  }
  // The part of matrix `i` that begins at an element.
  PackedMatrix at(std::int64_t i, std::int64_t row, std::int64_t column) const {
    const Dims& strides = tensor_.stride();
    const std::int64_t offset = i * strides[0] + row * strides[1] + column * strides[2];
    return {static_cast<const std::byte*>(tensor_.data_ptr()) + offset * tensor_.element_size(),
            leading_, transposed_};
  }

 private:
  bool packed_along(std::size_t d) const {
    const std::size_t other = 3 - d;
    const Shape& shape = tensor_.shape();
    const Dims& strides = tensor_.stride();
    return (strides[d] == 1 || shape[d] == 1) &&
           (shape[other] == 1 || strides[other] >= std::max<std::int64_t>(1, shape[d]));
  }
  // Of one row it does not matter, but it has to look right.
  std::int64_t leading(std::size_t d) const {
    const std::size_t other = 3 - d;
    return tensor_.shape()[d] == 1 ? std::max<std::int64_t>(1, tensor_.shape()[other])
                                   : tensor_.stride()[d];
  }

  Tensor tensor_;
  bool transposed_ = false;
  std::int64_t leading_ = 0;
};

// Note [Blocks of a product]
// A product is cut into blocks by its size alone: as many as let sixteen cores work, none so small
// that copying its operands together would show. Where reading the operands takes longer than
// multiplying, less is worth a thread.
struct Grid {
  std::int64_t rows = 1, columns = 1;
};
Grid grid_of(const Sizes& size) {
  // Multiplications worth a thread.
  const std::int64_t worth = std::int64_t{1}
                             << (std::min(size.m, size.n) <= kMostFewRows ? 18 : 22);
  constexpr std::int64_t kBlocks = 16, kSmallest = 128;
  const double work =
      static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  const auto most = static_cast<std::int64_t>(
      std::min(static_cast<double>(kBlocks), work / static_cast<double>(worth)));
  Grid grid;
  while (grid.rows * grid.columns * size.batch < most) {
    const std::int64_t height = size.m / grid.rows, width = size.n / grid.columns;
    if (std::max(height, width) < 2 * kSmallest) break;
    (height >= width ? grid.rows : grid.columns) *= 2;
  }
  return grid;
}

// Calls multiply(matrix, first row, rows, first column, columns) for every block of every matrix.
template <class F>
void for_each_block(const Sizes& size, F&& multiply) {
  const Grid grid = grid_of(size);
  // Multiples of 16, so that no block has half a vector but the last.
  const auto step = [](std::int64_t n, std::int64_t parts) {
    return ((n + parts - 1) / parts + 15) / 16 * 16;
  };
  const std::int64_t height = step(size.m, grid.rows), width = step(size.n, grid.columns);
  const std::int64_t rows = (size.m + height - 1) / height, columns = (size.n + width - 1) / width;
  const double work =
      static_cast<double>(height) * static_cast<double>(width) * static_cast<double>(size.k);
  const auto grain = static_cast<std::int64_t>(std::max(1.0, 262144.0 / std::max(1.0, work)));
  parallel_for(0, size.batch * rows * columns, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t matrix = block / (rows * columns), within = block % (rows * columns);
      const std::int64_t row = within / columns * height, column = within % columns * width;
      multiply(matrix, row, std::min(height, size.m - row), column,
               std::min(width, size.n - column));
    }
  });
}

void multiply_floats(const Sizes& size, const Tensor& out, const Tensor& a, const Tensor& b) {
  const Batch left(a), right(b);
  auto* to = out.data<float>();
  for_each_block(size, [&](std::int64_t matrix, std::int64_t row, std::int64_t rows,
                           std::int64_t column, std::int64_t columns) {
    onednn_multiply(rows, columns, size.k, left.at(matrix, row, 0), right.at(matrix, 0, column),
                    to + (matrix * size.m + row) * size.n + column, size.n);
  });
}

// False: this machine needs floats.
bool multiply_bfloats(const Sizes& size, const Tensor& out, const Tensor& a, const Tensor& b) {
  const Batch left(a), right(b);
  auto* to = static_cast<std::byte*>(out.data_ptr());
  std::atomic<bool> done = true;
  for_each_block(size, [&](std::int64_t matrix, std::int64_t row, std::int64_t rows,
                           std::int64_t column, std::int64_t columns) {
    if (!done) return;
    const std::int64_t offset = (matrix * size.m + row) * size.n + column;
    if (!onednn_multiply_bfloat16(rows, columns, size.k, left.at(matrix, row, 0),
                                  right.at(matrix, 0, column), to + offset * out.element_size(),
                                  size.n, out.dtype())) {
      done = false;
    }
  });
  return done;
}

// Whether the elements of each row are side by side, and none begins before the one ahead ends.
bool rows_are_packed(const Tensor& batch, std::size_t row, std::size_t element) {
  const Shape& shape = batch.shape();
  return batch.stride()[element] == 1 && (shape[row] == 1 || batch.stride()[row] >= shape[element]);
}

// A product of a few rows is bound by reading the rows of the other matrix, which are shared out.
// `few` and `many` are batches of rows of k elements.
void multiply_few(std::int64_t k, const Tensor& few, const Tensor& many, const Tensor& out,
                  std::int64_t out_few, std::int64_t out_many) {
  constexpr std::int64_t kWork = 1 << 16;  // multiplications worth a thread
  const Tensor left = few.to(float32).contiguous();
  const std::int64_t rows = few.size(1), count = many.size(1);
  const std::int64_t step =
      std::min(count, std::max<std::int64_t>(4, (kWork / (rows * k) + 3) / 4 * 4));
  const std::int64_t blocks = (count + step - 1) / step;
  const auto* from = static_cast<const std::byte*>(many.data_ptr());
  auto* to = out.data<float>();
  const auto work = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t matrix = i / blocks, row = i % blocks * step;
      const std::int64_t offset = matrix * many.stride(0) + row * many.stride(1);
      multiply_few_rows(rows, k, left.data<float>() + matrix * rows * k,
                        {from + offset * many.element_size(), std::min(step, count - row),
                         many.stride(1), many.dtype()},
                        {to + matrix * rows * count + row * out_many, out_few, out_many});
    }
  };
  parallel_for(0, few.size(0) * blocks, std::max<std::int64_t>(1, kWork / (rows * k * step)), work);
}

// False: neither matrix is of a few rows that the other's are packed for.
bool multiplied_few(const Sizes& size, const Tensor& out, const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kShortest = 16;
  if (size.k < kShortest || std::min(size.m, size.n) > kMostFewRows) return false;
  const bool of_a = size.m <= kMostFewRows && rows_are_packed(b, 2, 1);
  if (!of_a && (size.n > kMostFewRows || !rows_are_packed(a, 1, 2))) return false;
  const Tensor sums = out.dtype() == float32
                          ? out
                          : empty(out.shape(), {.dtype = float32, .device = Device::cpu()});
  if (of_a) {
    multiply_few(size.k, a, b.mT(), sums, size.n, 1);
  } else {
    multiply_few(size.k, b.mT(), a, sums, 1, size.n);
  }
  if (out.dtype() != float32) copy_tensor(out, sums);
  return true;
}

template <class T>
MatrixView<const T> matrix(const Tensor& batch, std::int64_t i) {
  const Dims& strides = batch.stride();
  return {static_cast<const T*>(batch.data_ptr()) + i * strides[0], strides[1], strides[2]};
}

template <class T>
void add_products(const Sizes& size, const Tensor& out, const Tensor& a, const Tensor& b) {
  auto* to = static_cast<T*>(out.data_ptr());
  for (std::int64_t i = 0; i < size.batch; ++i) {
    multiply_add(size.m, size.n, size.k, matrix<T>(a, i), matrix<T>(b, i),
                 to + i * size.m * size.n);
  }
}

// Real and imaginary parts apart.
void multiply_complex(const Sizes& size, const Tensor& out, const Tensor& a, const Tensor& b) {
  const Tensor x = view_as_real(a.to(complex128)), y = view_as_real(b.to(complex128));
  const Tensor real = zeros(out.shape(), {.dtype = float64, .device = Device::cpu()}),
               imag = zeros_like(real);
  const Tensor x_real = x.select(-1, 0), x_imag = x.select(-1, 1);
  const Tensor y_real = y.select(-1, 0), y_imag = y.select(-1, 1);
  add_products<double>(size, real, x_real, y_real);
  add_products<double>(size, real, -x_imag, y_imag);
  add_products<double>(size, imag, x_real, y_imag);
  add_products<double>(size, imag, x_imag, y_real);
  copy_tensor(out, view_as_complex(stack({real, imag}, -1)));
}

}  // namespace

bool can_multiply(DType dtype) {
  return is_integral(dtype) || dtype == float16 || dtype == bfloat16 || dtype == float32 ||
         dtype == float64 || dtype == complex64 || dtype == complex128;
}

void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b) {
  const Sizes size{out.size(0), a.size(1), b.size(2), a.size(2)};
  if (out.numel() == 0) return;
  if (size.k == 0) {
    out.zero_();
    return;
  }
  const DType dtype = a.dtype();
  if ((dtype == float32 || dtype == bfloat16 || dtype == float16) &&
      multiplied_few(size, out, a, b))
    return;
  if (dtype == float32) return multiply_floats(size, out, a, b);
  if (dtype == bfloat16 && multiply_bfloats(size, out, a, b)) return;
  if (dtype == bfloat16 || dtype == float16) {
    if (out.dtype() == float32) return multiply_floats(size, out, a.to(float32), b.to(float32));
    const Tensor wide = empty(out.shape(), {.dtype = float32, .device = Device::cpu()});
    multiply_floats(size, wide, a.to(float32), b.to(float32));
    return copy_tensor(out, wide);
  }
  if (is_complex(dtype)) return multiply_complex(size, out, a, b);
  if (dtype == float64) {
    out.zero_();
    return add_products<double>(size, out, a, b);
  }
  const Tensor wide = zeros(out.shape(), {.dtype = int64, .device = Device::cpu()});
  add_products<std::int64_t>(size, wide, a.to(int64), b.to(int64));
  copy_tensor(out, wide);
}

}  // namespace tenon
