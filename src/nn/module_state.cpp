// Module::state_dict: what a module is, by name.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/held_state.h"
#include "core/uninitialized.h"
#include "nn/extras.h"
#include "nn/slot_editor.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

namespace {

// Gathers a tree's state. Metadata is collected beside it, because a StateDict's cannot be added
// to; none is where the destination has none.
class Gather {
 public:
  Gather(StateDict& destination, bool keep_vars)
      : destination_(destination), keep_vars_(keep_vars) {
    take_metadata();
  }

  void from(Module& module, std::string& prefix) {
    // The name of the module: its prefix without the dot.
    const Value name(prefix.empty() ? std::string() : prefix.substr(0, prefix.size() - 1));
    detail::Guard guard(module, "state_dict() was running");
    const Value notes = Value::dict({{version_, Value(module.version())}});
    guard.check();
    if (metadata_) metadata_->emplace_back(name, notes);
    // The first hook of any kind makes them, so user code may.
    const detail::ModuleExtras* extras = SlotEditor::extras(module);
    if (extras != nullptr)
      extras->state_dict_pre.run(guard, module, std::as_const(prefix), keep_vars_);
    SlotEditor::save_to_state_dict(module, destination_, prefix, keep_vars_);
    guard.check();
    take_nested();
    guard.begin(detail::Guard::kChildren);
    for (std::size_t i = 0; i < module.child_slots().size(); ++i) {
      const ChildSlot* slot = module.child_slots()[i];
      if (!slot->defined()) continue;
      const std::size_t length = prefix.size();
      prefix += slot->name();
      prefix += '.';
      from(*slot->module(), prefix);
      guard.check(detail::Guard::kChildren);
      prefix.resize(length);
    }
    extras = SlotEditor::extras(module);
    if (extras != nullptr && !extras->state_dict_post.empty()) {
      // Hooks see the metadata that is there so far, and may change it.
      if (metadata_) destination_.set_metadata(Value::ordered_dict(*metadata_));
      extras->state_dict_post.run(guard, module, destination_, std::as_const(prefix), notes);
      take_metadata();
    }
  }
  void finish() {
    if (metadata_) destination_.set_metadata(Value::ordered_dict(*std::move(metadata_)));
  }

 private:
  void take_metadata() {
    metadata_.reset();
    known_ = destination_.metadata();
    count_ = 0;
    if (destination_.metadata().is_none()) return;
    const auto entries = destination_.metadata().entries();
    metadata_.emplace(entries.begin(), entries.end());
    count_ = entries.size();
  }
  // An override of save_to_state_dict may call another module's state_dict, which adds to what the
  // destination has.
  void take_nested() {
    if (destination_.metadata().identity() == known_.identity()) return;
    if (!metadata_ || destination_.metadata().is_none()) return take_metadata();
    known_ = destination_.metadata();
    const auto entries = known_.entries();
    for (std::size_t i = std::min(count_, entries.size()); i < entries.size(); ++i)
      metadata_->push_back(entries[i]);
    count_ = entries.size();
  }

  StateDict& destination_;
  bool keep_vars_;
  Value version_{"version"};  // one text for all, as in PyTorch's files
  std::optional<std::vector<Value::Entry>> metadata_;
  // The destination's metadata that has been taken over, and how many entries it has. It is held,
  // so that no other can have its identity.
  Value known_;
  std::size_t count_ = 0;
};

}  // namespace

void Module::save_to_state_dict(StateDict& destination, const std::string& prefix,
                                bool keep_vars) const {
  detail::Guard guard(*this, "state_dict() was running");
  std::string key = prefix;
  const auto put = [&](const TensorSlot& slot) {
    if (!slot.defined() || !slot.persistent()) return;
    key.resize(prefix.size());
    key += slot.name();
    const Tensor& own = slot.get();
    // One without a shape is there itself: there is nothing to be detached.
    if (keep_vars || is_uninitialized(own)) {
      destination.set(key, own);
    } else if (own.body().is_wrapper()) {
      destination.set(key, Tensor(own).detach());  // its class's code, which may empty the slot
    } else {
      destination.set(key, own.detach());
    }
  };
  const auto put_all = [&](const std::vector<TensorSlot*>& slots, detail::Guard::Entries entries) {
    guard.begin(entries);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      put(*slots[i]);
      guard.check(entries);
    }
  };
  put_all(parameters_, detail::Guard::kParameters);
  put_all(buffers_, detail::Guard::kBuffers);
  if (auto extra = get_extra_state())
    destination.set(concat(prefix, detail::kExtraState), *std::move(extra));
}

StateDict Module::state_dict(const StateDictOptions& options) const {
  StateDict state;
  state.set_metadata(Value::ordered_dict({}));
  state_dict(state, options);
  return state;
}

void Module::state_dict(StateDict& destination, const StateDictOptions& options) const {
  // Hooks may do anything to the destination, which stays what it is until all is gathered.
  const HeldState held(destination);
  StateDict gathered(destination);
  Gather gather(gathered, options.keep_vars);
  std::string prefix = options.prefix;
  gather.from(const_cast<Module&>(*this), prefix);
  gather.finish();
  if (!held.is(destination)) {
    throw Error(
        "state_dict: the destination was changed or destroyed by user code that was running; "
        "change the state that hooks are given");
  }
  destination = std::move(gathered);
}

}  // namespace tenon::nn
