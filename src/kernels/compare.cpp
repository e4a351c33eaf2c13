#include "kernels/compare.h"

#include <atomic>
#include <cstring>

#include "base/element_cast.h"

namespace tenon {

namespace {

template <class T>
bool same(const std::byte* a, const std::byte* b) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return (*a != std::byte{0}) == (*b != std::byte{0});
  } else if constexpr (is_opaque_type<T>) {
    return std::memcmp(a, b, sizeof(T)) == 0;
  } else {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    if constexpr (std::same_as<T, ComplexHalf>) {
      return float(x.real) == float(y.real) && float(x.imag) == float(y.imag);
    } else if constexpr (is_small_float<T>) {
      return float(x) == float(y);
    } else {
      return x == y;
    }
  }
}

}  // namespace

bool all_equal(std::span<const std::int64_t> shape, const Operand& a, const Operand& b,
               DType dtype) {
  const Loop<2> loop(shape, {a, b});
  std::atomic<bool> equal{true};
  visit(dtype, [&]<class T>() {
    loop.run_parallel(
        [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t n) {
          if (!equal.load(std::memory_order_relaxed)) return;
          bool row = true;
          for (std::int64_t i = 0; i < n; ++i)
            row &= same<T>(at[0] + i * strides[0], at[1] + i * strides[1]);
          if (!row) equal.store(false, std::memory_order_relaxed);
        });
  });
  return equal.load(std::memory_order_relaxed);
}

}  // namespace tenon
