#include "kernels/select.h"

#include <cstring>

namespace tenon {

namespace {

struct Wide {
  std::uint64_t parts[2];
};

template <class E>
E load(const std::byte* from) {
  E element;
  std::memcpy(&element, from, sizeof element);
  return element;
}

template <class E>
void select_row(const Loop<4>::Pointers& at, const Loop<4>::Strides& strides, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(E));
  const auto one = [&](std::int64_t out, std::int64_t condition, std::int64_t a, std::int64_t b) {
    // Both are read, so that the choice is no branch.
    const E yes = load<E>(at[2] + a), no = load<E>(at[3] + b);
    const E chosen = at[1][condition] != std::byte{0} ? yes : no;
    std::memcpy(at[0] + out, &chosen, sizeof chosen);
  };
  if (strides[0] == kSize && strides[1] == 1 && strides[2] == kSize && strides[3] == kSize) {
    for (std::int64_t i = 0; i < n; ++i) one(i * kSize, i, i * kSize, i * kSize);
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      one(i * strides[0], i * strides[1], i * strides[2], i * strides[3]);
  }
}

}  // namespace

void select_elements(std::span<const std::int64_t> shape, const Operand& out,
                     const Operand& condition, const Operand& a, const Operand& b) {
  const Loop<4> loop(shape, {out, condition, a, b});
  switch (out.itemsize) {
    case 1: return loop.run_parallel(select_row<std::uint8_t>);
    case 2: return loop.run_parallel(select_row<std::uint16_t>);
    case 4: return loop.run_parallel(select_row<std::uint32_t>);
    case 8: return loop.run_parallel(select_row<std::uint64_t>);
    default: return loop.run_parallel(select_row<Wide>);
  }
}

}  // namespace tenon
