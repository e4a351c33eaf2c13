#include "kernels/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "base/element_cast.h"
#include "kernels/random_simd.h"

namespace tenon {

float RandomSource::uniform_float() noexcept {
  return static_cast<float>(engine.next32() & 0xffffffu) * 0x1p-24f;
}

double RandomSource::uniform_double() noexcept {
  return static_cast<double>(engine.next64() & 0x1fffffffffffffu) * 0x1p-53;
}

double RandomSource::normal() noexcept {
  if (waiting_normal) {
    const double value = *waiting_normal;
    waiting_normal.reset();
    return value;
  }
  const double u1 = uniform_double(), u2 = uniform_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2));
  const double theta = 2.0 * std::numbers::pi * u1;
  waiting_normal = radius * std::sin(theta);
  return radius * std::cos(theta);
}

namespace {

// Elements drawn at a time: outputs and elements stay in the first-level cache. A multiple of 16.
constexpr std::int64_t kPiece = 1024;

// Calls produce(T* out, n) for all elements in the order they lie in memory, n at most kPiece, and
// puts what it writes where it belongs.
template <class T, class Produce>
void draw(ShapeView shape, const Operand& dst, Produce&& produce) {
  const Loop<1> loop(shape, {dst});
  std::array<T, kPiece> buffer;
  loop.run(0, loop.numel(),
           [&](const Loop<1>::Pointers& at, const Loop<1>::Strides& strides, std::int64_t n) {
             constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
             for (std::int64_t done = 0; done < n; done += kPiece) {
               const std::int64_t count = std::min(kPiece, n - done);
               std::byte* to = at[0] + done * strides[0];
               produce(buffer.data(), count);
               if (strides[0] == kSize) {
                 std::memcpy(to, buffer.data(), static_cast<std::size_t>(count) * sizeof(T));
               } else {
                 for (std::int64_t i = 0; i < count; ++i)
                   std::memcpy(to + i * strides[0], &buffer[static_cast<std::size_t>(i)],
                               sizeof(T));
               }
             }
           });
}

template <class T, class One>
void draw_each(ShapeView shape, const Operand& dst, One&& one) {
  draw<T>(shape, dst, [&](T* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = one();
  });
}

template <class F>
void with_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64: return f.template operator()<double>();
    case DType::float32: return f.template operator()<float>();
    case DType::float16: return f.template operator()<Half>();
    default: return f.template operator()<BFloat16>();
  }
}

template <class F>
void with_real(DType dtype, F&& f) {
  visit(dtype, [&]<class T>() {
    constexpr bool small = std::same_as<T, Half> || std::same_as<T, BFloat16>;
    if constexpr (std::integral<T> || std::floating_point<T> || small) f.template operator()<T>();
  });
}

// n uniform numbers of [from, to). T is float or double.
template <class T>
void uniform(T* out, std::int64_t n, T from, T to, RandomSource& source) {
  std::array<std::uint32_t, 2 * kPiece> outputs;
  if constexpr (std::same_as<T, float>) {
    source.engine.fill(outputs.data(), n);
    uniform_floats(outputs.data(), out, n, from, to);
  } else {
    source.engine.fill(outputs.data(), 2 * n);
    uniform_doubles(outputs.data(), out, n, from, to);
  }
}

