// User code (operators of user-defined tensors, the handler of warnings) may destroy an object
// whose function, further out on the stack, has called what runs it. What calls user code is below
// the layer that knows of such objects, which leaves a function here (src/nn/tree_guard.cpp).
#pragma once

#include "tenon/detail/api.h"

namespace tenon {

// Of this thread. None until there is something to look at, which is hardly ever.
TENON_API void set_after_user_code(void (*function)()) noexcept;
// To be called when user code has returned. Error if what called it must not go on.
TENON_API void after_user_code();

}  // namespace tenon
