#include "tenon/nn/lazy.h"

#include <new>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon::nn {

void detail::throw_no_initialization(const Module& module) {
  throw NotImplementedError(
      concat("initialize_parameters is not implemented for ", module.type_name()));
}

LazyModuleMixin::~LazyModuleMixin() = default;

bool LazyModuleMixin::has_uninitialized_params() const {
  const Module& module = itself();
  for (const TensorSlot* slot : module.parameter_slots()) {
    if (is_lazy(slot->get())) return true;
  }
  for (const TensorSlot* slot : module.buffer_slots()) {
    if (is_lazy(slot->get())) return true;
  }
  return false;
}

Shape LazyModuleMixin::shape_for(const TensorSlot& /*slot*/, const Shape& incoming,
                                 const ShapeOf& /*shape_of*/) const {
  return incoming;
}

bool LazyModuleMixin::sizes_from_tensors() { return false; }

void LazyModuleMixin::initialized() {
  if (has_uninitialized_params())
    throw Error(concat("module ", itself().type_name(), " has not been fully initialized"));
  remove_hook();
  waiting_ = false;
}

void LazyModuleMixin::loaded() {
  const detail::Guard guard(itself(), "a load told it its sizes");
  const bool complete = sizes_from_tensors();
  guard.check();
  if (!complete || !waiting_ || has_uninitialized_params()) return;
  try {
    initialized();
  } catch (const std::bad_alloc&) {
    // The load is done. Its hook goes at the first call, which has nothing else to do.
  }
}

}  // namespace tenon::nn
