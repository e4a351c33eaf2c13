#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A tile of the result that stays in registers, and how much of the sum is taken at a time.
constexpr std::int64_t kTileRows = 4, kTileColumns = 16, kDepth = 256, kBlockRows = 96;

// out += a * b for one tile. a is packed by columns, b by rows.
void Tile(std::int64_t depth, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b,
          double* HWY_RESTRICT out, std::int64_t out_row, std::int64_t rows, std::int64_t columns) {
  const hn::CappedTag<double, 8> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::CappedTag<double, 8>());
  constexpr std::int64_t kVectors = kTileColumns / kLanes;
  hn::Vec<decltype(d)> sums[kTileRows][kVectors];
  for (auto& row : sums) {
    for (auto& sum : row) sum = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    hn::Vec<decltype(d)> right[kVectors];
    for (std::int64_t j = 0; j < kVectors; ++j)
      right[j] = hn::LoadU(d, b + p * kTileColumns + j * kLanes);
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      const auto left = hn::Set(d, a[p * kTileRows + i]);
      for (std::int64_t j = 0; j < kVectors; ++j)
        sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
  }
  double tile[kTileRows * kTileColumns];
  for (std::int64_t i = 0; i < kTileRows; ++i) {
    for (std::int64_t j = 0; j < kVectors; ++j)
      hn::StoreU(sums[i][j], d, tile + i * kTileColumns + j * kLanes);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out[i * out_row + j] += tile[i * kTileColumns + j];
  }
}

void Tile(std::int64_t depth, const std::int64_t* HWY_RESTRICT a,
          const std::int64_t* HWY_RESTRICT b, std::int64_t* HWY_RESTRICT out, std::int64_t out_row,
          std::int64_t rows, std::int64_t columns) {
  std::uint64_t sums[kTileRows][kTileColumns] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      const auto left = static_cast<std::uint64_t>(a[p * kTileRows + i]);
      for (std::int64_t j = 0; j < kTileColumns; ++j)
        sums[i][j] += left * static_cast<std::uint64_t>(b[p * kTileColumns + j]);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t& place = out[i * out_row + j];
      place = static_cast<std::int64_t>(static_cast<std::uint64_t>(place) + sums[i][j]);
    }
  }
}

// `count` lines of the matrix, `width` of them side by side; what is missing of the last is zero.
template <class T>
void Pack(T* HWY_RESTRICT to, const T* from, std::int64_t line, std::int64_t step,
          std::int64_t count, std::int64_t depth, std::int64_t width) {
  for (std::int64_t first = 0; first < count; first += width) {
    const std::int64_t here = HWY_MIN(width, count - first);
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t i = 0; i < width; ++i)
        *to++ = i < here ? from[(first + i) * line + p * step] : T(0);
    }
  }
}

template <class T>
void MultiplyAdd(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<const T> a,
                 MatrixView<const T> b, T* out) {
  const std::int64_t padded = (n + kTileColumns - 1) / kTileColumns * kTileColumns;
  std::vector<T> packed_b(static_cast<std::size_t>(HWY_MIN(kDepth, k) * padded));
  for (std::int64_t from = 0; from < k; from += kDepth) {
    const std::int64_t depth = HWY_MIN(kDepth, k - from);
    const std::int64_t strips = padded / kTileColumns;
    parallel_for(0, strips, HWY_MAX(std::int64_t{1}, 65536 / (depth * kTileColumns)),
                 [&](std::int64_t first, std::int64_t last) {
                   const std::int64_t begin = first * kTileColumns;
                   Pack(packed_b.data() + begin * depth, b.data + begin * b.column + from * b.row,
                        b.column, b.row, HWY_MIN(n, last * kTileColumns) - begin, depth,
                        kTileColumns);
                 });
    const std::int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
    const std::int64_t cost = HWY_MAX(std::int64_t{1}, kBlockRows * depth * padded);
    parallel_for(0, blocks, HWY_MAX(std::int64_t{1}, 65536 / cost),
                 [&](std::int64_t first, std::int64_t last) {
                   std::vector<T> packed_a(static_cast<std::size_t>(kBlockRows * depth));
                   for (std::int64_t block = first; block < last; ++block) {
                     const std::int64_t top = block * kBlockRows,
                                        rows = HWY_MIN(kBlockRows, m - top);
                     Pack(packed_a.data(), a.data + top * a.row + from * a.column, a.row, a.column,
                          rows, depth, kTileRows);
                     for (std::int64_t j = 0; j < n; j += kTileColumns) {
                       for (std::int64_t i = 0; i < rows; i += kTileRows) {
                         Tile(depth, packed_a.data() + i * depth, packed_b.data() + j * depth,
                              out + (top + i) * n + j, n, HWY_MIN(kTileRows, rows - i),
                              HWY_MIN(kTileColumns, n - j));
                       }
                     }
                   }
                 });
  }
}

void MultiplyAddDoubles(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<const double> a,
                        MatrixView<const double> b, double* out) {
  MultiplyAdd(m, n, k, a, b, out);
}
void MultiplyAddIntegers(std::int64_t m, std::int64_t n, std::int64_t k,
                         MatrixView<const std::int64_t> a, MatrixView<const std::int64_t> b,
                         std::int64_t* out) {
  MultiplyAdd(m, n, k, a, b, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(MultiplyAddDoubles);
HWY_EXPORT(MultiplyAddIntegers);

void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<const double> a,
                  MatrixView<const double> b, double* out) {
  HWY_DYNAMIC_DISPATCH(MultiplyAddDoubles)(m, n, k, a, b, out);
}
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<const std::int64_t> a,
                  MatrixView<const std::int64_t> b, std::int64_t* out) {
  HWY_DYNAMIC_DISPATCH(MultiplyAddIntegers)(m, n, k, a, b, out);
}

}  // namespace tenon
#endif
