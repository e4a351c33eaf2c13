#include "tenon/nn/slots.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nn/clone.h"
#include "nn/extras.h"
#include "nn/registration_hooks.h"
#include "nn/slot_editor.h"
#include "nn/tree_guard.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/nn/module.h"
#include "tenon/nn/parameter.h"

namespace tenon::nn {

namespace {

// Slots go in the reverse of the order they came in.
template <class Slot>
void take_out(std::vector<Slot*>& slots, Slot* slot) noexcept {
  const auto found = std::find(slots.rbegin(), slots.rend(), slot);
  if (found != slots.rend()) slots.erase(std::next(found).base());
}

template <class Slot>
void put_in(std::vector<Slot*>& slots, Slot* slot) {
  if (slots.capacity() == 0) slots.reserve(4);
  slots.push_back(slot);
}

// Python's del takes an entry out of its place: what is there again comes last.
template <class Slot>
void move_to_end(std::vector<Slot*>& slots, Slot* slot) noexcept {
  const auto at = std::find(slots.begin(), slots.end(), slot);
  std::rotate(at, std::next(at), slots.end());
}

// A clone's slot goes where the original's is.
template <class Slot>
void put_where(std::vector<Slot*>& slots, const std::vector<Slot*>& originals, const Slot* original,
               Slot* slot) {
  const auto at = static_cast<std::size_t>(std::find(originals.begin(), originals.end(), original) -
                                           originals.begin());
  if (at >= slots.size() || slots[at] != nullptr)
    throw Error("a module changed while it was being cloned: its slots came or went");
  slots[at] = slot;
}

detail::Guard::Entries entries_of(TensorSlot::Kind kind) noexcept {
  return kind == TensorSlot::Kind::parameter ? detail::Guard::kParameters : detail::Guard::kBuffers;
}

}  // namespace

TensorSlot::TensorSlot(Module* owner, std::string_view name, Kind kind, bool persistent)
    : name_(name), owner_(owner), kind_(kind), persistent_(persistent) {
  put_in(kind == Kind::parameter ? owner->parameters_ : owner->buffers_, this);
}

TensorSlot::TensorSlot(const TensorSlot& other)
    : name_(other.name_),
      owner_(detail::CloneRun::current().owner_of(this, &other, other.owner_)),
      value_(detail::CloneRun::current().copy(other.value_)),
      kind_(other.kind_),
      persistent_(other.persistent_),
      registered_(other.registered_),
      removed_(other.removed_) {
  if (registered_) owner_->name_added({this, nullptr});
  if (kind_ == Kind::parameter) {
    put_where(owner_->parameters_, other.owner_->parameters_, &other, this);
  } else {
    put_where(owner_->buffers_, other.owner_->buffers_, &other, this);
  }
}

TensorSlot::~TensorSlot() {
  detail::GuardList::slot_destroyed(this);
  if (owner_ == nullptr) return;
  if (registered_) {
    owner_->name_removed(name_);
    detail::GuardList::changed(owner_, entries_of(kind_));
  }
  take_out(kind_ == Kind::parameter ? owner_->parameters_ : owner_->buffers_, this);
}

void SlotEditor::check_value(std::string_view name, TensorSlot::Kind kind, const Tensor& value) {
  if (kind != TensorSlot::Kind::parameter || !value.defined()) return;
  if (!value.is_parameter()) {
    throw TypeError(concat("cannot assign a plain ", value.body().type_name(), " as parameter '",
                           name,
                           "' (torch.nn.Parameter or None expected): wrap it with "
                           "nn::make_parameter"));
  }
  if (!value.is_leaf()) {
    throw ValueError(concat("Cannot assign non-leaf Tensor to parameter '", name,
                            "': what is calculated from other tensors belongs into forward()"));
  }
}

void TensorSlot::assign(Tensor value) {
  const char* kind = kind_ == Kind::parameter ? "parameter" : "buffer";
  SlotEditor::check_value(name_, kind_, value);
  if (!registered_) owner_->check_name(name_, kind);
  if (value.defined() && detail::has_registration_hooks(kind_)) {
    const detail::Guard guard(static_cast<const void*>(this), "a value was assigned to it");
    value = detail::registered(*owner_, name_, std::move(value), kind_);
    guard.check();
    if (!registered_) owner_->check_name(name_, kind);
  }
  SlotEditor::put(*this, std::move(value));
}

// What was there goes last, because its destructor may be somebody's code.
void SlotEditor::put(TensorSlot& slot, Tensor value) {
  if (!slot.registered_) {
    Module& owner = *slot.owner_;
    owner.name_added({&slot, nullptr});
    slot.registered_ = true;
    if (std::exchange(slot.removed_, false)) {
      move_to_end(slot.kind_ == TensorSlot::Kind::parameter ? owner.parameters_ : owner.buffers_,
                  &slot);
    }
    detail::GuardList::changed(&owner, entries_of(slot.kind_));
  }
  std::swap(slot.value_, value);
  detail::GuardList::rebound(&slot);
}

Parameter::Parameter(Module* owner, std::string_view name, const Tensor& value)
    : Parameter(owner, name) {
  *this = value.defined() && !value.is_parameter() ? make_parameter(value) : value;
}

Parameter& Parameter::operator=(const Tensor& parameter) {
  assign(parameter);
  return *this;
}

Buffer::Buffer(Module* owner, std::string_view name, const Tensor& value, BufferOptions options)
    : Buffer(owner, name, options) {
  *this = value;
}

Buffer& Buffer::operator=(const Tensor& tensor) {
  assign(tensor);
  return *this;
}

ChildSlot::ChildSlot(Module* owner, std::string_view name) : name_(name), owner_(owner) {
  put_in(owner->children_, this);
}

ChildSlot::ChildSlot(const ChildSlot& other)
    : name_(other.name_),
      owner_(detail::CloneRun::current().owner_of(this, &other, other.owner_)),
      module_(detail::CloneRun::current().copy(other.module_)),
      registered_(other.registered_),
      removed_(other.removed_) {
  if (registered_) owner_->name_added({nullptr, this});
  if (module_) ++module_->places_;
  put_where(owner_->children_, other.owner_->children_, &other, this);
}

ChildSlot::~ChildSlot() {
  detail::GuardList::destroyed(this);
  if (owner_ != nullptr) {
    if (registered_) {
      owner_->name_removed(name_);
      detail::GuardList::changed(owner_, detail::Guard::kChildren);
    }
    take_out(owner_->children_, this);
  }
  detail::GuardList::let_go(module_);
  if (module_) --module_->places_;
}

void ChildSlot::assign(std::shared_ptr<Module> module) {
  if (!registered_) owner_->check_name(name_, "module");
  if (module) {
    const detail::Guard guard(static_cast<const void*>(this), "a module was assigned to it");
    module = detail::registered(*owner_, name_, std::move(module));
    guard.check();
  }
  SlotEditor::put(*this, std::move(module));
}

void SlotEditor::put(ChildSlot& slot, std::shared_ptr<Module> module) {
  const detail::Guard guard(static_cast<const void*>(&slot), "a module was assigned to it");
  const bool accepted = slot.accepts(module.get());
  guard.check();
  Module& owner = *slot.owner_;
  if (!accepted) {
    throw TypeError(concat("cannot assign a ", module->type_name(), " as child module '",
                           slot.name_, "', which is a place for a ", slot.class_name(),
                           ": declare it Child<Layer>, or Child<Module>, if it is to hold others"));
  }
  // Nothing contains a module that is in no other.
  if (module && (module.get() == &owner || owner.places_ > 0)) {
    const std::vector<Module*> inside = module->modules();
    if (std::find(inside.begin(), inside.end(), &owner) != inside.end()) {
      throw ValueError(concat("cannot put a ", module->type_name(), " into the ", owner.type_name(),
                              " under '", slot.name_,
                              "': it contains that module itself, and modules in a circle never "
                              "end"));
    }
  }
  if (!slot.registered_) {
    owner.check_name(slot.name_, "module");  // user code may have taken it since
    owner.name_added({nullptr, &slot});
    slot.registered_ = true;
    if (std::exchange(slot.removed_, false)) move_to_end(owner.children_, &slot);
    detail::GuardList::changed(&owner, detail::Guard::kChildren);
  }
  if (module) ++module->places_;
  if (slot.module_) --slot.module_->places_;
  detail::GuardList::let_go(slot.module_);
  // What was there goes last, because its destructor may be somebody's code.
  slot.module_.swap(module);
}

void ChildSlot::throw_null() const {
  const std::string name(name_);  // type_name() may be user code
  throw Error(concat("the child '", name, "' of this ", owner_->type_name(),
                     " is None: assign a module to it before it is used"));
}

// The slots that register_* makes are ordinary ones on the heap.
TensorSlot& SlotEditor::make_parameter(Module& owner, std::string_view name) {
  auto* slot = new Parameter(&owner, name);
  slot->dynamic_ = true;
  return *slot;
}

TensorSlot& SlotEditor::make_buffer(Module& owner, std::string_view name, bool persistent) {
  auto* slot = new Buffer(&owner, name, BufferOptions{.persistent = persistent});
  slot->dynamic_ = true;
  return *slot;
}

ChildSlot& SlotEditor::make_child(Module& owner, std::string_view name) {
  class Anything final : public ChildSlot {
   public:
    using ChildSlot::ChildSlot;

   private:
    bool accepts(const Module* module) const override {
      owner().check_child(module);
      return true;
    }
    std::string class_name() const override { return "Module"; }
  };
  ChildSlot* slot = new Anything(&owner, name);
  slot->dynamic_ = true;
  return *slot;
}

void SlotEditor::number_children(Module& module) {
  const auto& slots = module.children_;
  bool numbered = true;
  for (std::size_t i = 0; i < slots.size() && numbered; ++i)
    numbered = slots[i]->name_ == concat(i);
  if (numbered) return;
  for (const ChildSlot* slot : slots) module.name_removed(slot->name_);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i]->name_ = concat(i);
  for (ChildSlot* slot : slots) module.name_added({nullptr, slot});
}

bool SlotEditor::is_complete(const Module& module) noexcept {
  const auto filled = [](const auto& slots) {
    return std::find(slots.begin(), slots.end(), nullptr) == slots.end();
  };
  return filled(module.parameters_) && filled(module.buffers_) && filled(module.children_);
}

}  // namespace tenon::nn
