#include "ops/nn/resampling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon {

namespace {

// How far apart elements of the result are, in elements of what it is made of.
template <class T>
T step_of(const ResizedDim& dim, bool align_corners) {
  if (align_corners)
    return dim.to > 1 ? static_cast<T>(dim.from - 1) / static_cast<T>(dim.to - 1) : T(0);
  if (dim.scale && *dim.scale > 0) return static_cast<T>(1 / *dim.scale);
  return static_cast<T>(dim.from) / static_cast<T>(dim.to);
}

template <class T>
class Builder {
 public:
  Builder(const ResizedDim& dim, std::int64_t taps) : dim_(dim) {
    result_.taps = taps;
    result_.from.reserve(static_cast<std::size_t>(taps * dim.to));
    result_.weights.reserve(static_cast<std::size_t>(taps * dim.to));
  }
  // What lies beyond an edge is the edge.
  void add(std::int64_t at, T weight) {
    result_.from.push_back(std::clamp<std::int64_t>(at, 0, dim_.from - 1));
    result_.weights.push_back(weight);
  }
  // After each element: those that are missing take no part.
  void fill_up() {
    while (static_cast<std::int64_t>(result_.from.size()) % result_.taps != 0)
      add(result_.from.back(), T(0));
  }
  Taps<T> take() && { return std::move(result_); }

 private:
  ResizedDim dim_;
  Taps<T> result_;
};

template <class T>
Taps<T> unchanged(const ResizedDim& dim) {
  Builder<T> taps(dim, 1);
  for (std::int64_t i = 0; i < dim.to; ++i) taps.add(i, T(1));
  return std::move(taps).take();
}

template <class T>
Taps<T> area_taps(const ResizedDim& dim) {
  Builder<T> taps(dim, (dim.from + dim.to - 1) / dim.to + 1);
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const std::int64_t begin = i * dim.from / dim.to,
                       end = ((i + 1) * dim.from + dim.to - 1) / dim.to;
    for (std::int64_t at = begin; at < end; ++at) taps.add(at, T(1) / static_cast<T>(end - begin));
    taps.fill_up();
  }
  return std::move(taps).take();
}

template <class T>
Taps<T> linear_taps(const ResizedDim& dim, bool align_corners) {
  if (dim.from == dim.to) return unchanged<T>(dim);
  const T step = step_of<T>(dim, align_corners);
  Builder<T> taps(dim, 2);
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const T place = align_corners ? step * static_cast<T>(i)
                                  : std::max(T(0), step * (static_cast<T>(i) + T(0.5)) - T(0.5));
    const std::int64_t at = std::min(static_cast<std::int64_t>(place), dim.from - 1);
    const T part = std::clamp(place - static_cast<T>(at), T(0), T(1));
    taps.add(at, 1 - part);
    taps.add(at + 1, part);
  }
  return std::move(taps).take();
}

// Cubic convolution, for distances below 1 and below 2.
template <class T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class T>
Taps<T> cubic_taps(const ResizedDim& dim, bool align_corners) {
  constexpr T kA = T(-0.75);
  const T step = step_of<T>(dim, align_corners);
  // A factor counts also where the size stays: PyTorch has it so of this mode alone.
  if (dim.from == dim.to && (align_corners || step == T(1))) return unchanged<T>(dim);
  Builder<T> taps(dim, 4);
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const T place =
        align_corners ? step * static_cast<T>(i) : step * (static_cast<T>(i) + T(0.5)) - T(0.5);
    const std::int64_t at = std::min(static_cast<std::int64_t>(std::floor(place)), dim.from - 1);
    const T part = std::clamp(place - static_cast<T>(at), T(0), T(1));
    taps.add(at - 1, cubic_far(part + 1, kA));
    taps.add(at, cubic_near(part, kA));
    taps.add(at + 1, cubic_near(1 - part, kA));
    taps.add(at + 2, cubic_far(2 - part, kA));
  }
  return std::move(taps).take();
}

// What an element at that distance counts, in a smaller result that all elements take part in.
template <class T>
T filtered(Resampling how, T x) {
  x = std::abs(x);
  if (how == Resampling::linear) return x < 1 ? 1 - x : T(0);
  if (how == Resampling::cubic) {
    constexpr T kA = T(-0.5);
    return x < 1 ? cubic_near(x, kA) : x < 2 ? cubic_far(x, kA) : T(0);
  }
  const auto sinc = [](T y) {
    const T turn = y * std::numbers::pi_v<T>;
    return y == 0 ? T(1) : std::sin(turn) / turn;
  };
  return x < 3 ? sinc(x) * sinc(x / 3) : T(0);
}

template <class T>
Taps<T> antialiased_taps(Resampling how, const ResizedDim& dim, bool align_corners) {
  if (dim.from == dim.to) return unchanged<T>(dim);
  const T step = step_of<T>(dim, align_corners), widened = std::max(step, T(1));
  const T reach = widened * (how == Resampling::linear  ? T(1)
                             : how == Resampling::cubic ? T(2)
                                                        : T(3));
  Builder<T> taps(dim, std::min(static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1, dim.from + 1));
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const T middle = step * (static_cast<T>(i) + T(0.5));
    const std::int64_t begin =
        std::max<std::int64_t>(static_cast<std::int64_t>(middle - reach + T(0.5)), 0);
    const std::int64_t end = std::min(static_cast<std::int64_t>(middle + reach + T(0.5)), dim.from);
    const auto weight = [&](std::int64_t at) {
      return filtered(how, (static_cast<T>(at) - middle + T(0.5)) / widened);
    };
    T total = 0;
    for (std::int64_t at = begin; at < end; ++at) total += weight(at);
    for (std::int64_t at = begin; at < end; ++at) taps.add(at, weight(at) / total);
    // Rounding can leave none at all.
    if (begin >= end) taps.add(begin, T(0));
    taps.fill_up();
  }
  return std::move(taps).take();
}

}  // namespace

std::vector<std::int64_t> nearest_positions(Resampling how, const ResizedDim& dim) {
  std::vector<std::int64_t> from(static_cast<std::size_t>(dim.to));
  // In float whatever the elements are, as PyTorch does: another rounding picks other elements.
  const auto step = step_of<float>(dim, false);
  for (std::int64_t i = 0; i < dim.to; ++i) {
    const float place = how == Resampling::nearest ? static_cast<float>(i) * step
                                                   : (static_cast<float>(i) + 0.5F) * step;
    from[static_cast<std::size_t>(i)] =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0, dim.from - 1);
  }
  return from;
}

template <class T>
Taps<T> resampling_taps(Resampling how, const ResizedDim& dim, bool align_corners, bool antialias) {
  if (antialias) return antialiased_taps<T>(how, dim, align_corners);
  if (how == Resampling::area) return area_taps<T>(dim);
  return how == Resampling::cubic ? cubic_taps<T>(dim, align_corners)
                                  : linear_taps<T>(dim, align_corners);
}

template Taps<float> resampling_taps(Resampling, const ResizedDim&, bool, bool);
template Taps<double> resampling_taps(Resampling, const ResizedDim&, bool, bool);

}  // namespace tenon
