#include "kernels/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"

namespace tenon {

namespace {

// Along one dimension: the elements that take part, or -1 for those outside, how much of each, and
// how that changes with the place the grid says.
template <class T>
struct AxisTaps {
  int count = 0;
  std::array<std::int64_t, 4> at;
  std::array<T, 4> weight, slope;

  void add(std::int64_t place, std::int64_t size, T how_much, T change) {
    const auto i = static_cast<std::size_t>(count++);
    at[i] = place >= 0 && place < size ? place : -1;
    weight[i] = how_much;
    slope[i] = change;
  }
};

// A place in elements, and how it changes with what it was made of.
template <class T>
struct Place {
  T at, slope;
};

template <class T>
Place<T> clipped(Place<T> place, T last) {
  if (!(place.at > 0)) return {0, 0};  // NaN as well
  if (place.at >= last) return {last, 0};
  return place;
}

// Between two mirrors, which are given doubled, to be whole numbers.
template <class T>
Place<T> mirrored(Place<T> place, T twice_low, T twice_high) {
  if (twice_low == twice_high) return {0, 0};
  const T low = twice_low / 2, span = (twice_high - twice_low) / 2;
  T beyond = place.at - low, slope = place.slope;
  if (beyond < 0) {
    beyond = -beyond;
    slope = -slope;
  }
  const T extra = std::fmod(beyond, span);
  const bool turned = std::fmod(std::floor(beyond / span), T(2)) != 0;
  return turned ? Place<T>{span - extra + low, -slope} : Place<T>{extra + low, slope};
}

template <class T>
Place<T> inside(const GridSizes& sizes, Place<T> place, std::int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (sizes.beyond == GridBeyond::zeros) return place;
  if (sizes.beyond == GridBeyond::reflection) {
    place = sizes.align_corners ? mirrored(place, T(0), 2 * last)
                                : mirrored(place, T(-1), static_cast<T>(2 * size - 1));
  }
  return clipped(place, last);
}

// A whole number as a position; -1 for what is far outside, or no number.
template <class T>
std::int64_t position(T place, std::int64_t size) {
  return place >= 0 && place < static_cast<T>(size) ? static_cast<std::int64_t>(place) : -1;
}

// Cubic convolution with this parameter: of distances below 1, and below 2; and their derivatives.
constexpr double kCubic = -0.75;
template <class T>
T near(T x) {
  constexpr T a = T(kCubic);
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T far(T x) {
  constexpr T a = T(kCubic);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class T>
T near_slope(T x) {
  constexpr T a = T(kCubic);
  return (3 * (a + 2) * x - 2 * (a + 3)) * x;
}
template <class T>
T far_slope(T x) {
  constexpr T a = T(kCubic);
  return (3 * a * x - 10 * a) * x + 8 * a;
}

template <class T>
AxisTaps<T> taps_at(const GridSizes& sizes, T coordinate, std::int64_t size) {
  const T length = static_cast<T>(size);
  Place<T> place = sizes.align_corners
                       ? Place<T>{(coordinate + 1) / 2 * (length - 1), (length - 1) / 2}
                       : Place<T>{((coordinate + 1) * length - 1) / 2, length / 2};
  AxisTaps<T> taps;
  if (sizes.between == GridBetween::cubic) {
    const T first = std::floor(place.at), x = place.at - first;
    const T weights[] = {far(x + 1), near(x), near(1 - x), far(2 - x)};
    const T slopes[] = {far_slope(x + 1), near_slope(x), -near_slope(1 - x), -far_slope(2 - x)};
    for (int i = 0; i < 4; ++i) {
      const Place<T> one = inside(sizes, Place<T>{first + static_cast<T>(i - 1), 0}, size);
      taps.add(position(one.at, size), size, weights[i], slopes[i] * place.slope);
    }
    return taps;
  }
  place = inside(sizes, place, size);
  // All of what is further away is outside; so is what is no number.
  if (!(place.at > -2 && place.at < length + 1)) {
    taps.add(-1, size, 0, 0);
    return taps;
  }
  if (sizes.between == GridBetween::nearest) {
    taps.add(static_cast<std::int64_t>(std::nearbyint(place.at)), size, 1, 0);
    return taps;
  }
  const T first = std::floor(place.at);
  const auto at = static_cast<std::int64_t>(first);
  taps.add(at, size, first + 1 - place.at, -place.slope);
  taps.add(at + 1, size, place.at - first, place.slope);
  return taps;
}

// What an element of the result is made of: every choice of one tap of each dimension.
template <class T>
struct Taps {
  int count = 0;
  std::array<std::int64_t, 16> at;  // in a channel, or -1
  std::array<T, 16> weight;
  std::array<std::array<T, 3>, 16> slope;
};

template <class T>
void find_taps(const GridSizes& sizes, const T* coordinates, Taps<T>& taps) {
  std::array<AxisTaps<T>, 3> axes;
  for (int d = 0; d < sizes.dims; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    axes[axis] = taps_at(sizes, coordinates[d], sizes.from[axis]);
  }
  if (sizes.dims == 2) axes[2].add(0, 1, 1, 0);
  taps.count = 0;
  const auto& [xs, ys, zs] = axes;
  for (std::size_t z = 0; z < static_cast<std::size_t>(zs.count); ++z) {
    for (std::size_t y = 0; y < static_cast<std::size_t>(ys.count); ++y) {
      for (std::size_t x = 0; x < static_cast<std::size_t>(xs.count); ++x) {
        const auto i = static_cast<std::size_t>(taps.count++);
        const bool outside = xs.at[x] < 0 || ys.at[y] < 0 || zs.at[z] < 0;
        taps.at[i] =
            outside ? -1 : (zs.at[z] * sizes.from[1] + ys.at[y]) * sizes.from[0] + xs.at[x];
        taps.weight[i] = xs.weight[x] * ys.weight[y] * zs.weight[z];
        taps.slope[i] = {xs.slope[x] * ys.weight[y] * zs.weight[z],
                         xs.weight[x] * ys.slope[y] * zs.weight[z],
                         xs.weight[x] * ys.weight[y] * zs.slope[z]};
      }
    }
  }
}

std::int64_t elements(const GridSizes& sizes, const std::array<std::int64_t, 3>& of) {
  return of[0] * of[1] * (sizes.dims == 3 ? of[2] : 1);
}

template <class T>
void sample(const GridSizes& sizes, const T* input, const T* grid, T* out) {
  const std::int64_t from = elements(sizes, sizes.from), to = elements(sizes, sizes.to);
  const std::int64_t grain =
      std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(sizes.channels, 1));
  parallel_for(0, sizes.batch * to, grain, [&](std::int64_t first, std::int64_t last) {
    Taps<T> taps;
    for (std::int64_t i = first; i < last; ++i) {
      find_taps(sizes, grid + i * sizes.dims, taps);
      const std::int64_t n = i / to, place = i % to;
      const T* image = input + n * sizes.channels * from;
      T* result = out + n * sizes.channels * to + place;
      for (std::int64_t c = 0; c < sizes.channels; ++c, image += from, result += to) {
        T sum = 0;
        for (std::size_t t = 0; t < static_cast<std::size_t>(taps.count); ++t)
          sum += taps.weight[t] * (taps.at[t] < 0 ? T(0) : image[taps.at[t]]);
        *result = sum;
      }
    }
  });
}

template <class T>
void sample_back(const GridSizes& sizes, const T* grad, const T* input, const T* grid, T* of_input,
                 T* of_grid) {
  const std::int64_t from = elements(sizes, sizes.from), to = elements(sizes, sizes.to);
  // Places may meet in one element, so that an image is one thread's.
  parallel_for(0, sizes.batch, 1, [&](std::int64_t first, std::int64_t last) {
    Taps<T> taps;
    for (std::int64_t i = first * to; i < last * to; ++i) {
      find_taps(sizes, grid + i * sizes.dims, taps);
      const std::int64_t n = i / to;
      const std::int64_t image = n * sizes.channels * from;
      const T* g = grad + n * sizes.channels * to + i % to;
      std::array<T, 3> change{};
      for (std::int64_t c = 0; c < sizes.channels; ++c, g += to) {
        for (std::size_t t = 0; t < static_cast<std::size_t>(taps.count); ++t) {
          if (taps.at[t] < 0) continue;
          const std::int64_t at = image + c * from + taps.at[t];
          of_input[at] += taps.weight[t] * *g;
          for (std::size_t d = 0; d < static_cast<std::size_t>(sizes.dims); ++d)
            change[d] += taps.slope[t][d] * input[at] * *g;
        }
      }
      std::copy_n(change.begin(), sizes.dims, of_grid + i * sizes.dims);
    }
  });
}

}  // namespace

void grid_sample(const GridSizes& sizes, const float* input, const float* grid, float* out) {
  sample(sizes, input, grid, out);
}
void grid_sample(const GridSizes& sizes, const double* input, const double* grid, double* out) {
  sample(sizes, input, grid, out);
}
void grid_sample_back(const GridSizes& sizes, const float* grad, const float* input,
                      const float* grid, float* of_input, float* of_grid) {
  sample_back(sizes, grad, input, grid, of_input, of_grid);
}
void grid_sample_back(const GridSizes& sizes, const double* grad, const double* input,
                      const double* grid, double* of_input, double* of_grid) {
  sample_back(sizes, grad, input, grid, of_input, of_grid);
}

}  // namespace tenon
