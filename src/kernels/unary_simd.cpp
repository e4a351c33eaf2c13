// The functions of one element that are an instruction or a few, and of floats those that have a
// vector form.
#include <cmath>
#include <complex>
#include <concepts>

#include "kernels/elementwise.h"
#include "kernels/elementwise_tables.h"
#include "kernels/streaming.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unary_simd.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/exp-inl.h"
#include "kernels/unary_row-inl.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// The formula of each function whose row says `simd` or `both`: `takes` has its types, and Of
// calculates an element. kFloats, if there is one, is a faster row of floats.
template <UnaryFunction N>
struct UnarySimd;

template <>
struct UnarySimd<UnaryFunction::neg> {
  template <class T>
  static constexpr bool takes = kNumber<T>;
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::integral<C>)
      return static_cast<C>(Wrapping<C>(0) - Wrapping<C>(x));
    else
      return -x;
  }
};
template <>
struct UnarySimd<UnaryFunction::abs> {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::fabs(x);
    else if constexpr (std::unsigned_integral<C>)
      return x;
    else
      return x < 0 ? UnarySimd<UnaryFunction::neg>::Of(x) : x;
  }
};
template <>
struct UnarySimd<UnaryFunction::square> {
  template <class T>
  static constexpr bool takes = kNumber<T>;
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::integral<C>) {
      return static_cast<C>(Wrapping<C>(x) * Wrapping<C>(x));
    } else if constexpr (is_std_complex<C>) {
      return C(x.real() * x.real() - x.imag() * x.imag(),
               x.real() * x.imag() + x.imag() * x.real());
    } else {
      return x * x;
    }
  }
};

struct Floating {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
};
template <>
struct UnarySimd<UnaryFunction::reciprocal> : Floating {
  template <class C>
  static HWY_INLINE C Of(C x) {
    return C(1) / x;
  }
};
template <>
struct UnarySimd<UnaryFunction::sqrt> : Floating {
  template <class C>
  static HWY_INLINE C Of(C x) {
    return std::sqrt(x);
  }
};
template <>
struct UnarySimd<UnaryFunction::rsqrt> : Floating {
  template <class C>
  static HWY_INLINE C Of(C x) {
    return C(1) / std::sqrt(x);
  }
};

// Whole numbers are what they are.
struct Rounding {
  template <class T>
  static constexpr bool takes = kReal<T>;
};
template <>
struct UnarySimd<UnaryFunction::floor> : Rounding {
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::floor(x);
    else
      return x;
  }
};
template <>
struct UnarySimd<UnaryFunction::ceil> : Rounding {
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::ceil(x);
    else
      return x;
  }
};
template <>
struct UnarySimd<UnaryFunction::trunc> : Rounding {
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::trunc(x);
    else
      return x;
  }
};
template <>
struct UnarySimd<UnaryFunction::round> : Rounding {
  template <class C>
  static HWY_INLINE C Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::nearbyint(x);  // halves to even
    else
      return x;
  }
};
template <>
struct UnarySimd<UnaryFunction::frac> : Floating {
  template <class C>
  static HWY_INLINE C Of(C x) {
    return x - std::trunc(x);
  }
};

template <>
struct UnarySimd<UnaryFunction::sign> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE auto Of(C x) {
    if constexpr (std::same_as<C, bool>)
      return x;
    else if constexpr (std::unsigned_integral<C>)
      return static_cast<C>(x > 0 ? 1 : 0);
    else
      return static_cast<C>((x > C(0) ? 1 : 0) - (x < C(0) ? 1 : 0));
  }
};
template <>
struct UnarySimd<UnaryFunction::sgn> : UnarySimd<UnaryFunction::sign> {};
template <>
struct UnarySimd<UnaryFunction::bitwise_not> {
  template <class T>
  static constexpr bool takes = std::integral<T>;
  template <class C>
  static HWY_INLINE auto Of(C x) {
    if constexpr (std::same_as<C, bool>)
      return !x;
    else
      return static_cast<C>(~x);
  }
};
template <>
struct UnarySimd<UnaryFunction::logical_not> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C x) {
    return x == C(0);
  }
};

struct Question {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
};
template <>
struct UnarySimd<UnaryFunction::isnan> : Question {
  template <class C>
  static HWY_INLINE bool Of(C x) {
    return x != x;
  }
};
template <class C>
HWY_INLINE bool Infinite(C x) {
  if constexpr (is_std_complex<C>)
    return Infinite(x.real()) || Infinite(x.imag());
  else if constexpr (std::floating_point<C>)
    return std::fabs(x) > std::numeric_limits<C>::max();
  else
    return false;
}
template <>
struct UnarySimd<UnaryFunction::isinf> : Question {
  template <class C>
  static HWY_INLINE bool Of(C x) {
    return Infinite(x);
  }
};
template <>
struct UnarySimd<UnaryFunction::isfinite> : Question {
  template <class C>
  static HWY_INLINE bool Of(C x) {
    return !Infinite(x) && x == x;
  }
};
template <>
struct UnarySimd<UnaryFunction::signbit> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C x) {
    if constexpr (std::floating_point<C>)
      return std::signbit(x);
    else
      return x < C(0);
  }
};

template <bool kAhead>
void StreamExp(const float* from, float* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    prefetch<kAhead>(from + i);
    hn::Stream(Exp(d, hn::LoadU(d, from + i)), d, to + i);
  }
  hwy::FlushStream();
}

