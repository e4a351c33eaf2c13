// How a layer's text says what a user may give as a number or as a tuple.
#pragma once

#include <string>

#include "base/text.h"
#include "tenon/shape.h"

namespace tenon::nn {

// "3" or "(3, 2)"; "None" for nothing.
inline std::string number_or_tuple(const Dims& given) {
  if (given.empty()) return "None";
  return given.size() == 1 ? concat(given[0]) : given.repr();
}

}  // namespace tenon::nn
