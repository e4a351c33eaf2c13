// Sums and products of all elements up to each.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/element.h"
#include "kernels/reduce.h"
#include "kernels/reducers.h"

namespace tenon {

namespace {

template <class F>
void with_accumulator(ReduceFunction function, DType dtype, F&& f) {
  visit(dtype, [&]<class T>() {
    if constexpr (!is_opaque_type<T> && !std::same_as<T, bool>) {
      if (function == ReduceFunction::sum)
        f.template operator()<T, reducers::Sum<T>>();
      else
        f.template operator()<T, reducers::Prod<T>>();
    }
  });
}

}  // namespace

void accumulate(ReduceFunction function, std::span<const std::int64_t> shape, std::size_t dim,
                const Operand& in, const Operand& out, DType dtype) {
  std::vector<std::int64_t> rest(shape.begin(), shape.end());
  const std::int64_t length = rest[dim];
  rest[dim] = 1;
  const Loop<2> loop(rest, {out, in});
  if (length == 0) return;
  const std::int64_t out_step = out.strides[dim] * out.itemsize;
  const std::int64_t in_step = in.strides[dim] * in.itemsize;
  with_accumulator(function, dtype, [&]<class T, class Reducer>() {
    const Reducer reducer{ReduceParameters()};
    const std::int64_t grain = std::max<std::int64_t>(1, 32768 / length);
    parallel_for(0, loop.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      loop.run(begin, end, [&](const auto& at, const auto& strides, std::int64_t n) {
        for (std::int64_t line = 0; line < n; ++line) {
          std::byte* to = at[0] + line * strides[0];
          const std::byte* from = at[1] + line * strides[1];
          auto acc = reducer.start();
          for (std::int64_t i = 0; i < length; ++i) {
            reducer.step(acc, load_element<T>(from + i * in_step), i);
            const T element = convert<T>(reducer.result(acc));
            std::memcpy(to + i * out_step, &element, sizeof element);
          }
        }
      });
    });
  });
}

}  // namespace tenon
