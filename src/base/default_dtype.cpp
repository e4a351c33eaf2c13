#include "tenon/default_dtype.h"

#include <atomic>

#include "base/text.h"
#include "base/thread_state.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constinit std::atomic<DType> process_default{float32};

void check_default(DType dtype) {
  if (!is_floating_point(dtype) || itemsize(dtype) == 1) {
    throw DTypeError(concat("the default dtype must be float64, float32, float16 or bfloat16, not ",
                            repr(dtype)));
  }
}

}  // namespace

DType get_default_dtype() noexcept {
  const ThreadState& state = thread_state();
  return state.scope_dtype.value_or(process_default.load(std::memory_order_relaxed));
}

void set_default_dtype(DType dtype) {
  check_default(dtype);
  process_default.store(dtype, std::memory_order_relaxed);
}

DTypeScope::DTypeScope(DType dtype) : saved_(thread_state().scope_dtype) {
  check_default(dtype);
  thread_state().scope_dtype = dtype;
}

DTypeScope::~DTypeScope() { thread_state().scope_dtype = saved_; }

}  // namespace tenon
