// A row of a function of two elements, for the instruction set that is being compiled for. Included
// once for each by sources that Highway compiles several times, and once by others.
#if defined(TENON_KERNELS_BINARY_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_BINARY_ROW_INL_H_
#undef TENON_KERNELS_BINARY_ROW_INL_H_
#else
#define TENON_KERNELS_BINARY_ROW_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/element.h"
#include "kernels/elementwise.h"
#include "kernels/function_table.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// F says which types it takes (F::template takes<T>) and what it does (F::Of(a, b)). What comes out
// is stored as T, or as bool if that is what Of returns.
template <class F, class T>
using ResultOf = std::conditional_t<std::same_as<decltype(F::Of(T(), T())), bool>, bool, T>;

template <class F, class T>
void Row(const BinaryOperands& row, std::int64_t n) {
  using R = ResultOf<F, T>;
  constexpr auto kOut = static_cast<std::int64_t>(sizeof(R));
  constexpr auto kIn = static_cast<std::int64_t>(sizeof(T));
  // An operand may be what is written, element for element: each is read before it is written,
  // which is what compilers make of this promise too.
  std::byte* HWY_RESTRICT out = row.out;
  const std::byte *a = row.a, *b = row.b;
  if (row.out_stride == kOut && row.a_stride == kIn && row.b_stride == kIn) {
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(out + i * kOut,
                       F::Of(load_element<T>(a + i * kIn), load_element<T>(b + i * kIn)));
  } else if (row.out_stride == kOut && row.a_stride == kIn && row.b_stride == 0) {
    const auto y = load_element<T>(b);
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(out + i * kOut, F::Of(load_element<T>(a + i * kIn), y));
  } else if (row.out_stride == kOut && row.a_stride == 0 && row.b_stride == kIn) {
    const auto x = load_element<T>(a);
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(out + i * kOut, F::Of(x, load_element<T>(b + i * kIn)));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(out + i * row.out_stride, F::Of(load_element<T>(a + i * row.a_stride),
                                                       load_element<T>(b + i * row.b_stride)));
  }
}

// The row of the function N, whose formula is F, for elements of the dtype.
template <BinaryFunction N, class F>
BinaryRow RowFor(DType dtype) {
  return row_for<BinaryRow, F>(dtype, []<class T>() -> BinaryRow {
    static_assert(std::same_as<ResultOf<F, T>, ResultElement<N, T>>,
                  "the row of the function in TENON_BINARY_FUNCTIONS has another result");
    return Row<F, T>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
