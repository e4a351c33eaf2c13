#include "kernels/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void Corner(const float* src, std::int64_t src_row, std::int64_t rows, std::int64_t columns,
            float* dst, std::int64_t dst_row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) dst[j * dst_row + i] = src[i * src_row + j];
  }
}

#if HWY_TARGET != HWY_SCALAR

// Four by four elements, in each block of four of the vectors at once.
template <class V>
struct Four {
  V a, b, c, d;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Four<V> Turned(D d, const float* src, std::int64_t row) {
  const hn::RepartitionToWide<D> wide;
  const V r0 = hn::LoadU(d, src), r1 = hn::LoadU(d, src + row), r2 = hn::LoadU(d, src + 2 * row),
          r3 = hn::LoadU(d, src + 3 * row);
  const auto lower = [&](V x, V y) {
    return hn::BitCast(d, hn::InterleaveLower(wide, hn::BitCast(wide, x), hn::BitCast(wide, y)));
  };
  const auto upper = [&](V x, V y) {
    return hn::BitCast(d, hn::InterleaveUpper(wide, hn::BitCast(wide, x), hn::BitCast(wide, y)));
  };
  const V low01 = hn::InterleaveLower(d, r0, r1), low23 = hn::InterleaveLower(d, r2, r3);
  const V high01 = hn::InterleaveUpper(d, r0, r1), high23 = hn::InterleaveUpper(d, r2, r3);
  return {lower(low01, low23), upper(low01, low23), lower(high01, high23), upper(high01, high23)};
}

// Each block of four of a vector belongs to another row.
template <class D, class V>
HWY_INLINE void StoreBlocks(D d, V v, float* dst, std::int64_t dst_row) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, dst);
  } else {
    const hn::Half<D> half;
    constexpr auto kHalf = static_cast<std::int64_t>(hn::MaxLanes(D())) / 2;
    StoreBlocks(half, hn::LowerHalf(half, v), dst, dst_row);
    StoreBlocks(half, hn::UpperHalf(half, v), dst + kHalf * dst_row, dst_row);
  }
}

// Four rows of as many columns as a vector has.
HWY_INLINE void Strip(const float* src, std::int64_t src_row, float* dst, std::int64_t dst_row) {
  const hn::CappedTag<float, 16> d;
  const auto turned = Turned(d, src, src_row);
  StoreBlocks(d, turned.a, dst, dst_row);
  StoreBlocks(d, turned.b, dst + dst_row, dst_row);
  StoreBlocks(d, turned.c, dst + 2 * dst_row, dst_row);
  StoreBlocks(d, turned.d, dst + 3 * dst_row, dst_row);
}

#endif

void Transpose(const float* HWY_RESTRICT src, std::int64_t src_row, std::int64_t rows,
               std::int64_t columns, float* HWY_RESTRICT dst, std::int64_t dst_row) {
#if HWY_TARGET == HWY_SCALAR
  Corner(src, src_row, rows, columns, dst, dst_row);
#else
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::CappedTag<float, 16>());
  const std::int64_t whole_rows = rows / 4 * 4, whole_columns = columns / kLanes * kLanes;
  // Several lines of a row of src at a time, which the next level of memory gives together.
  constexpr std::int64_t kTile = 64;
  for (std::int64_t first = 0; first < whole_columns; first += kTile) {
    const std::int64_t last = HWY_MIN(whole_columns, first + kTile);
    for (std::int64_t i = 0; i < whole_rows; i += 4) {
      for (std::int64_t j = first; j < last; j += kLanes)
        Strip(src + i * src_row + j, src_row, dst + j * dst_row + i, dst_row);
    }
  }
  Corner(src + whole_rows * src_row, src_row, rows - whole_rows, columns, dst + whole_rows,
         dst_row);
  Corner(src + whole_columns, src_row, whole_rows, columns - whole_columns,
         dst + whole_columns * dst_row, dst_row);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(Transpose);

void transpose_floats(const float* src, std::int64_t src_row, std::int64_t rows,
                      std::int64_t columns, float* dst, std::int64_t dst_row) {
  HWY_DYNAMIC_DISPATCH(Transpose)(src, src_row, rows, columns, dst, dst_row);
}

}  // namespace tenon
#endif
