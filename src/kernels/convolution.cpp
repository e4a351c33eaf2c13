#include "kernels/convolution.h"

#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/gemm.h"

namespace tenon {

namespace {

// Positions of the result that are taken at a time: their columns are to fit a cache.
std::int64_t positions_at_a_time(std::int64_t rows) {
  constexpr std::int64_t kElements = std::int64_t{1} << 18;
  return std::max<std::int64_t>(64, kElements / std::max<std::int64_t>(1, rows));
}

// Calls f(place in the row of the columns, place in the channel) for each position from first on
// whose window, at this place of the kernel, lies in the input and not in the padding.
template <class F>
void for_each_inside(const ConvolutionSizes& s, std::int64_t place, std::int64_t first,
                     std::int64_t last, F&& f) {
  const std::int64_t k[3] = {place / (s.kernel[1] * s.kernel[2]), place / s.kernel[2] % s.kernel[1],
                             place % s.kernel[2]};
  std::int64_t from[3];
  for (std::size_t d = 0; d < 3; ++d) from[d] = k[d] * s.dilation[d] - s.padding[d];
  std::int64_t at[3] = {first / (s.out[1] * s.out[2]), first / s.out[2] % s.out[1],
                        first % s.out[2]};
  for (std::int64_t position = first; position < last;) {
    const std::int64_t row_end = std::min(last, position + s.out[2] - at[2]);
    const std::int64_t i = at[0] * s.stride[0] + from[0], j = at[1] * s.stride[1] + from[1];
    if (i >= 0 && i < s.in[0] && j >= 0 && j < s.in[1]) {
      const std::int64_t row = (i * s.in[1] + j) * s.in[2];
      std::int64_t x = at[2] * s.stride[2] + from[2];
      for (std::int64_t p = position; p < row_end; ++p, x += s.stride[2]) {
        if (x >= 0 && x < s.in[2]) f(p - first, row + x);
      }
    }
    position = row_end;
    at[2] = 0;
    if (++at[1] == s.out[1]) {
      at[1] = 0;
      ++at[0];
    }
  }
}

// One group of one sample.
template <class T>
class Group {
 public:
  explicit Group(const ConvolutionSizes& s)
      : s_(s),
        rows_(s.in_channels / s.groups * s.kernel_positions()),
        outs_(s.out_channels / s.groups),
        step_(std::min(s.out_positions(), positions_at_a_time(rows_))) {}

  void forward(const T* in, const T* weight, T* out) {
    for_each_step([&](std::int64_t first, std::int64_t last) {
      const std::int64_t count = last - first;
      gather(in, first, last);
      result_.assign(static_cast<std::size_t>(outs_ * count), T(0));
      multiply_add(outs_, count, rows_, {weight, rows_, 1}, {columns_.data(), count, 1},
                   result_.data());
      for (std::int64_t o = 0; o < outs_; ++o) {
        T* to = out + o * s_.out_positions() + first;
        for (std::int64_t p = 0; p < count; ++p) to[p] += result_[at(o * count + p)];
      }
    });
  }
  void transposed(const T* out, const T* weight, T* in) {
    for_each_step([&](std::int64_t first, std::int64_t last) {
      const std::int64_t count = last - first;
      columns_.assign(static_cast<std::size_t>(rows_ * count), T(0));
      multiply_add(rows_, count, outs_, {weight, 1, rows_}, {out + first, s_.out_positions(), 1},
                   columns_.data());
      for (std::int64_t row = 0; row < rows_; ++row) {
        const T* from = columns_.data() + row * count;
        T* to = in + row / s_.kernel_positions() * s_.in_positions();
        for_each_inside(s_, row % s_.kernel_positions(), first, last,
                        [&](std::int64_t p, std::int64_t place) { to[place] += from[p]; });
      }
    });
  }
  void weights(const T* in, const T* out, T* weight) {
    for_each_step([&](std::int64_t first, std::int64_t last) {
      gather(in, first, last);
      const std::int64_t count = last - first;
      multiply_add(outs_, rows_, count, {out + first, s_.out_positions(), 1},
                   {columns_.data(), 1, count}, weight);
    });
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  template <class F>
  void for_each_step(F&& f) {
    for (std::int64_t first = 0; first < s_.out_positions(); first += step_)
      f(first, std::min(s_.out_positions(), first + step_));
  }
  void gather(const T* in, std::int64_t first, std::int64_t last) {
    const std::int64_t count = last - first;
    columns_.assign(static_cast<std::size_t>(rows_ * count), T(0));
    parallel_for(0, rows_, std::max<std::int64_t>(1, 32768 / count),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const T* from = in + row / s_.kernel_positions() * s_.in_positions();
                     T* to = columns_.data() + row * count;
                     for_each_inside(
                         s_, row % s_.kernel_positions(), first, last,
                         [&](std::int64_t p, std::int64_t place) { to[p] = from[place]; });
                   }
                 });
  }

  const ConvolutionSizes& s_;
  std::int64_t rows_, outs_, step_;
  std::vector<T> columns_, result_;
};

template <class T>
struct Pointers {
  const ConvolutionSizes& s;
  template <class P>
  P* in(P* base, std::int64_t n, std::int64_t g) const {
    return base + (n * s.groups + g) * (s.in_channels / s.groups) * s.in_positions();
  }
  template <class P>
  P* out(P* base, std::int64_t n, std::int64_t g) const {
    return base + (n * s.groups + g) * (s.out_channels / s.groups) * s.out_positions();
  }
  template <class P>
  P* weight(P* base, std::int64_t g) const {
    return base +
           g * (s.out_channels / s.groups) * (s.in_channels / s.groups) * s.kernel_positions();
  }
};

// Samples and groups are shared out; of one alone, its product is.
template <class T, class F>
void for_each_group(const ConvolutionSizes& s, F&& f) {
  parallel_for(0, s.batch * s.groups, 1, [&](std::int64_t first, std::int64_t last) {
    Group<T> group(s);
    for (std::int64_t i = first; i < last; ++i) f(group, i / s.groups, i % s.groups);
  });
}

}  // namespace

template <class T>
void Convolution<T>::forward(const ConvolutionSizes& s, const T* in, const T* weight, T* out) {
  const Pointers<T> at{s};
  for_each_group<T>(s, [&](Group<T>& group, std::int64_t n, std::int64_t g) {
    group.forward(at.in(in, n, g), at.weight(weight, g), at.out(out, n, g));
  });
}

template <class T>
void Convolution<T>::transposed(const ConvolutionSizes& s, const T* out, const T* weight, T* in) {
  const Pointers<T> at{s};
  for_each_group<T>(s, [&](Group<T>& group, std::int64_t n, std::int64_t g) {
    group.transposed(at.out(out, n, g), at.weight(weight, g), at.in(in, n, g));
  });
}

template <class T>
void Convolution<T>::weights(const ConvolutionSizes& s, const T* in, const T* out, T* weight) {
  const Pointers<T> at{s};
  // Samples are added one after the other.
  parallel_for(0, s.groups, 1, [&](std::int64_t first, std::int64_t last) {
    Group<T> group(s);
    for (std::int64_t g = first; g < last; ++g) {
      for (std::int64_t n = 0; n < s.batch; ++n)
        group.weights(at.in(in, n, g), at.out(out, n, g), at.weight(weight, g));
    }
  });
}

template struct Convolution<double>;
template struct Convolution<std::int64_t>;

}  // namespace tenon
