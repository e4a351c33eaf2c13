// The functions of elements: new ones, in place, and into another tensor.
#include <string>
#include <utility>

#include "ops/meta_dtypes.h"
#include "tenon/detail/function_names.h"
#include "tenon/tenon.h"

namespace tenon {

Named<OfOne> functions_of_elements() {
  return {
#define TENON_ROW(name, node, result, kernel, autocast, forms) \
  {#name, [](const Tensor& x) { return x.name(); }},           \
      TENON_IF_##forms(                                        \
          {#name "_", [](const Tensor& x) -> Tensor { return x.clone().name##_(); }}, )
      TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
#define TENON_ROW(name, ...)                               \
  {#name " 1", [](const Tensor& x) { return x.name(1); }}, \
      {#name " 1.5", [](const Tensor& x) { return x.name(1.5); }},
          TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  };
}

Named<OfTwo> functions_of_two_elements() {
  return {
#define TENON_ROW(name, node, result, kernel, autocast, forms)                      \
  {#name, [](const Tensor& x, const Tensor& y) { return x.name(y); }},              \
      TENON_IF_##forms({#name "_", [](const Tensor& x, const Tensor& y) -> Tensor { \
                          return x.clone().name##_(y);                              \
                        }}, )
      TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
#define TENON_ROW(name, ...) \
  {#name "_out",             \
   [](const Tensor& x, const Tensor& y) -> Tensor { return name##_out(y.clone(), x); }},
          TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
#define TENON_ROW(name, ...) \
  {#name "_out",             \
   [](const Tensor& x, const Tensor& y) -> Tensor { return name##_out(y.clone(), x, x); }},
              TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  };
}

}  // namespace tenon
