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

struct Add {
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
};
struct Sub {
  template <class T>
  static constexpr bool takes = kNumber<T>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    if constexpr (std::integral<C>)
      return static_cast<C>(Wrapping<C>(a) - Wrapping<C>(b));
    else
      return a - b;
  }
};
struct Mul {
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
};
struct Div {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a / b;
  }
};
// NaN wins. Of equals, as 0 and -0, it is the second.
struct Maximum {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE C Of(C a, C b) {
    return a < b || a != a ? a : b;
  }
};

struct Equal {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a != b;
  }
};
template <class T>
inline constexpr bool kOrdered = kReal<T> || std::same_as<T, bool>;
struct Less {
  template <class T>
  static constexpr bool takes = kOrdered<T>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static constexpr bool takes = kOrdered<T>;
  template <class C>
  static HWY_INLINE bool Of(C a, C b) {
    return a <= b;
  }
};

template <class T>
inline constexpr bool kBits = std::integral<T>;
struct BitwiseAnd {
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
struct BitwiseOr {
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
struct BitwiseXor {
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
template <class V>
HWY_INLINE V Apply(Add /*function*/, V a, V b) {
  return hn::Add(a, b);
}
template <class V>
HWY_INLINE V Apply(Sub /*function*/, V a, V b) {
  return hn::Sub(a, b);
}
template <class V>
HWY_INLINE V Apply(Mul /*function*/, V a, V b) {
  return hn::Mul(a, b);
}
template <class V>
HWY_INLINE V Apply(Div /*function*/, V a, V b) {
  return hn::Div(a, b);
}

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
    hn::Stream(Apply(F(), hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  hwy::FlushStream();
  for (; i < n; ++i) out[i] = F::Of(a[i], b[i]);
}

template <class F>
BinaryRow StreamedRow() {
  return prefetch_helps() ? StreamedRowOf<F, true> : StreamedRowOf<F, false>;
}

BinaryRow FindStreamed(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::add: return StreamedRow<Add>();
    case BinaryFunction::sub: return StreamedRow<Sub>();
    case BinaryFunction::mul: return StreamedRow<Mul>();
    case BinaryFunction::div: return StreamedRow<Div>();
    default: return nullptr;
  }
}

// a > b is b < a: the operands are exchanged by whoever asks.
BinaryRow FindBinary(BinaryFunction function, DType dtype) {
  switch (function) {
    case BinaryFunction::add: return RowFor<Add>(dtype);
    case BinaryFunction::sub: return RowFor<Sub>(dtype);
    case BinaryFunction::mul: return RowFor<Mul>(dtype);
    case BinaryFunction::div: return RowFor<Div>(dtype);
    case BinaryFunction::maximum: return RowFor<Maximum>(dtype);
    case BinaryFunction::minimum: return RowFor<Minimum>(dtype);
    case BinaryFunction::eq: return RowFor<Equal>(dtype);
    case BinaryFunction::ne: return RowFor<NotEqual>(dtype);
    case BinaryFunction::lt: return RowFor<Less>(dtype);
    case BinaryFunction::le: return RowFor<LessEqual>(dtype);
    case BinaryFunction::bitwise_and: return RowFor<BitwiseAnd>(dtype);
    case BinaryFunction::bitwise_or: return RowFor<BitwiseOr>(dtype);
    case BinaryFunction::bitwise_xor: return RowFor<BitwiseXor>(dtype);
    default: return nullptr;
  }
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
