#include "base/user_code.h"

#include <exception>

namespace tenon {

namespace {

using Function = void (*)();
constinit thread_local Function after = nullptr;

}  // namespace

void set_after_user_code(void (*function)()) noexcept { after = function; }

void after_user_code() {
  // What unwinds is on its way out already, and a second exception would end the program.
  if (after != nullptr && std::uncaught_exceptions() == 0) after();
}

}  // namespace tenon
