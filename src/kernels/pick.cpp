#include "kernels/pick.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/element_cast.h"
#include "kernels/element.h"
#include "kernels/elementwise.h"

namespace tenon {

namespace {

using Pointers = Loop<3>::Pointers;
using Strides = Loop<3>::Strides;

template <class Each>
void run_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step,
             Each&& each) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto position = load_element<std::int64_t>(at[1] + i * strides[1]);
    each(at[0] + i * strides[0], at[2] + i * strides[2] + position * step);
  }
}

template <class E>
void read_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(E));
  if (strides[0] == kSize && strides[2] == kSize && strides[1] == 0) {
    const auto position = load_element<std::int64_t>(at[1]);
    std::memcpy(at[0], at[2] + position * step, static_cast<std::size_t>(n * kSize));
    return;
  }
  run_row(at, strides, n, step,
          [](std::byte* own, const std::byte* place) { std::memcpy(own, place, sizeof(E)); });
}

template <class E>
void write_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step) {
  run_row(at, strides, n, step,
          [](const std::byte* own, std::byte* place) { std::memcpy(place, own, sizeof(E)); });
}

// In the type that is calculated in, rounded after each.
template <class T, bool kMultiplies>
T combined(T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    return kMultiplies ? a && b : a || b;
  } else if constexpr (std::integral<T>) {
    const auto x = Wrapping<T>(a), y = Wrapping<T>(b);
    return static_cast<T>(kMultiplies ? x * y : x + y);
  } else if constexpr (std::floating_point<T> || is_std_complex<T>) {
    return kMultiplies ? a * b : a + b;
  } else {  // small floating types
    const auto x = convert<float>(a), y = convert<float>(b);
    return convert<T>(kMultiplies ? x * y : x + y);
  }
}

template <class T>
inline constexpr bool kCombines =
    kNumber<T> || std::same_as<T, bool> || std::same_as<T, Half> || std::same_as<T, BFloat16>;

template <class T, bool kMultiplies>
void combine_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step) {
  run_row(at, strides, n, step, [](const std::byte* own, std::byte* place) {
    store_element<T>(place, combined<T, kMultiplies>(load_element<T>(place), load_element<T>(own)));
  });
}

// With one rounding, where the numbers are floating ones.
template <class T>
void add_scaled_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step,
                    const void* factor) {
  const T scale = load_element<T>(static_cast<const std::byte*>(factor));
  run_row(at, strides, n, step, [scale](const std::byte* own, std::byte* place) {
    const T x = load_element<T>(own), y = load_element<T>(place);
    if constexpr (std::floating_point<T>) {
      store_element<T>(place, std::fma(scale, x, y));
    } else if constexpr (std::same_as<T, Half> || std::same_as<T, BFloat16>) {
      store_element<T>(
          place, convert<T>(std::fma(convert<float>(scale), convert<float>(x), convert<float>(y))));
    } else {
      store_element<T>(place, combined<T, false>(y, combined<T, true>(scale, x)));
    }
  });
}

template <class T>
inline constexpr bool kOrdered = kCombines<T> && !is_std_complex<T>;

template <class T, bool kLargest>
void extreme_row(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step) {
  run_row(at, strides, n, step, [](const std::byte* own, std::byte* place) {
    const auto as_number = [](const T& value) {
      if constexpr (std::integral<T> || std::floating_point<T>) {
        return value;
      } else {
        return convert<float>(value);
      }
    };
    const T x = load_element<T>(own);
    const auto mine = as_number(x), there = as_number(load_element<T>(place));
    const bool further = kLargest ? mine > there : mine < there;
    if (further || mine != mine) store_element<T>(place, x);
  });
}

using Row = void (*)(const Pointers& at, const Strides& strides, std::int64_t n, std::int64_t step);
using ScaledRow = void (*)(const Pointers& at, const Strides& strides, std::int64_t n,
                           std::int64_t step, const void* factor);

