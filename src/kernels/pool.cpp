#include "kernels/pool.h"

#include <algorithm>
#include <concepts>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/cast_simd.h"
#include "kernels/element.h"

namespace tenon {

namespace {

template <class T>
inline constexpr bool kAverages = std::floating_point<T> || std::same_as<T, std::int64_t>;

// Planes a thread takes at a time, so that a few ten thousand elements are looked at.
std::int64_t grain(std::int64_t plane) {
  constexpr std::int64_t kWorth = 1 << 15;
  return std::max<std::int64_t>(1, kWorth / std::max<std::int64_t>(plane, 1));
}

template <class T>
constexpr T lowest() {
  if constexpr (std::floating_point<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// The largest of two; NaN if there is one. Written so that compilers make it two instructions.
template <class T>
inline T larger(T a, T b) {
  if constexpr (std::floating_point<T>) {
    const T most = a > b ? a : b;
    return a != a ? a : most;  // the comparison has taken b if b is NaN
  } else {
    return a > b ? a : b;
  }
}

template <class T>
void find_largest(const PoolPlan& plan, const T* in, T* out, std::int64_t* indices) {
  const auto& [depth, height, width] = plan.axes;
  for (const PoolStretch& z : depth.stretches) {
    for (const PoolStretch& y : height.stretches) {
      for (const PoolStretch& x : width.stretches) {
        T best = lowest<T>();
        const bool none = z.first >= z.last || y.first >= y.last || x.first >= x.last;
        std::int64_t place = none ? -1 : (z.first * height.size + y.first) * width.size + x.first;
        for (std::int64_t d = z.first; d < z.last; d += z.step) {
          for (std::int64_t h = y.first; h < y.last; h += y.step) {
            const std::int64_t row = (d * height.size + h) * width.size;
            for (std::int64_t w = x.first; w < x.last; w += x.step) {
              const T value = in[row + w];
              // Only another NaN takes the place of one. Both are always asked, because which of
              // the elements is the largest cannot be foreseen, and a branch would be.
              const bool taken = static_cast<bool>(static_cast<int>(value > best) |
                                                   static_cast<int>(value != value));
              best = taken ? value : best;
              place = taken ? row + w : place;
            }
          }
        }
        *out++ = best;
        *indices++ = place;
      }
    }
  }
}

// Without places: all rows of a window become one first, for all windows beside it at once.
template <class T>
void find_largest(const PoolPlan& plan, const T* in, T* out, std::vector<T>& row) {
  const auto& [depth, height, width] = plan.axes;
  const auto n = static_cast<std::size_t>(width.size);
  for (const PoolStretch& z : depth.stretches) {
    for (const PoolStretch& y : height.stretches) {
      std::fill(row.begin(), row.end(), lowest<T>());
      for (std::int64_t d = z.first; d < z.last; d += z.step) {
        for (std::int64_t h = y.first; h < y.last; h += y.step) {
          const T* from = in + (d * height.size + h) * width.size;
          T* to = row.data();
          for (std::size_t w = 0; w < n; ++w) to[w] = larger(from[w], to[w]);
        }
      }
      for (const PoolStretch& x : width.stretches) {
        T best = lowest<T>();
        for (std::int64_t w = x.first; w < x.last; w += x.step)
          best = larger(row[static_cast<std::size_t>(w)], best);
        *out++ = best;
      }
    }
  }
}

// Sums are carried in something wider than their elements.
template <class T>
using Sum = std::conditional_t<std::same_as<T, float>, double, T>;

template <class T>
Sum<T> divided(Sum<T> sum, const PoolPlan& plan, const PoolStretch& z, const PoolStretch& y,
               const PoolStretch& x) {
  const std::int64_t by = plan.divisor != 0 ? plan.divisor : z.count * y.count * x.count;
  return sum / static_cast<Sum<T>>(by);
}

template <class T>
void average(const PoolPlan& plan, const T* in, T* out, std::vector<Sum<T>>& row) {
  const auto& [depth, height, width] = plan.axes;
  const auto n = static_cast<std::size_t>(width.size);
  for (const PoolStretch& z : depth.stretches) {
    for (const PoolStretch& y : height.stretches) {
      std::fill(row.begin(), row.end(), Sum<T>(0));
      for (std::int64_t d = z.first; d < z.last; ++d) {
        for (std::int64_t h = y.first; h < y.last; ++h) {
          const T* from = in + (d * height.size + h) * width.size;
          Sum<T>* to = row.data();
          for (std::size_t w = 0; w < n; ++w) to[w] += static_cast<Sum<T>>(from[w]);
        }
      }
      const bool none = z.first >= z.last || y.first >= y.last;
      for (const PoolStretch& x : width.stretches) {
        Sum<T> sum = 0;
        for (std::int64_t w = x.first; w < x.last; ++w) sum += row[static_cast<std::size_t>(w)];
        // A window that lies in the padding has nothing to divide.
        *out++ = none || x.first >= x.last ? T(0) : static_cast<T>(divided<T>(sum, plan, z, y, x));
      }
    }
  }
}

template <class T>
void spread(const PoolPlan& plan, const T* grad, T* out, std::vector<T>& row) {
  const auto& [depth, height, width] = plan.axes;
  const auto n = static_cast<std::size_t>(width.size);
  for (const PoolStretch& z : depth.stretches) {
    for (const PoolStretch& y : height.stretches) {
      std::fill(row.begin(), row.end(), T(0));
      for (const PoolStretch& x : width.stretches) {
        const Sum<T> whole = static_cast<Sum<T>>(*grad++);
        if (x.first >= x.last || z.first >= z.last || y.first >= y.last) continue;
        const T share = static_cast<T>(divided<T>(whole, plan, z, y, x));
        for (std::int64_t w = x.first; w < x.last; ++w) row[static_cast<std::size_t>(w)] += share;
      }
      for (std::int64_t d = z.first; d < z.last; ++d) {
        for (std::int64_t h = y.first; h < y.last; ++h) {
          T* to = out + (d * height.size + h) * width.size;
          const T* from = row.data();
          for (std::size_t w = 0; w < n; ++w) to[w] += from[w];
        }
      }
    }
  }
}

// Planes of 16-bit elements become floats one at a time, and their results are rounded.
bool is_narrow(DType dtype) { return dtype == float16 || dtype == bfloat16; }

class FloatPlane {
 public:
  FloatPlane(DType dtype, std::int64_t size, std::int64_t results)
      : widen_(packed_cast(float32, dtype)),
        narrow_(packed_cast(dtype, float32)),
        in_(static_cast<std::size_t>(size)),
        out_(static_cast<std::size_t>(results)) {}
  const float* widened(const void* planes, std::int64_t p) {
    const auto n = static_cast<std::int64_t>(in_.size());
    widen_(static_cast<const std::uint16_t*>(planes) + p * n, in_.data(), n, false);
    return in_.data();
  }
  float* result() { return out_.data(); }
  void round_to(void* planes, std::int64_t p) const {
    const auto n = static_cast<std::int64_t>(out_.size());
    narrow_(out_.data(), static_cast<std::uint16_t*>(planes) + p * n, n, false);
  }

 private:
  PackedCast widen_, narrow_;
  std::vector<float> in_, out_;
};

// Calls work(first, last) for stretches of planes.
template <class F>
void for_planes(const PoolPlan& plan, F&& work) {
  parallel_for(0, plan.planes, grain(plan.input_size()), work);
}

}  // namespace

bool can_max_pool(DType dtype) {
  return is_narrow(dtype) || visit(dtype, []<class T>() { return kReal<T>; });
}
bool can_average_pool(DType dtype) {
  return is_narrow(dtype) || visit(dtype, []<class T>() { return kAverages<T>; });
}

namespace {

// With places or without.
template <class T>
void find_largest(const PoolPlan& plan, const T* in, T* out, std::int64_t* indices,
                  std::vector<T>& row) {
  if (indices != nullptr) return find_largest(plan, in, out, indices);
  row.resize(static_cast<std::size_t>(plan.axes[2].size));
  find_largest(plan, in, out, row);
}

}  // namespace

void max_pool(const PoolPlan& plan, DType dtype, const void* in, void* out, std::int64_t* indices) {
  const std::int64_t size = plan.input_size(), results = plan.output_size();
  const auto places = [&](std::int64_t p) {
    return indices == nullptr ? nullptr : indices + p * results;
  };
  if (is_narrow(dtype)) {
    return for_planes(plan, [&](std::int64_t first, std::int64_t last) {
      FloatPlane plane(dtype, size, results);
      std::vector<float> row;
      for (std::int64_t p = first; p < last; ++p) {
        find_largest(plan, plane.widened(in, p), plane.result(), places(p), row);
        plane.round_to(out, p);
      }
    });
  }
  visit(dtype, [&]<class T>() {
    if constexpr (kReal<T>) {
      for_planes(plan, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> row;
        for (std::int64_t p = first; p < last; ++p) {
          find_largest(plan, static_cast<const T*>(in) + p * size,
                       static_cast<T*>(out) + p * results, places(p), row);
        }
      });
    }
  });
}

void add_at_indices(std::int64_t planes, std::int64_t from, std::int64_t to, DType dtype,
                    const void* in, const std::int64_t* indices, void* out) {
  visit(dtype, [&]<class T>() {
    if constexpr (kReal<T>) {
      parallel_for(0, planes, grain(from), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t p = first; p < last; ++p) {
          const T* values = static_cast<const T*>(in) + p * from;
          const std::int64_t* places = indices + p * from;
          T* sums = static_cast<T*>(out) + p * to;
          for (std::int64_t i = 0; i < from; ++i) {
            const std::int64_t place = places[i];
            if (place < 0 || place >= to) continue;
            sums[place] = static_cast<T>(sums[place] + values[i]);
          }
        }
      });
    }
  });
}

