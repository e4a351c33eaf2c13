// The column `node` of the tables of functions (tenon/detail/function_names.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "kernels/function_table.h"
#include "tenon/detail/function_names.h"

namespace tenon {

#define TENON_ROW(name, node, ...) node,
inline constexpr std::string_view kUnaryNodes[] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
inline constexpr std::string_view kBinaryNodes[] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW

// The node that the in-place form records; empty if there is no gradient.
constexpr std::string_view in_place_node(UnaryFunction function) {
  return kUnaryNodes[static_cast<std::size_t>(function)];
}
constexpr std::string_view in_place_node(BinaryFunction function) {
  return kBinaryNodes[static_cast<std::size_t>(function)];
}
// The node that the form that makes a tensor records. A boolean result has no gradient, but written
// over a number it ends the history of that number.
template <class Function>
constexpr std::string_view new_node(Function function) {
  return answers(function) ? std::string_view() : in_place_node(function);
}

}  // namespace tenon
