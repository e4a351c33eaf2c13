#include "tenon/nn/slots.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nn/clone.h"
#include "nn/extras.h"
#include "nn/registration_hooks.h"
#include "nn/slot_editor.h"
#include "tenon/body.h"
#include "tenon/error.h"
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
               Slot* slot) noexcept {
  const auto at = std::find(originals.begin(), originals.end(), original) - originals.begin();
  slots[static_cast<std::size_t>(at)] = slot;
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
  if (owner_ == nullptr) return;
  if (registered_) owner_->name_removed(name_);
  take_out(kind_ == Kind::parameter ? owner_->parameters_ : owner_->buffers_, this);
}

void TensorSlot::assign(Tensor value) {
  const bool is_parameter = kind_ == Kind::parameter;
  if (is_parameter && value.defined()) {
    if (!value.is_parameter()) {
      throw TypeError(concat("cannot assign a plain ", value.body().type_name(), " as parameter '",
                             name_,
                             "' (torch.nn.Parameter or None expected): wrap it with "
                             "nn::make_parameter"));
    }
    if (!value.is_leaf()) {
      throw ValueError(concat("Cannot assign non-leaf Tensor to parameter '", name_,
                              "': what is calculated from other tensors belongs into forward()"));
    }
  }
  if (!registered_) owner_->check_name(name_, is_parameter ? "parameter" : "buffer");
  if (value.defined()) value = detail::registered(*owner_, name_, std::move(value), kind_);
  value_ = std::move(value);
  if (!registered_) {
    owner_->name_added({this, nullptr});
    registered_ = true;
    if (std::exchange(removed_, false))
      move_to_end(is_parameter ? owner_->parameters_ : owner_->buffers_, this);
  }
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
  if (owner_ != nullptr) {
    if (registered_) owner_->name_removed(name_);
    take_out(owner_->children_, this);
  }
  if (module_) --module_->places_;
}

void ChildSlot::assign(std::shared_ptr<Module> module) {
  if (!registered_) owner_->check_name(name_, "module");
  if (module) module = detail::registered(*owner_, name_, std::move(module));
  if (!accepts(module.get())) {
    throw TypeError(concat("cannot assign a ", module->type_name(), " as child module '", name_,
                           "', which is a place for a ", class_name(),
                           ": declare it Child<Layer>, or Child<Module>, if it is to hold others"));
  }
  if (module) {
    // Nothing contains a module that is in no other.
    if (module.get() == owner_ || owner_->places_ > 0) {
      const std::vector<Module*> inside = module->modules();
      if (std::find(inside.begin(), inside.end(), owner_) != inside.end()) {
        throw ValueError(concat("cannot put a ", module->type_name(), " into the ",
                                owner_->type_name(), " under '", name_,
                                "': it contains that module itself, and modules in a circle never "
                                "end"));
      }
    }
    ++module->places_;
  }
  if (module_) --module_->places_;
  module_ = std::move(module);
  if (!registered_) {
    owner_->name_added({nullptr, this});
    registered_ = true;
    if (std::exchange(removed_, false)) move_to_end(owner_->children_, this);
  }
}

void ChildSlot::throw_null() const {
  throw Error(concat("the child '", name_, "' of this ", owner_->type_name(),
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