void average_pool(const PoolPlan& plan, DType dtype, const void* in, void* out) {
  const std::int64_t size = plan.input_size(), results = plan.output_size();
  if (is_narrow(dtype)) {
    return for_planes(plan, [&](std::int64_t first, std::int64_t last) {
      FloatPlane plane(dtype, size, results);
      std::vector<double> row(static_cast<std::size_t>(plan.axes[2].size));
      for (std::int64_t p = first; p < last; ++p) {
        average(plan, plane.widened(in, p), plane.result(), row);
        plane.round_to(out, p);
      }
    });
  }
  visit(dtype, [&]<class T>() {
    if constexpr (kAverages<T>) {
      for_planes(plan, [&](std::int64_t first, std::int64_t last) {
        std::vector<Sum<T>> row(static_cast<std::size_t>(plan.axes[2].size));
        for (std::int64_t p = first; p < last; ++p) {
          average(plan, static_cast<const T*>(in) + p * size, static_cast<T*>(out) + p * results,
                  row);
        }
      });
    }
  });
}

void spread_average_pool(const PoolPlan& plan, DType dtype, const void* grad, void* out) {
  const std::int64_t size = plan.input_size(), results = plan.output_size();
  visit(dtype, [&]<class T>() {
    if constexpr (kAverages<T>) {
      for_planes(plan, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> row(static_cast<std::size_t>(plan.axes[2].size));
        for (std::int64_t p = first; p < last; ++p) {
          spread(plan, static_cast<const T*>(grad) + p * results, static_cast<T*>(out) + p * size,
                 row);
        }
      });
    }
  });
}

}  // namespace tenon
