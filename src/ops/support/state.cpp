// What changes a tensor other than by writing elements: its data as a whole, and how a loaded value
// takes its place.
#include "ops/support/state.h"

#include <utility>

#include "base/text.h"
#include "base/thread_state.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "dispatch/wrapper_order.h"
#include "tenon/error.h"
#include "tenon/extend/wrapper.h"
#include "tenon/tensor.h"

namespace tenon {

bool can_set_data(const Body& a, const Body& b) {
  if (a.is_wrapper() != b.is_wrapper()) return false;
  if (is_uninitialized(a) || is_uninitialized(b)) return is_uninitialized(a) && is_uninitialized(b);
  if (a.layout().device.is_meta() != b.layout().device.is_meta()) return false;
  return !a.is_wrapper() || *static_cast<const WrapperBody&>(a).wrapper_class().type ==
                                *static_cast<const WrapperBody&>(b).wrapper_class().type;
}

Tensor Tensor::variable_data() const {
  const Body& own = body();
  if (own.is_wrapper()) return detach();
  return Tensor(make_ref<Body>(Layout(own.layout()), Storage(own.storage())));
}

void Tensor::set_data(const Tensor& data) const {
  Body &own = body(), &other = data.body();
  if (!can_set_data(own, other)) {
    throw Error(concat("set_data: a ", own.type_name(), " on ", device().str(), " and a ",
                       other.type_name(), " on ", data.device().str(),
                       " have incompatible tensor type: use swap_tensors, or make a new tensor"));
  }
  if (requires_grad() && !is_differentiable(data.dtype())) {
    throw DTypeError(
        concat("data set to a tensor that requires gradients must be floating point or complex "
               "dtype, not ",
               tenon::repr(data.dtype())));
  }
  const Storage before = own.storage();  // goes last: its deleter may destroy this tensor
  const bool changes_kind = dtype() != data.dtype() || device() != data.device() ||
                            own.layout().shape != other.layout().shape;
  BodyEditor::set_layout(own, other.layout());
  BodyEditor::set_storage(own, other.storage());
  // A graph recorded before keeps its accumulator; graphs to come need one for what it is now.
  if (changes_kind) BodyEditor::forget_accumulator(own);
}

Tensor Tensor::module_load(const Tensor& given, bool assign) const {
  // Classes may destroy what the caller has.
  const Tensor both[] = {*this, given};
  const auto& [self, value] = both;
  const auto wrappers = wrappers_in_order(both);
  if (!wrappers.empty() && thread_state().overrides_enabled) {
    for (const HeldWrapper& wrapper : wrappers) {
      if (auto loaded = wrapper->module_load(self, value, assign)) return *std::move(loaded);
    }
    throw NotImplementedError(
        concat("no implementation found for 'module_load' on types that define their own: [",
               joined_type_names(both), "]"));
  }
  return assign ? value.detach() : self.copy_(value).detach();
}

}  // namespace tenon
