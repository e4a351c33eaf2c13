#include "kernels/select.h"

#include <cstring>

#include "kernels/element.h"

namespace tenon {

namespace {

template <class E>
void select_row(const Loop<4>::Pointers& at, const Loop<4>::Strides& strides, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(E));
  const auto one = [&](std::int64_t out, std::int64_t condition, std::int64_t a, std::int64_t b) {
    // Both are read, so that the choice is no branch.
    const E yes = load_element<E>(at[2] + a), no = load_element<E>(at[3] + b);
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
  with_element_of(out.itemsize, [&]<class E>() { loop.run_parallel(select_row<E>); });
}

}  // namespace tenon
