// Arguments that a function has for itself.
#pragma once

#include <tuple>
#include <utility>

#include "tenon/extend/op_arguments.h"

namespace tenon {

// Note [Arguments of one's own]
// The handler of a warning is user code, and so are an operator of a user-defined tensor and a
// device from outside the library. It may destroy the variables that arguments are references to,
// or give them other tensors. The dispatcher has copies while it asks classes; a function that goes
// on with its arguments after a warning, or calls several operators without being one, has them
// too. What warns only if something is unusual copies only then.

// Calls f with copies of the arguments; of a view of text with the text.
template <class F, class... A>
decltype(auto) with_own(F&& f, const A&... args) {
  const std::tuple<detail::HeldArgument<A>...> own{detail::held_argument(args)...};
  return std::apply(std::forward<F>(f), own);
}

}  // namespace tenon
