#include <algorithm>
#include <cmath>
#include <concepts>

#include "kernels/pieces.h"
#include "kernels/ternary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ternary_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/element.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// a * b + c, with one rounding.
template <class T>
HWY_INLINE T MultiplyAdd(T a, T b, T c) {
  if constexpr (std::integral<T>)
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b) + Wrapping<T>(c));
  else
    return std::fma(a, b, c);
}

struct AddScaled {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T b, T /*c*/, T value) {
    return MultiplyAdd(value, b, a);
  }
};
struct Lerp {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class T>
  static HWY_INLINE T Of(T start, T end, T weight, T /*value*/) {
    const bool near_start = std::abs(weight) < T(0.5);
    // Chosen before the product, so that there is one.
    return MultiplyAdd(near_start ? weight : -(T(1) - weight), end - start,
                       near_start ? start : end);
  }
};
struct Addcmul {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T b, T c, T value) {
    if constexpr (std::integral<T>)
      return MultiplyAdd(static_cast<T>(Wrapping<T>(value) * Wrapping<T>(b)), c, a);
    else
      return MultiplyAdd(value * b, c, a);
  }
};
struct Addcdiv {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T b, T c, T value) {
    return a + value * b / c;
  }
};

// Of equals, as 0 and -0, the element stays.
template <class T>
HWY_INLINE T Raised(T a, T low) {
  return a < low || low != low ? low : a;
}
template <class T>
HWY_INLINE T Lowered(T a, T high) {
  return a > high || high != high ? high : a;
}
struct Clamp {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T low, T high, T /*value*/) {
    const T inside = Lowered(Raised(a, low), high);
    return a != a ? a : inside;
  }
};
struct ClampMin {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T low, T /*high*/, T /*value*/) {
    return a != a ? a : Raised(a, low);
  }
};
struct ClampMax {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class T>
  static HWY_INLINE T Of(T a, T /*low*/, T high, T /*value*/) {
    return a != a ? a : Lowered(a, high);
  }
};

template <class F, class T>
void Row(const TernaryOperands& row, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const T value = load_element<T>(static_cast<const std::byte*>(row.value));
  std::byte* HWY_RESTRICT out = row.out;
  const std::byte *a = row.a, *b = row.b, *c = row.c;
  const auto packed = [&](auto&& third) {
    for (std::int64_t i = 0; i < n; ++i) {
      store_element<T>(out + i * kSize, F::Of(load_element<T>(a + i * kSize),
                                              load_element<T>(b + i * kSize), third(i), value));
    }
  };
  if (row.out_stride == kSize && row.a_stride == kSize && row.b_stride == kSize) {
    if (row.c_stride == kSize)
      return packed([&](std::int64_t i) { return load_element<T>(c + i * kSize); });
    if (row.c_stride == 0) return packed([one = load_element<T>(c)](std::int64_t) { return one; });
  }
  for (std::int64_t i = 0; i < n; ++i) {
    store_element<T>(out + i * row.out_stride, F::Of(load_element<T>(a + i * row.a_stride),
                                                     load_element<T>(b + i * row.b_stride),
                                                     load_element<T>(c + i * row.c_stride), value));
  }
}

template <class F>
TernaryRow RowFor(DType dtype) {
  return row_for<TernaryRow, F>(dtype, []<class T>() -> TernaryRow { return Row<F, T>; });
}

TernaryRow FindTernary(TernaryFunction function, DType dtype) {
  switch (function) {
    case TernaryFunction::add_scaled: return RowFor<AddScaled>(dtype);
    case TernaryFunction::lerp: return RowFor<Lerp>(dtype);
    case TernaryFunction::addcmul: return RowFor<Addcmul>(dtype);
    case TernaryFunction::addcdiv: return RowFor<Addcdiv>(dtype);
    case TernaryFunction::clamp: return RowFor<Clamp>(dtype);
    case TernaryFunction::clamp_min: return RowFor<ClampMin>(dtype);
    case TernaryFunction::clamp_max: return RowFor<ClampMax>(dtype);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(FindTernary);

bool has_ternary(TernaryFunction function, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindTernary)(function, compute_dtype(dtype)) != nullptr;
}

void apply(TernaryFunction function, DType dtype, std::span<const std::int64_t> shape,
           const TypedOperand& out, const TypedOperand& a, const TypedOperand& b,
           const TypedOperand& c, const Scalar& value) {
  const DType computed = compute_dtype(dtype);
  const TernaryRow row = HWY_DYNAMIC_DISPATCH(FindTernary)(function, computed);
  alignas(16) std::byte factor[kWidest] = {};
  visit(computed, [&]<class T>() { store_element<T>(factor, value.to<T>()); });
  const Loop<4> loop(shape, {out.place, a.place, b.place, c.place});
  run_converted<4>(
      loop, {out.dtype, a.dtype, b.dtype, c.dtype}, computed, computed,
      [&](const Loop<4>::Pointers& at, const Loop<4>::Strides& strides, std::int64_t n) {
        row({at[0], at[1], at[2], at[3], strides[0], strides[1], strides[2], strides[3], factor},
            n);
      });
}

}  // namespace tenon
#endif
