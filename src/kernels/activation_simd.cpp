// Activations and their gradients. What they are at a bound, at zero and for NaN is what PyTorch's
// are there.
#include "kernels/activation.h"

#include <algorithm>
#include <numbers>

#include "base/element_cast.h"
#include "kernels/pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/element.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

using Numbers = ActivationNumbers;

// Each has Of(d, x, numbers), and Slope(d, grad, x, numbers), which is grad times the derivative.

struct Gelu {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    return hn::Mul(x, NormalOf(d, x).below);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const Normal<V> normal = NormalOf(d, x);
    return hn::Mul(grad, hn::MulAdd(x, normal.density, normal.below));
  }
};

// 0.5 (1 + tanh(u)) is the sigmoid of 2u, which loses nothing where tanh is nearly -1.
struct GeluTanh {
  static constexpr double kFactor = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  static constexpr double kCubic = 0.044715;
  template <class D, class V>
  static HWY_INLINE V Inner(D d, V x) {
    const V cubic = hn::Mul(Number(d, kCubic), hn::Mul(x, x));
    return hn::Mul(Number(d, kFactor), hn::MulAdd(cubic, x, x));
  }
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    return hn::Mul(x, SigmoidOf(d, Inner(d, x)));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const V one = Number(d, 1), s = SigmoidOf(d, Inner(d, x));
    const V inner_slope =
        hn::Mul(Number(d, kFactor), hn::MulAdd(Number(d, 3 * kCubic), hn::Mul(x, x), one));
    const V second = hn::Mul(hn::Mul(x, inner_slope), hn::Mul(s, hn::Sub(one, s)));
    return hn::Mul(grad, hn::Add(s, second));
  }
};

struct Silu {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    return hn::Div(x, hn::Add(Number(d, 1), ExpOf(d, hn::Neg(x))));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const V one = Number(d, 1), s = SigmoidOf(d, x);
    return hn::Mul(grad, hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one)));
  }
};

// tanh(log(1 + e^x)) is n / (n + 2) with n = e^x (e^x + 2). Beyond 20 it is 1.
struct Mish {
  template <class D, class V>
  static HWY_INLINE V Ratio(D d, V e) {
    const V two = Number(d, 2), n = hn::Mul(e, hn::Add(e, two));
    return hn::Div(n, hn::Add(n, two));
  }
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    const V ratio = Ratio(d, ExpOf(d, hn::IfThenElse(hn::Gt(x, Number(d, 20)), Number(d, 20), x)));
    return hn::Mul(x, ratio);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const V one = Number(d, 1);
    const V t = Ratio(d, ExpOf(d, hn::IfThenElse(hn::Gt(x, Number(d, 20)), Number(d, 20), x)));
    const V rest = hn::Mul(SigmoidOf(d, x), hn::Sub(one, hn::Mul(t, t)));
    return hn::Mul(grad, hn::MulAdd(x, rest, t));
  }
};

struct Hardswish {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    const V bounded = hn::Min(hn::Max(hn::Add(x, Number(d, 3)), hn::Zero(d)), Number(d, 6));
    return hn::Div(hn::Mul(x, bounded), Number(d, 6));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const V inside = hn::Mul(grad, hn::Add(hn::Div(x, Number(d, 3)), Number(d, 0.5)));
    const V lower = hn::IfThenElse(hn::Lt(x, Number(d, 3)), inside, grad);
    return hn::IfThenElse(hn::Le(x, Number(d, -3)), hn::Zero(d), lower);
  }
};

struct Hardsigmoid {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    const V bounded = hn::Min(hn::Max(hn::Add(x, Number(d, 3)), hn::Zero(d)), Number(d, 6));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(bounded, Number(d, 6)));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    const auto inside = hn::Lt(hn::Abs(x), Number(d, 3));
    return hn::IfThenElseZero(inside, hn::Div(grad, Number(d, 6)));
  }
};

struct Hardtanh {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    const V low = Number(d, numbers[0]), high = Number(d, numbers[1]);
    const V raised = hn::IfThenElse(hn::Lt(x, low), low, x);  // -0 and NaN stay
    return hn::IfThenElse(hn::Gt(raised, high), high, raised);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    const auto outside = hn::Or(hn::Le(x, Number(d, numbers[0])), hn::Ge(x, Number(d, numbers[1])));
    return hn::IfThenZeroElse(outside, grad);
  }
};

