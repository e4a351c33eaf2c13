// The functions of two elements that are an instruction or a few.
#include <complex>
#include <concepts>

#include "kernels/elementwise.h"
#include "kernels/elementwise_tables.h"
#include "kernels/streaming.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/binary_simd.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/binary_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The formula of each function whose row says `simd` or `both`: `takes` has its types, and Of
// calculates an element. OfVectors, if there is one, calculates a vector of floats, for long rows
// that are written past the caches.
template <BinaryFunction N>
struct BinarySimd;

template <>
struct BinarySimd<BinaryFunction::add> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE auto Of(C a, C b) {
    if constexpr (std::same_as<C, bool>)
      return a || b;
    else if constexpr (std::integral<C>)
      return static_cast<C>(Wrapping<C>(a) + Wrapping<C>(b));
    else
      return a + b;
  }
  template <class V>
  static HWY_INLINE V OfVectors(V a, V b) {
    return hn::Add(a, b);
  }
};
template <>
struct BinarySimd<BinaryFunction::sub> {
  template <class T>
  static constexpr bool takes = kNumber<T>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    if constexpr (std::integral<C>)
      return static_cast<C>(Wrapping<C>(a) - Wrapping<C>(b));
    else
      return a - b;
  }
  template <class V>
  static HWY_INLINE V OfVectors(V a, V b) {
    return hn::Sub(a, b);
  }
};
template <>
struct BinarySimd<BinaryFunction::mul> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE auto Of(C a, C b) {
    if constexpr (std::same_as<C, bool>) {
      return a && b;
    } else if constexpr (std::integral<C>) {
      return static_cast<C>(Wrapping<C>(a) * Wrapping<C>(b));
    } else if constexpr (is_std_complex<C>) {
      // As PyTorch: infinities are not looked after.
      return C(a.real() * b.real() - a.imag() * b.imag(),
               a.real() * b.imag() + a.imag() * b.real());
    } else {
      return a * b;
    }
  }
  template <class V>
  static HWY_INLINE V OfVectors(V a, V b) {
    return hn::Mul(a, b);
  }
};
template <>
struct BinarySimd<BinaryFunction::div> {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a / b;
  }
  template <class V>
  static HWY_INLINE V OfVectors(V a, V b) {
    return hn::Div(a, b);
  }
};
// NaN wins. Of equals, as 0 and -0, it is the second.
template <>
struct BinarySimd<BinaryFunction::maximum> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a > b || a != a ? a : b;
  }
};
template <>
struct BinarySimd<BinaryFunction::minimum> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a < b || a != a ? a : b;
  }
};

template <>
struct BinarySimd<BinaryFunction::eq> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a == b;
  }
};
template <>
struct BinarySimd<BinaryFunction::ne> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a != b;
  }
};
template <class T>
inline constexpr bool kOrdered = kReal<T> || std::same_as<T, bool>;
template <>
struct BinarySimd<BinaryFunction::lt> {
  template <class T>
  static constexpr bool takes = kOrdered<T>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a < b;
  }
};
template <>
struct BinarySimd<BinaryFunction::le> {
  template <class T>
  static constexpr bool takes = kOrdered<T>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a <= b;
  }
};

template <class T>
inline constexpr bool kBits = std::integral<T>;
template <>
struct BinarySimd<BinaryFunction::bitwise_and> {
  template <class T>
  static constexpr bool takes = kBits<T>;
  template <class C>
  static HWY_INLINE auto Of(C a, C b) {
    if constexpr (std::same_as<C, bool>)
      return a && b;
    else
      return static_cast<C>(a & b);
  }
};
template <>
struct BinarySimd<BinaryFunction::bitwise_or> {
  template <class T>
  static constexpr bool takes = kBits<T>;
  template <class C>
  static HWY_INLINE auto Of(C a, C b) {
    if constexpr (std::same_as<C, bool>)
      return a || b;
    else
      return static_cast<C>(a | b);
  }
};
template <>
struct BinarySimd<BinaryFunction::bitwise_xor> {
  template <class T>
  static constexpr bool takes = kBits<T>;
  template <class C>
  static HWY_INLINE auto Of(C a, C b) {
    if constexpr (std::same_as<C, bool>)
      return a != b;
    else
      return static_cast<C>(a ^ b);
  }
};

// Packed floats whose result is larger than the caches, written past them.
template <class F, bool kAhead>
void StreamedRowOf(const BinaryOperands& row, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto* out = reinterpret_cast<float*>(row.out);
  const auto *a = reinterpret_cast<const float*>(row.a), *b = reinterpret_cast<const float*>(row.b);
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % 64);
  std::int64_t i = 0;
  for (const std::int64_t head = HWY_MIN(n, (64 - past) % 64 / 4); i < head; ++i)
    out[i] = F::Of(a[i], b[i]);
  for (; i + lanes <= n; i += lanes) {
    prefetch<kAhead>(a + i);
    prefetch<kAhead>(b + i);
    hn::Stream(F::OfVectors(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  hwy::FlushStream();
  for (; i < n; ++i) out[i] = F::Of(a[i], b[i]);
}

template <BinaryFunction N>
BinaryRow StreamedRow() {
  using F = BinarySimd<N>;
  if constexpr (requires(hn::Vec<hn::ScalableTag<float>> v) { F::OfVectors(v, v); })
    return prefetch_helps() ? StreamedRowOf<F, true> : StreamedRowOf<F, false>;
  else
    return nullptr;
}

template <BinaryFunction N>
BinaryRow SimdRow(DType dtype) {
  static_assert(IsDefined<BinarySimd<N>> == is_in_simd(N),
                "the row of the function in TENON_BINARY_FUNCTIONS has another kernel");
  if constexpr (is_in_simd(N))
    return RowFor<N, BinarySimd<N>>(dtype);
  else
    return nullptr;
}

BinaryRow FindStreamed(BinaryFunction function) {
  switch (function) {
#define TENON_ROW(name, ...) \
  case BinaryFunction::name: return StreamedRow<BinaryFunction::name>();
    TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  }
  return nullptr;
}

BinaryRow FindBinary(BinaryFunction function, DType dtype) {
  switch (function) {
#define TENON_ROW(name, ...) \
  case BinaryFunction::name: return SimdRow<BinaryFunction::name>(dtype);
    TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(FindBinary);
HWY_EXPORT(FindStreamed);

BinaryRow simple_binary_row(BinaryFunction function, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindBinary)(function, dtype);
}

BinaryRow streamed_binary_row(BinaryFunction function) {
  return HWY_DYNAMIC_DISPATCH(FindStreamed)(function);
}

}  // namespace tenon
#endif