void double_blocks(double* data, std::int64_t blocks, double mean, double std) {
  for (std::int64_t block = 0; block < blocks; ++block, data += 16) {
    for (std::size_t j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2 * std::log(1.0 - data[j]));
      const double theta = 2.0 * std::numbers::pi * data[j + 8];
      data[j] = std::fma(radius * std::cos(theta), std, mean);
      data[j + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
  }
}

// Normal numbers in blocks of sixteen. What is left over at the end is drawn again together with
// elements before it: the last sixteen are a block of their own.
template <class T>
void fill_normal_packed(std::byte* dst, std::int64_t numel, double mean, double std,
                        RandomSource& source) {
  using Wide = std::conditional_t<std::same_as<T, double>, double, float>;
  std::array<Wide, kPiece> wide;
  std::array<T, kPiece> narrow;
  const auto blocks = [&](std::int64_t first, std::int64_t n) {
    uniform<Wide>(wide.data(), n, 0, 1, source);
    if constexpr (std::same_as<T, double>) {
      double_blocks(wide.data(), n / 16, mean, std);
    } else {
      normal_blocks(wide.data(), n / 16, static_cast<float>(mean), static_cast<float>(std));
    }
    const void* from = wide.data();
    if constexpr (!std::same_as<T, Wide>) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) narrow[i] = T(wide[i]);
      from = narrow.data();
    }
    std::memcpy(dst + first * static_cast<std::int64_t>(sizeof(T)), from,
                static_cast<std::size_t>(n) * sizeof(T));
  };
  const std::int64_t whole = numel - numel % 16;
  for (std::int64_t done = 0; done < whole; done += kPiece)
    blocks(done, std::min(kPiece, whole - done));
  if (whole == numel) return;
  if constexpr (std::same_as<T, Wide>) {
    // PyTorch has drawn uniform numbers for all elements before it finds that some do not fill a
    // block; those are lost.
    uniform<Wide>(wide.data(), numel - whole, 0, 1, source);
  }
  blocks(numel - 16, 16);
}

// How many whole numbers from 0 on T has, or, if it is floating, has exactly. For types of at
// most 32 bits.
template <class T>
constexpr std::uint64_t whole_numbers() {
  if constexpr (std::integral<T>) {
    return static_cast<std::uint64_t>(std::numeric_limits<T>::max()) + 1;
  } else {
    constexpr int kDigits = std::same_as<T, float> ? 24 : std::same_as<T, Half> ? 11 : 8;
    return (std::uint64_t{1} << kDigits) + 1;
  }
}

// Numbers from one uniform double each, or from the waiting normal.
template <class F>
void fill_transformed(ShapeView shape, const Operand& dst, DType dtype, F&& f) {
  with_floating(dtype,
                [&]<class T>() { draw_each<T>(shape, dst, [&] { return convert<T>(f()); }); });
}

}  // namespace

void fill_uniform(ShapeView shape, const Operand& dst, DType dtype, double from, double to,
                  RandomSource& source) {
  with_floating(dtype, [&]<class T>() {
    draw<T>(shape, dst, [&](T* out, std::int64_t n) {
      if constexpr (std::floating_point<T>) {
        uniform(out, n, static_cast<T>(from), static_cast<T>(to), source);
      } else {
        std::array<float, kPiece> wide;
        uniform(wide.data(), n, static_cast<float>(from), static_cast<float>(to), source);
        const T first = convert<T>(from), last = convert<T>(to);
        for (std::int64_t i = 0; i < n; ++i) {
          const T value(wide[static_cast<std::size_t>(i)]);
          out[i] = float(value) == float(last) ? first : value;
        }
      }
    });
  });
}

void fill_normal(ShapeView shape, const Operand& dst, DType dtype, bool packed, double mean,
                 double std, RandomSource& source) {
  std::int64_t numel = 1;
  for (const std::int64_t size : shape) numel *= size;
  if (packed && numel >= 16) {
    with_floating(dtype,
                  [&]<class T>() { fill_normal_packed<T>(dst.data, numel, mean, std, source); });
  } else {
    fill_transformed(shape, dst, dtype, [&] { return std::fma(source.normal(), std, mean); });
  }
}

void fill_exponential(ShapeView shape, const Operand& dst, DType dtype, double lambda,
                      RandomSource& source) {
  fill_transformed(shape, dst, dtype,
                   [&] { return -1.0 / lambda * std::log1p(-source.uniform_double()); });
}

void fill_cauchy(ShapeView shape, const Operand& dst, DType dtype, double median, double sigma,
                 RandomSource& source) {
  fill_transformed(shape, dst, dtype, [&] {
    const double angle = std::numbers::pi * (source.uniform_double() - 0.5);
    return std::fma(sigma, std::tan(angle), median);
  });
}

void fill_log_normal(ShapeView shape, const Operand& dst, DType dtype, double mean, double std,
                     RandomSource& source) {
  fill_transformed(shape, dst, dtype,
                   [&] { return std::exp(std::fma(source.normal(), std, mean)); });
}