struct Elu {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    const auto negative = hn::Le(x, hn::Zero(d));
    const V curve = Expm1OfNegative(d, hn::Mul(x, Number(d, numbers[2])));
    return hn::IfThenElse(negative, hn::Mul(curve, Number(d, numbers[0])),
                          hn::Mul(x, Number(d, numbers[1])));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    const V curve =
        hn::Mul(Number(d, numbers[0] * numbers[2]), ExpOf(d, hn::Mul(x, Number(d, numbers[2]))));
    const V slope = hn::IfThenElse(hn::Le(x, hn::Zero(d)), curve, Number(d, numbers[1]));
    return hn::Mul(grad, slope);
  }
};
struct EluOfResult {
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V y, const Numbers& numbers) {
    const V curve = hn::Mul(Number(d, numbers[2]), hn::Add(y, Number(d, numbers[0])));
    const V slope = hn::IfThenElse(hn::Le(y, hn::Zero(d)), curve, Number(d, numbers[1]));
    return hn::Mul(grad, slope);
  }
};

struct LeakyRelu {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    return Slope(d, x, x, numbers);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), grad, hn::Mul(grad, Number(d, numbers[0])));
  }
};

struct Hardshrink {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    return Slope(d, x, x, numbers);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    return hn::IfThenZeroElse(hn::Le(hn::Abs(x), Number(d, numbers[0])), grad);
  }
};
struct Softshrink : Hardshrink {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    const V by = Number(d, numbers[0]);
    const V inside = hn::Mul(x, hn::Zero(d));  // which keeps the sign, and NaN
    const V lower = hn::IfThenElse(hn::Lt(x, hn::Neg(by)), hn::Add(x, by), inside);
    return hn::IfThenElse(hn::Gt(x, by), hn::Sub(x, by), lower);
  }
};

struct Threshold {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    return hn::IfThenElse(hn::Le(x, Number(d, numbers[0])), Number(d, numbers[1]), x);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    return hn::IfThenZeroElse(hn::Le(x, Number(d, numbers[0])), grad);
  }
};

struct Softplus {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers& numbers) {
    const V beta = Number(d, numbers[0]), scaled = hn::Mul(x, beta);
    const V curve = hn::Div(SoftplusOf(d, scaled), beta);
    return hn::IfThenElse(hn::Gt(scaled, Number(d, numbers[1])), x, curve);
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers& numbers) {
    const V scaled = hn::Mul(x, Number(d, numbers[0]));
    return hn::IfThenElse(hn::Gt(scaled, Number(d, numbers[1])), grad,
                          hn::Mul(grad, SigmoidOf(d, scaled)));
  }
};

struct LogSigmoid {
  template <class D, class V>
  static HWY_INLINE V Of(D d, V x, const Numbers&) {
    return hn::Neg(SoftplusOf(d, hn::Neg(x)));
  }
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V x, const Numbers&) {
    return hn::Mul(grad, SigmoidOf(d, hn::Neg(x)));
  }
};

struct SigmoidResult {
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V y, const Numbers&) {
    return hn::Mul(grad, hn::Mul(hn::Sub(Number(d, 1), y), y));
  }
};
struct TanhResult {
  template <class D, class V>
  static HWY_INLINE V Slope(D d, V grad, V y, const Numbers&) {
    return hn::Mul(grad, hn::Sub(Number(d, 1), hn::Mul(y, y)));
  }
};

// Elements may lie at any byte: the copies become one instruction each where they are packed.
template <class T>
HWY_INLINE void Fetch(T* lanes, const std::byte* from, std::int64_t stride, std::int64_t count) {
  if (stride == sizeof(T)) {
    std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = load_element<T>(from + i * stride);
  }
}
template <class T>
HWY_INLINE void Put(std::byte* to, std::int64_t stride, const T* lanes, std::int64_t count) {
  if (stride == sizeof(T)) {
    std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < count; ++i) store_element<T>(to + i * stride, lanes[i]);
  }
}

struct RowOf1 {
  std::byte* out;
  const std::byte* a;
  std::int64_t out_stride, a_stride;
};
struct RowOf2 {
  std::byte* out;
  const std::byte *grad, *of;
  std::int64_t out_stride, grad_stride, of_stride;
};

