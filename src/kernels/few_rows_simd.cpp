#include <cstring>

#include "kernels/few_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_rows_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// As many sums as the widest vector has elements, in as many vectors as that takes here.
constexpr std::size_t kSums = 16, kLanes = hn::MaxLanes(D()), kVectors = kSums / kLanes;

struct Floats {
  using Element = float;
  static HWY_INLINE V Load(const float* p) { return hn::LoadU(D(), p); }
};
struct BFloats {
  using Element = std::uint16_t;
  static HWY_INLINE V Load(const std::uint16_t* p) {
    const hn::Rebind<std::uint32_t, D> wide;
    return hn::BitCast(
        D(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::uint16_t, D>(), p))));
  }
};
struct Halves {
  using Element = std::uint16_t;
  static HWY_INLINE V Load(const std::uint16_t* p) {
    const auto bits = hn::LoadU(hn::Rebind<std::uint16_t, D>(), p);
    return hn::PromoteTo(D(), hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
  }
};

// The sixteen sums, added: those eight apart first, then those four apart, and so on.
HWY_INLINE float Total(V (&sums)[kVectors]) {
  float four[kSums];
  std::size_t vectors = kVectors;
  for (; vectors > 1 && vectors * kLanes > 4; vectors /= 2) {
    for (std::size_t i = 0; i < vectors / 2; ++i) sums[i] = hn::Add(sums[i], sums[i + vectors / 2]);
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 16) {
    const hn::Half<D> eight;
    const auto folded = hn::Add(hn::LowerHalf(eight, sums[0]), hn::UpperHalf(eight, sums[0]));
    const hn::Half<decltype(eight)> d;
    hn::StoreU(hn::Add(hn::LowerHalf(d, folded), hn::UpperHalf(d, folded)), d, four);
  } else if constexpr (kLanes == 8) {
    const hn::Half<D> d;
    hn::StoreU(hn::Add(hn::LowerHalf(d, sums[0]), hn::UpperHalf(d, sums[0])), d, four);
  } else {
    for (std::size_t i = 0; i < vectors; ++i) hn::StoreU(sums[i], D(), four + i * kLanes);
  }
#else
  for (std::size_t i = 0; i < vectors; ++i) hn::StoreU(sums[i], D(), four + i * kLanes);
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// kFew rows of a with kMany of b.
template <class From, std::size_t kFew, std::size_t kMany>
HWY_INLINE void Tile(std::size_t k, const float* HWY_RESTRICT a, std::size_t a_row,
                     const typename From::Element* HWY_RESTRICT b, std::size_t b_row, float* out,
                     std::size_t few, std::size_t many) {
  V sums[kFew][kMany][kVectors];
  for (auto& row : sums) {
    for (auto& place : row) {
      for (V& sum : place) sum = hn::Zero(D());
    }
  }
  const auto add = [&](const float* left, std::size_t left_row, const typename From::Element* right,
                       std::size_t right_row) HWY_ATTR {
    for (std::size_t v = 0; v < kVectors; ++v) {
      V x[kFew];
      for (std::size_t i = 0; i < kFew; ++i)
        x[i] = hn::LoadU(D(), left + i * left_row + v * kLanes);
      for (std::size_t j = 0; j < kMany; ++j) {
        const V y = From::Load(right + j * right_row + v * kLanes);
        for (std::size_t i = 0; i < kFew; ++i) sums[i][j][v] = hn::MulAdd(x[i], y, sums[i][j][v]);
      }
    }
  };
  std::size_t p = 0;
  for (; p + kSums <= k; p += kSums) add(a + p, a_row, b + p, b_row);
  if (p < k) {
    // What is left, with zeros after it.
    float left[kFew * kSums] = {};
    typename From::Element right[kMany * kSums] = {};
    const std::size_t rest = k - p;
    for (std::size_t i = 0; i < kFew; ++i)
      std::memcpy(left + i * kSums, a + i * a_row + p, rest * sizeof(float));
    for (std::size_t j = 0; j < kMany; ++j)
      std::memcpy(right + j * kSums, b + j * b_row + p, rest * sizeof(typename From::Element));
    add(left, kSums, right, kSums);
  }
  for (std::size_t i = 0; i < kFew; ++i) {
    for (std::size_t j = 0; j < kMany; ++j) out[i * few + j * many] = Total(sums[i][j]);
  }
}

template <class From, std::size_t kFew>
void Rows(std::int64_t k, const float* a, const ManyRows& b, const FewByMany& out) {
  // So many sums as there are registers for.
  constexpr std::size_t kMany = kFew == 1 ? 4 : 2;
  const auto* rows = static_cast<const typename From::Element*>(b.data);
  const auto depth = static_cast<std::size_t>(k), count = static_cast<std::size_t>(b.count),
             row = static_cast<std::size_t>(b.row), few = static_cast<std::size_t>(out.few),
             many = static_cast<std::size_t>(out.many);
  std::size_t j = 0;
  for (; j + kMany <= count; j += kMany)
    Tile<From, kFew, kMany>(depth, a, depth, rows + j * row, row, out.data + j * many, few, many);
  for (; j < count; ++j)
    Tile<From, kFew, 1>(depth, a, depth, rows + j * row, row, out.data + j * many, few, many);
}

template <class From>
void Choose(std::int64_t rows, std::int64_t k, const float* a, const ManyRows& b,
            const FewByMany& out) {
  if (rows == 1) return Rows<From, 1>(k, a, b, out);
  if (rows == 2) return Rows<From, 2>(k, a, b, out);
  Rows<From, 3>(k, a, b, out);
}

void MultiplyFewRows(std::int64_t rows, std::int64_t k, const float* a, const ManyRows& b,
                     const FewByMany& out) {
  if (b.dtype == bfloat16) return Choose<BFloats>(rows, k, a, b, out);
  if (b.dtype == float16) return Choose<Halves>(rows, k, a, b, out);
  Choose<Floats>(rows, k, a, b, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(MultiplyFewRows);

void multiply_few_rows(std::int64_t rows, std::int64_t k, const float* a, const ManyRows& b,
                       const FewByMany& out) {
  HWY_DYNAMIC_DISPATCH(MultiplyFewRows)(rows, k, a, b, out);
}

}  // namespace tenon
#endif