void fill_geometric(ShapeView shape, const Operand& dst, DType dtype, double p,
                    RandomSource& source) {
  with_real(dtype, [&]<class T>() {
    draw_each<T>(shape, dst, [&] {
      return convert<T>(std::ceil(std::log(source.uniform_double()) / std::log1p(-p)));
    });
  });
}

void fill_bernoulli(ShapeView shape, const Operand& dst, DType dtype, double p,
                    RandomSource& source) {
  with_real(dtype, [&]<class T>() {
    draw_each<T>(shape, dst, [&] { return convert<T>(source.uniform_double() < p); });
  });
}

void fill_bernoulli(ShapeView shape, const Operand& dst, DType dtype, const Operand& p,
                    DType p_dtype, RandomSource& source) {
  const Loop<2> loop(shape, {dst, p});
  with_real(dtype, [&]<class T>() {
    with_floating(p_dtype, [&]<class P>() {
      loop.run(0, loop.numel(),
               [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t n) {
                 for (std::int64_t i = 0; i < n; ++i) {
                   P element;
                   std::memcpy(&element, at[1] + i * strides[1], sizeof element);
                   bool drawn;
                   if constexpr (std::same_as<P, double>) {
                     drawn = source.uniform_double() < element;
                   } else {
                     const auto chance = static_cast<float>(element);
                     drawn = source.uniform_float() < chance;
                   }
                   const T value = convert<T>(drawn);
                   std::memcpy(at[0] + i * strides[0], &value, sizeof value);
                 }
               });
    });
  });
}

void fill_random(ShapeView shape, const Operand& dst, DType dtype, std::uint64_t range,
                 std::int64_t base, RandomSource& source) {
  with_real(dtype, [&]<class T>() {
    const auto element = [&](std::uint64_t value) {
      return convert<T>(static_cast<std::int64_t>(value + static_cast<std::uint64_t>(base)));
    };
    if (range == 0) {
      draw_each<T>(shape, dst, [&] { return element(source.engine.next64()); });
    } else if (range >= std::uint64_t{1} << 28) {
      draw_each<T>(shape, dst, [&] { return element(source.engine.next64() % range); });
    } else {
      const auto narrow = static_cast<std::uint32_t>(range);
      draw<T>(shape, dst, [&](T* out, std::int64_t n) {
        std::array<std::uint32_t, kPiece> outputs;
        source.engine.fill(outputs.data(), n);
        for (std::int64_t i = 0; i < n; ++i)
          out[i] = element(outputs[static_cast<std::size_t>(i)] % narrow);
      });
    }
  });
}

void fill_random(ShapeView shape, const Operand& dst, DType dtype, RandomSource& source) {
  with_real(dtype, [&]<class T>() {
    if constexpr (std::same_as<T, double>) {
      draw_each<T>(shape, dst, [&] {
        return static_cast<double>(source.engine.next64() % ((std::uint64_t{1} << 53) + 1));
      });
    } else if constexpr (sizeof(T) == 8) {
      draw_each<T>(shape, dst, [&] {
        return static_cast<T>(source.engine.next64() &
                              static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
      });
    } else {
      draw_each<T>(shape, dst, [&] {
        return convert<T>(static_cast<std::int64_t>(source.engine.next32() % whole_numbers<T>()));
      });
    }
  });
}

void fill_permutation(std::byte* dst, DType dtype, std::int64_t n, RandomSource& source) {
  with_real(dtype, [&]<class T>() {
    if constexpr (!std::same_as<T, bool>) {
      auto* out = reinterpret_cast<T*>(dst);
      if (n < std::numeric_limits<std::uint32_t>::max() / 20) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = convert<T>(i);
        for (std::int64_t i = 0; i < n - 1; ++i)
          std::swap(out[i], out[i + source.engine.next32() % (n - i)]);
      } else {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto z =
              static_cast<std::int64_t>(source.engine.next64() % static_cast<std::uint64_t>(i + 1));
          out[i] = convert<T>(i);
          out[i] = out[z];
          out[z] = convert<T>(i);
        }
      }
    }
  });
}

}  // namespace tenon
