#include "kernels/elementwise.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "kernels/elementwise_tables.h"
#include "kernels/function_table.h"
#include "kernels/pieces.h"
#include "kernels/streaming.h"

namespace tenon {

namespace {

// The function whose kernel is called with the operands exchanged: a > b is b < a. Itself for all
// whose kernel is their own.
constexpr BinaryFunction exchanged(BinaryFunction function) {
  if (function == BinaryFunction::gt) return BinaryFunction::lt;
  if (function == BinaryFunction::ge) return BinaryFunction::le;
  return function;
}
constexpr bool is_reversed(BinaryFunction function) { return exchanged(function) != function; }

constexpr bool table_agrees() {
  for (std::size_t i = 0; i < kBinaryFunctions; ++i) {
    const auto function = static_cast<BinaryFunction>(i);
    if (is_reversed(function) != (traits_of(function).kernel == FunctionKernel::swapped))
      return false;
  }
  return true;
}
static_assert(table_agrees(), "a row whose kernel is `swapped` has its function in exchanged()");

BinaryRow row_of(BinaryFunction function, DType dtype) {
  function = exchanged(function);
  const BinaryRow simple = simple_binary_row(function, dtype);
  return simple != nullptr ? simple : math_binary_row(function, dtype);
}

UnaryRow row_of(UnaryFunction function, DType dtype) {
  const UnaryRow simple = simple_unary_row(function, dtype);
  return simple != nullptr ? simple : math_unary_row(function, dtype);
}

bool are_aligned(std::initializer_list<const void*> floats) {
  return std::all_of(floats.begin(), floats.end(), [](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0;
  });
}

}  // namespace

DType compute_dtype(DType dtype) {
  if (dtype == float16 || dtype == bfloat16) return float32;
  return dtype == complex32 ? complex64 : dtype;
}

namespace {

// The next number of a kind is not that of a finer one.
DType computed_in(BinaryFunction function, DType dtype) {
  return function == BinaryFunction::nextafter ? dtype : compute_dtype(dtype);
}

}  // namespace

bool has_binary(BinaryFunction function, DType dtype) {
  return row_of(function, computed_in(function, dtype)) != nullptr;
}
bool has_unary(UnaryFunction function, DType dtype) {
  return row_of(function, compute_dtype(dtype)) != nullptr;
}

DType result_of(BinaryFunction function, DType dtype) { return answers(function) ? bool_ : dtype; }
DType result_of(UnaryFunction function, DType dtype) {
  if (answers(function)) return bool_;
  return makes_real(function) ? to_real(dtype) : dtype;
}

void apply(BinaryFunction function, DType dtype, std::span<const std::int64_t> shape,
           const TypedOperand& out, const TypedOperand& a, const TypedOperand& b) {
  const DType computed = computed_in(function, dtype);
  const BinaryRow row = row_of(function, computed);
  const TypedOperand &first = is_reversed(function) ? b : a,
                     &second = is_reversed(function) ? a : b;
  const Loop<3> loop(shape, {out.place, first.place, second.place});
  run_converted<3>(
      loop, {out.dtype, first.dtype, second.dtype}, computed, result_of(function, computed),
      [&](const Loop<3>::Pointers& at, const Loop<3>::Strides& strides, std::int64_t n) {
        row({at[0], at[1], at[2], strides[0], strides[1], strides[2]}, n);
      });
}

void apply_packed(BinaryFunction function, DType dtype, std::int64_t n, void* out, const void* a,
                  const void* b) {
  BinaryRow row = row_of(function, dtype);
  if (is_reversed(function)) std::swap(a, b);
  const std::int64_t in = itemsize(dtype), result = itemsize(result_of(function, dtype));
  if (dtype == float32 && n * result >= kStreamedBytes && are_aligned({out, a, b})) {
    if (const BinaryRow streamed = streamed_binary_row(function)) row = streamed;
  }
  parallel_for(0, n, Loop<3>::kGrain, [&](std::int64_t first, std::int64_t last) {
    row({static_cast<std::byte*>(out) + first * result,
         static_cast<const std::byte*>(a) + first * in,
         static_cast<const std::byte*>(b) + first * in, result, in, in},
        last - first);
  });
}

void apply(UnaryFunction function, DType dtype, std::span<const std::int64_t> shape,
           const TypedOperand& out, const TypedOperand& a) {
  const DType computed = compute_dtype(dtype);
  const UnaryRow row = row_of(function, computed);
  const Loop<2> loop(shape, {out.place, a.place});
  run_converted<2>(loop, {out.dtype, a.dtype}, computed, result_of(function, computed),
                   [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides,
                       std::int64_t n) { row({at[0], at[1], strides[0], strides[1]}, n); });
}

}  // namespace tenon