template <class F, class T>
void Forward(const RowOf1& row, std::int64_t n, const Numbers& numbers) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN T x[HWY_MAX_BYTES / sizeof(T)] = {};
  std::int64_t i = 0;
  if (row.out_stride == sizeof(T) && row.a_stride == sizeof(T)) {
    const auto bytes = static_cast<std::size_t>(lanes) * sizeof(T);
    for (; i + lanes <= n; i += lanes) {
      std::memcpy(x, row.a + i * static_cast<std::int64_t>(sizeof(T)), bytes);
      hn::Store(F::Of(d, hn::Load(d, x), numbers), d, x);
      std::memcpy(row.out + i * static_cast<std::int64_t>(sizeof(T)), x, bytes);
    }
  }
  for (; i < n; i += lanes) {
    const std::int64_t count = std::min(lanes, n - i);
    Fetch(x, row.a + i * row.a_stride, row.a_stride, count);
    hn::Store(F::Of(d, hn::Load(d, x), numbers), d, x);
    Put(row.out + i * row.out_stride, row.out_stride, x, count);
  }
}

template <class F, class T>
void Backward(const RowOf2& row, std::int64_t n, const Numbers& numbers) {
  const hn::ScalableTag<T> d;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN T g[HWY_MAX_BYTES / sizeof(T)] = {}, x[HWY_MAX_BYTES / sizeof(T)] = {};
  std::int64_t i = 0;
  if (row.out_stride == kSize && row.grad_stride == kSize && row.of_stride == kSize) {
    const auto bytes = static_cast<std::size_t>(lanes) * sizeof(T);
    for (; i + lanes <= n; i += lanes) {
      std::memcpy(g, row.grad + i * kSize, bytes);
      std::memcpy(x, row.of + i * kSize, bytes);
      hn::Store(F::Slope(d, hn::Load(d, g), hn::Load(d, x), numbers), d, g);
      std::memcpy(row.out + i * kSize, g, bytes);
    }
  }
  for (; i < n; i += lanes) {
    const std::int64_t count = std::min(lanes, n - i);
    Fetch(g, row.grad + i * row.grad_stride, row.grad_stride, count);
    Fetch(x, row.of + i * row.of_stride, row.of_stride, count);
    hn::Store(F::Slope(d, hn::Load(d, g), hn::Load(d, x), numbers), d, g);
    Put(row.out + i * row.out_stride, row.out_stride, g, count);
  }
}

using ForwardRow = void (*)(const RowOf1&, std::int64_t, const Numbers&);
using BackwardRow = void (*)(const RowOf2&, std::int64_t, const Numbers&);

template <class F>
ForwardRow ForwardFor(bool wide) {
  return wide ? Forward<F, double> : Forward<F, float>;
}
template <class F>
BackwardRow BackwardFor(bool wide) {
  return wide ? Backward<F, double> : Backward<F, float>;
}

ForwardRow FindForward(Activation function, bool wide) {
  switch (function) {
    case Activation::gelu: return ForwardFor<Gelu>(wide);
    case Activation::gelu_tanh: return ForwardFor<GeluTanh>(wide);
    case Activation::silu: return ForwardFor<Silu>(wide);
    case Activation::mish: return ForwardFor<Mish>(wide);
    case Activation::hardswish: return ForwardFor<Hardswish>(wide);
    case Activation::hardsigmoid: return ForwardFor<Hardsigmoid>(wide);
    case Activation::hardtanh: return ForwardFor<Hardtanh>(wide);
    case Activation::elu: return ForwardFor<Elu>(wide);
    case Activation::leaky_relu: return ForwardFor<LeakyRelu>(wide);
    case Activation::hardshrink: return ForwardFor<Hardshrink>(wide);
    case Activation::softshrink: return ForwardFor<Softshrink>(wide);
    case Activation::threshold: return ForwardFor<Threshold>(wide);
    case Activation::softplus: return ForwardFor<Softplus>(wide);
    case Activation::log_sigmoid: return ForwardFor<LogSigmoid>(wide);
    default: return nullptr;
  }
}
BackwardRow FindBackward(Activation function, bool wide) {
  switch (function) {
    case Activation::gelu: return BackwardFor<Gelu>(wide);
    case Activation::gelu_tanh: return BackwardFor<GeluTanh>(wide);
    case Activation::silu: return BackwardFor<Silu>(wide);
    case Activation::mish: return BackwardFor<Mish>(wide);
    case Activation::hardswish: return BackwardFor<Hardswish>(wide);
    case Activation::hardsigmoid: return BackwardFor<Hardsigmoid>(wide);
    case Activation::hardtanh: return BackwardFor<Hardtanh>(wide);
    case Activation::elu: return BackwardFor<Elu>(wide);
    case Activation::leaky_relu: return BackwardFor<LeakyRelu>(wide);
    case Activation::hardshrink:
    case Activation::softshrink: return BackwardFor<Hardshrink>(wide);
    case Activation::threshold: return BackwardFor<Threshold>(wide);
    case Activation::softplus: return BackwardFor<Softplus>(wide);
    case Activation::log_sigmoid: return BackwardFor<LogSigmoid>(wide);
    case Activation::elu_of_result: return BackwardFor<EluOfResult>(wide);
    case Activation::sigmoid: return BackwardFor<SigmoidResult>(wide);
    case Activation::tanh: return BackwardFor<TanhResult>(wide);
  }
  return nullptr;
}