void ExpRow(const UnaryOperands& row, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float piece[HWY_MAX_BYTES / sizeof(float)];
  const auto at_most = [&](std::int64_t from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k)
      std::memcpy(&piece[k], row.a + (from + k) * row.a_stride, sizeof(float));
    for (std::int64_t k = count; k < lanes; ++k) piece[k] = 0;
    hn::Store(Exp(d, hn::Load(d, piece)), d, piece);
    for (std::int64_t k = 0; k < count; ++k)
      std::memcpy(row.out + (from + k) * row.out_stride, &piece[k], sizeof(float));
  };
  const bool packed = row.out_stride == sizeof(float) && row.a_stride == sizeof(float);
  const auto place = reinterpret_cast<std::uintptr_t>(row.out);
  const bool aligned = (place | reinterpret_cast<std::uintptr_t>(row.a)) % sizeof(float) == 0;
  std::int64_t i = 0;
  if (packed && aligned && n * 4 >= kStreamedBytes / 2) {
    const auto* from = reinterpret_cast<const float*>(row.a);
    auto* to = reinterpret_cast<float*>(row.out);
    const auto head = static_cast<std::int64_t>((64 - place % 64) % 64 / sizeof(float));
    for (; i < head; i += HWY_MIN(lanes, head - i)) at_most(i, HWY_MIN(lanes, head - i));
    const std::int64_t whole = (n - i) / lanes * lanes;
    if (prefetch_helps())
      StreamExp<true>(from + i, to + i, whole);
    else
      StreamExp<false>(from + i, to + i, whole);
    i += whole;
  } else if (packed) {
    for (; i + lanes <= n; i += lanes) {
      // Elements may lie at any byte; the copies become one instruction each.
      std::memcpy(piece, row.a + i * 4, hn::Lanes(d) * sizeof(float));
      hn::Store(Exp(d, hn::Load(d, piece)), d, piece);
      std::memcpy(row.out + i * 4, piece, hn::Lanes(d) * sizeof(float));
    }
  }
  for (; i < n; i += lanes) at_most(i, HWY_MIN(lanes, n - i));
}

// A row of floats, F::Of of each vector.
template <class F>
void VectorRow(const UnaryOperands& row, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float piece[HWY_MAX_BYTES / sizeof(float)] = {};
  std::int64_t i = 0;
  if (row.out_stride == sizeof(float) && row.a_stride == sizeof(float)) {
    for (; i + lanes <= n; i += lanes) {
      // Elements may lie at any byte; the copies become one instruction each.
      std::memcpy(piece, row.a + i * 4, hn::Lanes(d) * sizeof(float));
      hn::Store(F::Of(d, hn::Load(d, piece)), d, piece);
      std::memcpy(row.out + i * 4, piece, hn::Lanes(d) * sizeof(float));
    }
  }
  for (; i < n; i += lanes) {
    const std::int64_t count = HWY_MIN(lanes, n - i);
    for (std::int64_t k = 0; k < count; ++k)
      std::memcpy(&piece[k], row.a + (i + k) * row.a_stride, sizeof(float));
    hn::Store(F::Of(d, hn::Load(d, piece)), d, piece);
    for (std::int64_t k = 0; k < count; ++k)
      std::memcpy(row.out + (i + k) * row.out_stride, &piece[k], sizeof(float));
  }
}
struct SigmoidVector {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x) {
    return SigmoidOf(d, x);
  }
};
struct TanhVector {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x) {
    return TanhOf(d, x);
  }
};
struct ReluVector {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // -0 and NaN stay
  }
};

// There is a row of floats; unary_math.cpp has the others.
struct FloatsOnly {};
template <>
struct UnarySimd<UnaryFunction::exp> : FloatsOnly {
  static constexpr UnaryRow kFloats = ExpRow;
};
template <>
struct UnarySimd<UnaryFunction::tanh> : FloatsOnly {
  static constexpr UnaryRow kFloats = VectorRow<TanhVector>;
};
template <>
struct UnarySimd<UnaryFunction::sigmoid> : FloatsOnly {
  static constexpr UnaryRow kFloats = VectorRow<SigmoidVector>;
};
template <>
struct UnarySimd<UnaryFunction::relu> {
  static constexpr UnaryRow kFloats = VectorRow<ReluVector>;
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static HWY_INLINE C Of(C x) {
    return x < C(0) ? C(0) : x;  // -0 and NaN stay
  }
};

template <UnaryFunction N>
UnaryRow SimdRow(DType dtype) {
  using F = UnarySimd<N>;
  static_assert(IsDefined<F> == is_in_simd(N),
                "the row of the function in TENON_UNARY_FUNCTIONS has another kernel");
  if constexpr (is_in_simd(N)) {
    if constexpr (requires { F::kFloats; }) {
      if (dtype == float32) return F::kFloats;
    }
    if constexpr (!std::derived_from<F, FloatsOnly>) return RowFor<N, F>(dtype);
  }
  return nullptr;
}

UnaryRow FindUnary(UnaryFunction function, DType dtype) {
  switch (function) {
#define TENON_ROW(name, ...) \
  case UnaryFunction::name: return SimdRow<UnaryFunction::name>(dtype);
    TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(FindUnary);

UnaryRow simple_unary_row(UnaryFunction function, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindUnary)(function, dtype);
}

}  // namespace tenon
#endif
