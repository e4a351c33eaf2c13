#include "base/thread_state.h"

namespace tenon {

ThreadState& thread_state() noexcept {
  constinit thread_local ThreadState state;
  return state;
}

}  // namespace tenon
