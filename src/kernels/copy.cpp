#include "kernels/copy.h"

#include <algorithm>
#include <cstring>

#include "kernels/cast.h"
#include "kernels/element.h"
#include "kernels/streaming.h"

namespace tenon {

namespace {

template <class E>
void copy_row(std::byte* dst, std::int64_t dst_stride, const std::byte* src,
              std::int64_t src_stride, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(E));
  if (dst_stride == kSize && src_stride == kSize) {
    std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(E));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(E));
  }
}

// Side of the square that is turned at once when rows of one operand are columns of the other. It
// goes through a buffer of its own: rows of src are read whole, once, and rows of dst written
// whole, so that lines of memory that fall on the same place of the cache (sizes are powers of two)
// do not push each other out before they are used up.
constexpr std::int64_t kTile = 32;

// The dimension along which src is packed, if it is not the one dst is packed along; 0 if there is
// nothing to gain.
std::size_t source_row(const Loop<2>& loop, std::int64_t itemsize) {
  if (loop.dim(0).strides[0] != itemsize || loop.dim(0).strides[1] == itemsize) return 0;
  for (std::size_t d = 1; d < loop.ndim(); ++d) {
    if (loop.dim(d).strides[1] == itemsize)
      return loop.dim(0).size >= 8 && loop.dim(d).size >= 8 ? d : 0;
  }
  return 0;
}

// x is the dimension packed in dst, y the one packed in src.
template <class E>
void copy_tile(std::byte* dst, const Loop<2>::Strides& x, std::int64_t nx, const std::byte* src,
               const Loop<2>::Strides& y, std::int64_t ny) {
  E turned[kTile][kTile];
  for (std::int64_t x0 = 0; x0 < nx; x0 += kTile) {
    const std::int64_t width = std::min(kTile, nx - x0);
    for (std::int64_t i = 0; i < width; ++i) {
      E row[kTile];
      std::memcpy(row, src + (x0 + i) * x[1], static_cast<std::size_t>(ny) * sizeof(E));
      for (std::int64_t j = 0; j < ny; ++j) turned[j][i] = row[j];
    }
    for (std::int64_t j = 0; j < ny; ++j) {
      std::memcpy(dst + x0 * x[0] + j * y[0], turned[j],
                  static_cast<std::size_t>(width) * sizeof(E));
    }
  }
}

// Dimension 0 is packed in dst and dimension 1 in src. The others are walked plane by plane; planes
// are cut into bands of one tile's height, which are the pieces threads take.
template <class E>
void copy_transposed(const Loop<2>& loop) {
  const auto& x = loop.dim(0);
  const auto& y = loop.dim(1);
  const std::int64_t bands = (y.size + kTile - 1) / kTile;
  const std::int64_t planes = loop.numel() / (x.size * y.size);
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / (x.size * kTile));
  parallel_for(0, planes * bands, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t first = piece % bands * kTile;
      std::byte* dst = loop.data()[0] + first * y.strides[0];
      const std::byte* src = loop.data()[1] + first * y.strides[1];
      std::int64_t rest = piece / bands;
      for (std::size_t d = 2; d < loop.ndim(); ++d) {
        const std::int64_t index = rest % loop.dim(d).size;
        rest /= loop.dim(d).size;
        dst += index * loop.dim(d).strides[0];
        src += index * loop.dim(d).strides[1];
      }
      copy_tile<E>(dst, x.strides, x.size, src, y.strides, std::min(kTile, y.size - first));
    }
  });
}

}  // namespace

void copy_elements(std::span<const std::int64_t> shape, const Operand& dst, DType dst_dtype,
                   const Operand& src, DType src_dtype, CopyTransform transform) {
  Loop<2> loop(shape, {dst, src});
  if (loop.numel() == 0) return;
  if (dst_dtype != src_dtype || transform.conj || transform.neg) {
    const Cast cast(dst_dtype, src_dtype, transform.conj, transform.neg);
    const bool stream = loop.numel() * dst.itemsize >= kStreamedBytes;
    loop.run_parallel(
        [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t n) {
          cast({at[0], strides[0], at[1], strides[1], n}, stream);
        });
    return;
  }
  with_element_of(dst.itemsize, [&]<class E>() {
    if (const std::size_t row = source_row(loop, dst.itemsize); row != 0) {
      loop.bring_to_second(row);
      return copy_transposed<E>(loop);
    }
    loop.run_parallel([](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides,
                         std::int64_t n) { copy_row<E>(at[0], strides[0], at[1], strides[1], n); });
  });
}

}  // namespace tenon