void RunForward(Activation function, DType dtype, std::span<const std::int64_t> shape,
                const TypedOperand& out, const TypedOperand& a, const Numbers& numbers) {
  const DType computed = compute_dtype(dtype);
  const ForwardRow row = FindForward(function, computed == float64);
  const Loop<2> loop(shape, {out.place, a.place});
  run_converted<2>(
      loop, {out.dtype, a.dtype}, computed, computed,
      [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t n) {
        row({at[0], at[1], strides[0], strides[1]}, n, numbers);
      });
}
void RunBackward(Activation function, DType dtype, std::span<const std::int64_t> shape,
                 const TypedOperand& out, const TypedOperand& grad, const TypedOperand& of,
                 const Numbers& numbers) {
  const DType computed = compute_dtype(dtype);
  const BackwardRow row = FindBackward(function, computed == float64);
  const Loop<3> loop(shape, {out.place, grad.place, of.place});
  run_converted<3>(
      loop, {out.dtype, grad.dtype, of.dtype}, computed, computed,
      [&](const Loop<3>::Pointers& at, const Loop<3>::Strides& strides, std::int64_t n) {
        row({at[0], at[1], at[2], strides[0], strides[1], strides[2]}, n, numbers);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(RunForward);
HWY_EXPORT(RunBackward);

namespace {

// Whole numbers have the two that only compare.
template <class T>
void of_whole_numbers(Activation function, std::span<const std::int64_t> shape,
                      const TypedOperand& out, const TypedOperand& a,
                      const ActivationNumbers& numbers) {
  const T first = convert<T>(numbers[0]), second = convert<T>(numbers[1]);
  const Loop<2> loop(shape, {out.place, a.place});
  loop.run_parallel(
      [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          const T x = load_element<T>(at[1] + i * strides[1]);
          const T y = function == Activation::threshold ? (x <= first ? second : x)
                                                        : std::min(std::max(x, first), second);
          store_element<T>(at[0] + i * strides[0], y);
        }
      });
}

// PyTorch compares 16-bit floats with a bound that is one of them.
ActivationNumbers taken(Activation function, DType dtype, ActivationNumbers numbers) {
  if (function != Activation::hardshrink && function != Activation::softshrink) return numbers;
  const auto bound = static_cast<float>(numbers[0]);
  if (dtype == float16) numbers[0] = static_cast<float>(Half(bound));
  if (dtype == bfloat16) numbers[0] = static_cast<float>(BFloat16(bound));
  return numbers;
}

}  // namespace

bool has_activation(Activation function, DType dtype) {
  if (is_integral(dtype))
    return function == Activation::hardtanh || function == Activation::threshold;
  const DType computed = compute_dtype(dtype);
  return computed == float32 || computed == float64;
}

void activate(Activation function, DType dtype, std::span<const std::int64_t> shape,
              const TypedOperand& out, const TypedOperand& a, const ActivationNumbers& numbers) {
  if (!is_integral(dtype)) {
    return HWY_DYNAMIC_DISPATCH(RunForward)(function, dtype, shape, out, a,
                                            taken(function, dtype, numbers));
  }
  visit(dtype, [&]<class T>() {
    if constexpr (kWhole<T>) of_whole_numbers<T>(function, shape, out, a, numbers);
  });
}

void activation_gradient(Activation function, DType dtype, std::span<const std::int64_t> shape,
                         const TypedOperand& out, const TypedOperand& grad, const TypedOperand& of,
                         const ActivationNumbers& numbers) {
  HWY_DYNAMIC_DISPATCH(RunBackward)(function, dtype, shape, out, grad, of,
                                    taken(function, dtype, numbers));
}

}  // namespace tenon
#endif