ScaledRow scaled_row_of(DType dtype) {
  ScaledRow row = nullptr;
  visit(dtype, [&]<class T>() {
    if constexpr (kCombines<T>) row = add_scaled_row<T>;
  });
  return row;
}

Row row_of(PickFunction function, DType dtype) {
  Row row = nullptr;
  if (function == PickFunction::read || function == PickFunction::write) {
    with_element_of(itemsize(dtype), [&]<class E>() {
      row = function == PickFunction::read ? read_row<E> : write_row<E>;
    });
    return row;
  }
  visit(dtype, [&]<class T>() {
    if (function == PickFunction::largest || function == PickFunction::smallest) {
      if constexpr (kOrdered<T>)
        row = function == PickFunction::largest ? extreme_row<T, true> : extreme_row<T, false>;
    } else if constexpr (kCombines<T>) {
      row = function == PickFunction::add ? combine_row<T, false> : combine_row<T, true>;
    }
  });
  return row;
}

}  // namespace

bool has_pick(PickFunction function, DType dtype) { return row_of(function, dtype) != nullptr; }

void pick_elements(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
                   const Operand& own, const Operand& index, const Operand& table,
                   std::int64_t table_stride, DType dtype, const void* factor) {
  const Row row = row_of(function, dtype);
  const ScaledRow scaled = factor != nullptr ? scaled_row_of(dtype) : nullptr;
  const std::int64_t step = table_stride * table.itemsize;
  std::int64_t numel = 1;
  for (const std::int64_t size : shape) numel *= size;
  if (numel == 0) return;
  const auto run = [&](std::span<const std::int64_t> part, const std::array<Operand, 3>& operands) {
    const Loop<3> loop(part, operands);
    loop.run(0, loop.numel(), [&](const Pointers& at, const Strides& strides, std::int64_t n) {
      if (scaled != nullptr)
        scaled(at, strides, n, step, factor);
      else
        row(at, strides, n, step);
    });
  };
  // Shared out along another dimension, the places that meet stay with one thread.
  std::optional<std::size_t> shared;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool allowed = d != dim || function == PickFunction::read;
    if (allowed && (!shared || shape[d] > shape[*shared])) shared = d;
  }
  if (!shared) return run(shape, {own, index, table});
  const std::int64_t each = std::max<std::int64_t>(1, numel / shape[*shared]);
  const std::int64_t grain = std::max<std::int64_t>(1, Loop<3>::kGrain / each);
  parallel_for(0, shape[*shared], grain, [&](std::int64_t begin, std::int64_t end) {
    Dims part(shape);
    part[*shared] = end - begin;
    const auto moved = [&](Operand operand) {
      operand.data += begin * operand.strides[*shared] * operand.itemsize;
      return operand;
    };
    run(part, {moved(own), moved(index), moved(table)});
  });
}

std::optional<BadPosition> find_bad_position(std::span<const std::int64_t> shape,
                                             const Operand& index, std::int64_t low,
                                             std::int64_t high) {
  const Loop<1> loop(shape, {index});
  std::atomic<bool> found = false;
  loop.run_parallel(
      [&](const Loop<1>::Pointers& at, const Loop<1>::Strides& strides, std::int64_t n) {
        bool bad = false;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto position = load_element<std::int64_t>(at[0] + i * strides[0]);
          bad |= position < low || position >= high;
        }
        if (bad) found = true;
      });
  if (!found) return std::nullopt;
  // Which one is looked for in the order of the shape, not of memory.
  Dims place = Dims::filled(shape.size(), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < place.size(); ++d) offset += place[d] * index.strides[d];
    const auto position = load_element<std::int64_t>(index.data + offset * index.itemsize);
    if (position < low || position >= high) return BadPosition{position, place};
    for (std::size_t d = place.size(); d-- > 0;) {
      if (++place[d] < shape[d]) break;
      place[d] = 0;
    }
  }
}

}  // namespace tenon
