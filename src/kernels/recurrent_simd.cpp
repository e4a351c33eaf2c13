#include <algorithm>
#include <cmath>

#include "kernels/recurrent.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

// Near zero an odd polynomial, so that small numbers keep their digits.
HWY_INLINE V Tanh(D d, V x) {
  const V size = hn::Abs(x), square = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = Fused(d, p, square, hn::Set(d, 2.06390887954e-2f));
  p = Fused(d, p, square, hn::Set(d, -5.37397155531e-2f));
  p = Fused(d, p, square, hn::Set(d, 1.33314422036e-1f));
  p = Fused(d, p, square, hn::Set(d, -3.33332819422e-1f));
  const V near = Fused(d, hn::Mul(p, square), x, x);
  const V two = hn::Set(d, 2.0f);
  const V power = Exp(d, hn::Mul(two, size));
  const V far = hn::CopySign(hn::Sub(one, hn::Div(two, hn::Add(power, one))), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), near, far);
}

// Calls f(place, lanes) for a row of n, where `place` may be of one lane: then d is that of a
// single number.
template <class F>
HWY_INLINE void ForEach(std::int64_t n, F&& f) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, lanes);
  if (i < n) f(i, n - i);
}

// A vector from memory, of which only so many are there.
HWY_INLINE V Get(D d, const float* from, std::int64_t lanes) {
  if (lanes == static_cast<std::int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN float all[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy_n(from, lanes, all);
  return hn::Load(d, all);
}
HWY_INLINE void Put(V value, D d, float* to, std::int64_t lanes) {
  if (lanes == static_cast<std::int64_t>(hn::Lanes(d))) return hn::StoreU(value, d, to);
  HWY_ALIGN float all[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, all);
  std::copy_n(all, lanes, to);
}

void RnnStep(const float* projected, const float* product, bool relu, float* state,
             std::int64_t n) {
  const D d;
  ForEach(n, [&](std::int64_t i, std::int64_t lanes) HWY_ATTR {
    const V sum = hn::Add(Get(d, projected + i, lanes), Get(d, product + i, lanes));
    const V positive = hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Zero(d), sum);
    Put(relu ? positive : Tanh(d, sum), d, state + i, lanes);
  });
}

void LstmStep(const float* projected, const float* product, float* cell, float* state, float* kept,
              std::int64_t n) {
  const D d;
  ForEach(n, [&](std::int64_t i, std::int64_t lanes) HWY_ATTR {
    const auto sum = [&](std::int64_t gate) HWY_ATTR {
      const std::int64_t at = gate * n + i;
      return hn::Add(Get(d, projected + at, lanes), Get(d, product + at, lanes));
    };
    const V in = Sigmoid(d, sum(0)), forget = Sigmoid(d, sum(1)), now = Tanh(d, sum(2)),
            out = Sigmoid(d, sum(3));
    const V next = hn::Add(hn::Mul(forget, Get(d, cell + i, lanes)), hn::Mul(in, now));
    const V shown = Tanh(d, next);
    Put(next, d, cell + i, lanes);
    Put(hn::Mul(out, shown), d, state + i, lanes);
    Put(in, d, kept + i, lanes);
    Put(forget, d, kept + n + i, lanes);
    Put(now, d, kept + 2 * n + i, lanes);
    Put(out, d, kept + 3 * n + i, lanes);
    Put(shown, d, kept + 4 * n + i, lanes);
  });
}

void GruStep(const float* projected, const float* product, float* state, float* kept,
             std::int64_t n) {
  const D d;
  ForEach(n, [&](std::int64_t i, std::int64_t lanes) HWY_ATTR {
    const auto sum = [&](std::int64_t gate) HWY_ATTR {
      const std::int64_t at = gate * n + i;
      return hn::Add(Get(d, projected + at, lanes), Get(d, product + at, lanes));
    };
    const V reset = Sigmoid(d, sum(0)), keep = Sigmoid(d, sum(1));
    const V hidden = Get(d, product + 2 * n + i, lanes);
    const V now = Tanh(d, hn::Add(Get(d, projected + 2 * n + i, lanes), hn::Mul(reset, hidden)));
    const V before = Get(d, state + i, lanes);
    Put(hn::Add(now, hn::Mul(keep, hn::Sub(before, now))), d, state + i, lanes);
    Put(reset, d, kept + i, lanes);
    Put(keep, d, kept + n + i, lanes);
    Put(now, d, kept + 2 * n + i, lanes);
    Put(hidden, d, kept + 3 * n + i, lanes);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(RnnStep);
HWY_EXPORT(LstmStep);
HWY_EXPORT(GruStep);

void rnn_step(const float* projected, const float* product, bool relu, float* state,
              std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(RnnStep)(projected, product, relu, state, n);
}
void lstm_step(const float* projected, const float* product, float* cell, float* state, float* kept,
               std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(LstmStep)(projected, product, cell, state, kept, n);
}
void gru_step(const float* projected, const float* product, float* state, float* kept,
              std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(GruStep)(projected, product, state, kept, n);
}

namespace {
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
}  // namespace

void rnn_step(const double* projected, const double* product, bool relu, double* state,
              std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double sum = projected[i] + product[i];
    state[i] = relu ? (sum < 0 ? 0 : sum) : std::tanh(sum);
  }
}

void lstm_step(const double* projected, const double* product, double* cell, double* state,
               double* kept, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto sum = [&](std::int64_t gate) {
      return projected[gate * n + i] + product[gate * n + i];
    };
    const double in = sigmoid_of(sum(0)), forget = sigmoid_of(sum(1)), now = std::tanh(sum(2)),
                 out = sigmoid_of(sum(3));
    cell[i] = forget * cell[i] + in * now;
    const double shown = std::tanh(cell[i]);
    state[i] = out * shown;
    kept[i] = in;
    kept[n + i] = forget;
    kept[2 * n + i] = now;
    kept[3 * n + i] = out;
    kept[4 * n + i] = shown;
  }
}

void gru_step(const double* projected, const double* product, double* state, double* kept,
              std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double reset = sigmoid_of(projected[i] + product[i]);
    const double keep = sigmoid_of(projected[n + i] + product[n + i]);
    const double hidden = product[2 * n + i];
    const double now = std::tanh(projected[2 * n + i] + reset * hidden);
    state[i] = now + keep * (state[i] - now);
    kept[i] = reset;
    kept[n + i] = keep;
    kept[2 * n + i] = now;
    kept[3 * n + i] = hidden;
  }
}

}  // namespace tenon
#endif
