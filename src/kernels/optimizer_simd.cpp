#include "kernels/optimizer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/fused-inl.h"
#include "kernels/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The gradient as it is used: negated if that is asked for, and with the decay added.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gradient(D d, const GradientOptions& options, const float* grad, V parameter) {
  V g = hn::LoadU(d, grad);
  if (options.maximize) g = hn::Neg(g);
  return options.weight_decay == 0 ? g : Fused(d, hn::Set(d, options.weight_decay), parameter, g);
}

// start + weight * (end - start), from the end that is nearer.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Lerp(D d, V start, V end, float weight) {
  const V difference = hn::Sub(end, start);
  return weight < 0.5f ? Fused(d, hn::Set(d, weight), difference, start)
                       : Fused(d, hn::Set(d, -(1 - weight)), difference, end);
}

// x + value * a * b, and x + value * a / b.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AddProduct(D d, V x, V a, V b, float value) {
  return Fused(d, hn::Mul(hn::Set(d, value), a), b, x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AddQuotient(D d, V x, V a, V b, float value) {
  return hn::Add(x, hn::Div(hn::Mul(hn::Set(d, value), a), b));
}

void Sgd(const SgdStep& step, std::int64_t n, float* HWY_RESTRICT parameter,
         const float* HWY_RESTRICT grad, float* HWY_RESTRICT momentum) {
  ForRow<float>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, parameter + i);
    auto g = Gradient(d, step.gradient, grad + i, p);
    if (step.has_momentum) {
      auto buffer = g;
      if (!step.first) {
        buffer = Fused(d, hn::Set(d, step.undamped), g,
                       hn::Mul(hn::LoadU(d, momentum + i), hn::Set(d, step.momentum)));
      }
      hn::StoreU(buffer, d, momentum + i);
      g = step.nesterov ? Fused(d, hn::Set(d, step.momentum), buffer, g) : buffer;
    }
    hn::StoreU(Fused(d, hn::Set(d, step.negative_lr), g, p), d, parameter + i);
  });
}

void Adam(const AdamStep& step, std::int64_t n, float* HWY_RESTRICT parameter,
          const float* HWY_RESTRICT grad, float* HWY_RESTRICT average,
          float* HWY_RESTRICT square_average, float* HWY_RESTRICT largest) {
  ForRow<float>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto p = hn::LoadU(d, parameter + i);
    if (step.shrink != 1) p = hn::Mul(p, hn::Set(d, step.shrink));
    const auto g = Gradient(d, step.gradient, grad + i, p);
    const auto m = Lerp(d, hn::LoadU(d, average + i), g, step.weight1);
    auto v = hn::Mul(hn::LoadU(d, square_average + i), hn::Set(d, step.beta2));
    v = AddProduct(d, v, g, g, step.weight2);
    hn::StoreU(m, d, average + i);
    hn::StoreU(v, d, square_average + i);
    if (largest != nullptr) {
      // NaN wins, as in maximum().
      const auto before = hn::LoadU(d, largest + i);
      v = hn::IfThenElse(hn::Or(hn::Gt(v, before), hn::IsNaN(v)), v, before);
      hn::StoreU(v, d, largest + i);
    }
    const auto root = hn::Div(hn::Sqrt(v), hn::Set(d, step.correction2));
    const auto divisor = hn::Add(root, hn::Set(d, step.eps));
    hn::StoreU(AddQuotient(d, p, m, divisor, step.negative_step), d, parameter + i);
  });
}

void Adagrad(const AdagradStep& step, std::int64_t n, float* HWY_RESTRICT parameter,
             const float* HWY_RESTRICT grad, float* HWY_RESTRICT sum) {
  ForRow<float>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, parameter + i);
    const auto g = Gradient(d, step.gradient, grad + i, p);
    const auto s = AddProduct(d, hn::LoadU(d, sum + i), g, g, 1);
    hn::StoreU(s, d, sum + i);
    const auto divisor = hn::Add(hn::Sqrt(s), hn::Set(d, step.eps));
    hn::StoreU(AddQuotient(d, p, g, divisor, step.negative_lr), d, parameter + i);
  });
}

void Rmsprop(const RmspropStep& step, std::int64_t n, float* HWY_RESTRICT parameter,
             const float* HWY_RESTRICT grad, float* HWY_RESTRICT square_average,
             float* HWY_RESTRICT average, float* HWY_RESTRICT momentum) {
  ForRow<float>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, parameter + i);
    const auto g = Gradient(d, step.gradient, grad + i, p);
    auto s = hn::Mul(hn::LoadU(d, square_average + i), hn::Set(d, step.alpha));
    s = AddProduct(d, s, g, g, step.weight);
    hn::StoreU(s, d, square_average + i);
    if (average != nullptr) {
      const auto a = Lerp(d, hn::LoadU(d, average + i), g, step.weight);
      hn::StoreU(a, d, average + i);
      s = AddProduct(d, s, a, a, -1);
    }
    const auto divisor = hn::Add(hn::Sqrt(s), hn::Set(d, step.eps));
    if (momentum == nullptr) {
      hn::StoreU(AddQuotient(d, p, g, divisor, step.negative_lr), d, parameter + i);
    } else {
      auto buffer = hn::Mul(hn::LoadU(d, momentum + i), hn::Set(d, step.momentum));
      buffer = AddQuotient(d, buffer, g, divisor, 1);
      hn::StoreU(buffer, d, momentum + i);
      hn::StoreU(Fused(d, hn::Set(d, step.negative_lr), buffer, p), d, parameter + i);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(Sgd);
HWY_EXPORT(Adam);
HWY_EXPORT(Adagrad);
HWY_EXPORT(Rmsprop);

void sgd_step(const SgdStep& step, std::int64_t n, float* parameter, const float* grad,
              float* momentum) {
  HWY_DYNAMIC_DISPATCH(Sgd)(step, n, parameter, grad, momentum);
}
void adam_step(const AdamStep& step, std::int64_t n, float* parameter, const float* grad,
               float* average, float* square_average, float* largest) {
  HWY_DYNAMIC_DISPATCH(Adam)(step, n, parameter, grad, average, square_average, largest);
}
void adagrad_step(const AdagradStep& step, std::int64_t n, float* parameter, const float* grad,
                  float* sum) {
  HWY_DYNAMIC_DISPATCH(Adagrad)(step, n, parameter, grad, sum);
}
void rmsprop_step(const RmspropStep& step, std::int64_t n, float* parameter, const float* grad,
                  float* square_average, float* average, float* momentum) {
  HWY_DYNAMIC_DISPATCH(Rmsprop)(step, n, parameter, grad, square_average, average, momentum);
}

}  // namespace tenon
#endif
