// How deep values may be nested for what has to go down into them.
#pragma once

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

// Python gives up at this depth too. Destruction has no such limit.
inline constexpr int kMaxDepth = 1000;

[[noreturn]] inline void too_deep() {
  throw ValueError(concat("the value is nested in more than ", kMaxDepth, " levels"));
}

}  // namespace tenon
