// A row of a function of one element, for the instruction set that is being compiled for. As
// binary_row-inl.h.
#if defined(TENON_KERNELS_UNARY_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_UNARY_ROW_INL_H_
#undef TENON_KERNELS_UNARY_ROW_INL_H_
#else
#define TENON_KERNELS_UNARY_ROW_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/element.h"
#include "kernels/elementwise.h"
#include "kernels/function_table.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// The result of F for elements of T is stored as bool, as the part of a complex number that it is,
// or as T.
template <class T, class C>
struct StoredAs {
  using Type = T;
};
template <class T>
struct StoredAs<T, bool> {
  using Type = bool;
};
template <class P>
struct StoredAs<std::complex<P>, P> {
  using Type = P;
};

template <class F, class T>
using Stored = typename StoredAs<T, decltype(F::Of(T()))>::Type;

template <class F, class T>
void Row(const UnaryOperands& row, std::int64_t n) {
  using R = Stored<F, T>;
  constexpr auto kOut = static_cast<std::int64_t>(sizeof(R));
  constexpr auto kIn = static_cast<std::int64_t>(sizeof(T));
  if (row.out_stride == kOut && row.a_stride == kIn) {
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(row.out + i * kOut, F::Of(load_element<T>(row.a + i * kIn)));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      store_element<R>(row.out + i * row.out_stride,
                       F::Of(load_element<T>(row.a + i * row.a_stride)));
  }
}

// The row of the function N, whose formula is F, for elements of the dtype.
template <UnaryFunction N, class F>
UnaryRow RowFor(DType dtype) {
  return row_for<UnaryRow, F>(dtype, []<class T>() -> UnaryRow {
    static_assert(std::same_as<Stored<F, T>, ResultElement<N, T>>,
                  "the row of the function in TENON_UNARY_FUNCTIONS has another result");
    return Row<F, T>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
