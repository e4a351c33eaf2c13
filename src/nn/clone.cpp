#include "nn/clone.h"

#include <utility>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "nn/slot_editor.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/flattened.h"
#include "tenon/extend/wrapper.h"
#include "tenon/nn/module.h"

namespace tenon::nn::detail {

namespace {

constinit thread_local CloneRun* running = nullptr;

const std::byte* address_of(const void* object) noexcept {
  return static_cast<const std::byte*>(object);
}

}  // namespace

CloneRun::CloneRun(const Module& root)
    : tree_(root, "it was cloned"), shared_(root), outer_(std::exchange(running, this)) {}
CloneRun::~CloneRun() { running = outer_; }

CloneRun& CloneRun::current() {
  if (running == nullptr) {
    throw Error(
        "a module is not copied by its constructor, because hooks, parents and tied weights refer "
        "to "
        "it: nn::clone(module) makes another one");
  }
  return *running;
}

std::shared_ptr<Module> CloneRun::clone(const Module& root) {
  // A module that is cloned while another is, by somebody's copy constructor, is part of that
  // clone.
  if (running != nullptr) return running->copy(root);
  CloneRun run(root);
  return run.copy(root);
}

std::shared_ptr<Module> CloneRun::replica(const Module& root, const std::vector<Tensor>& shared) {
  CloneRun run(root);
  for (const Tensor& tensor : shared)
    run.tensors_.emplace(tensor.cell().get(), Copied{tensor, tensor});
  return run.copy(root);
}

bool CloneRun::is_inside(const void* address) const noexcept {
  const std::byte* at = address_of(address);
  return at >= begin_ && at < begin_ + size_;
}

void CloneRun::check_inside(const Module& original) const {
  if (is_inside(&original)) return;
  throw Error(concat("a ", original.type_name(),
                     " is copied by its constructor while another module is being cloned: put it "
                     "into a Child, which knows how it is cloned"));
}

Module* CloneRun::owner_of(const void* copy, const void* original, const Module* owner) const {
  if (!is_inside(original) || !is_inside(owner)) {
    throw Error(
        "a slot that is not a member of its module cannot be cloned: use ModuleList, "
        "ParameterList, "
        "register_parameter or register_buffer for what there may be several of");
  }
  const std::ptrdiff_t offset = address_of(original) - address_of(owner);
  // The copy is under construction in an object of the same class, so its module is there too.
  auto* at = const_cast<std::byte*>(address_of(copy)) - offset;
  if (!begun_.contains(at)) {
    throw Error(
        "a slot was copied to somewhere outside of the module that is being cloned: a copy "
        "constructor copies members, and nothing else");
  }
  return reinterpret_cast<Module*>(at);
}

void CloneRun::check(const Guard& guard) {
  for (const Guard::Entries entries : {Guard::kParameters, Guard::kBuffers, Guard::kChildren})
    guard.check(entries);
}

std::shared_ptr<Module> CloneRun::copy(const std::shared_ptr<Module>& original) {
  return original ? copy(*original) : nullptr;
}

std::shared_ptr<Module> CloneRun::copy(const Module& original) {
  if (const auto found = modules_.find(&original); found != modules_.end()) return found->second;
  const ExactType* type = SlotEditor::exact_type(original);
  if (type == nullptr || *type->type != typeid(original)) {
    throw Error(
        concat("this ", original.type_name(),
               " cannot be cloned: how to copy its class is not known. Make it with "
               "nn::make or in a Child of that class, and leave its copy constructor there"));
  }
  const auto outer_begin = std::exchange(begin_, address_of(dynamic_cast<const void*>(&original)));
  const auto outer_size = std::exchange(size_, type->size);
  Guard guard(original, "it was cloned");
  Guard* const outer_guard = std::exchange(guard_, &guard);
  struct Restore {
    CloneRun& run;
    const std::byte* begin;
    std::size_t size;
    Guard* guard;
    ~Restore() {
      run.begin_ = begin;
      run.size_ = size;
      run.guard_ = guard;
    }
  } const restore{*this, outer_begin, outer_size, outer_guard};
  auto copied = type->copy(original);
  check(guard);
  if (outer_guard != nullptr) check(*outer_guard);
  if (!SlotEditor::is_complete(*copied)) {
    throw Error(concat("this ", original.type_name(),
                       " cannot be cloned: its own copy constructor leaves out some of its slots"));
  }
  modules_.emplace(&original, copied);
  return copied;
}

Tensor CloneRun::copy_wrapper(const Tensor& original) {
  const Ref<Body> held = original.cell()->body;  // its own code may swap it away
  const auto& body = static_cast<const WrapperBody&>(*held);
  if (auto parts = body.flatten(); parts && has_unflatten(body.type_name())) {
    for (auto& part : parts->tensors) part.second = copy(part.second);
    return unflatten(body.type_name(), *parts, body.layout());
  }
  const Tensor copied = original.detach().clone();
  if (copied.body().type_name() != body.type_name()) {
    throw TypeError(
        concat("this ", body.type_name(), " cannot be cloned: its clone() returned a ",
               copied.body().type_name(),
               ". It can be if it flattens (WrapperBody::flatten, register_unflatten)"));
  }
  return copied;
}

Tensor CloneRun::copy(const Tensor& given) {
  if (!given.defined()) return {};
  const Tensor original = given;  // its class's code may empty the slot that has it
  if (const auto found = tensors_.find(original.cell().get()); found != tensors_.end())
    return found->second.copy;
  if (!original.is_leaf()) {
    throw AutogradError(
        "only tensors that are leaves of the graph can be cloned with their module: a buffer was "
        "calculated from something that requires grad; detach() it");
  }
  const NoGradScope no_grad;
  Tensor copied;
  if (is_uninitialized(original)) {
    copied = uninitialized_like(original);
  } else if (original.body().is_wrapper()) {
    copied = copy_wrapper(original);
  } else {
    const auto shared =
        shared_.map(original, [](const Tensor& all) { return all.detach().clone(); });
    copied = shared ? *shared : original.detach().clone();
  }
  BodyEditor::set_parameter(copied.body(), original.is_parameter());
  BodyEditor::set_requires_grad(copied.body(), original.requires_grad());
  copy_attributes(original, copied);
  tensors_.emplace(original.cell().get(), Copied{original, copied});
  if (guard_ != nullptr) check(*guard_);
  return copied;
}

// Those of a file's tensor may be many: a copy that has none yet takes them over as a list, where
// one after the other would be looked for among those before it.
void CloneRun::copy_attributes(const Tensor& original, const Tensor& copied) {
  auto attributes = original.attributes();
  if (attributes.empty()) return;
  auto& own = BodyEditor::need_attributes(copied.body()).values;
  if (own.empty()) {
    own.swap(attributes);
  } else {
    for (auto& [name, value] : attributes) copied.set_attribute(name, std::move(value));
  }
}

std::shared_ptr<Module> clone_module(const Module& module) { return CloneRun::clone(module); }

}  // namespace tenon::nn::detail
