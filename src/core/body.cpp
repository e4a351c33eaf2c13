#include "tenon/extend/body.h"

#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/thread_state.h"
#include "core/body_editor.h"
#include "core/free_list.h"
#include "tenon/extend/flattened.h"

namespace tenon {

namespace detail {

VersionCounter::~VersionCounter() = default;
SaveCounter::~SaveCounter() = default;

VersionSlot::~VersionSlot() {
  const std::uintptr_t word = word_.load(std::memory_order_relaxed);
  if ((word & 1u) == 0) Ref<VersionCounter>::adopt(reinterpret_cast<VersionCounter*>(word));
}

std::uint64_t VersionSlot::value() const noexcept {
  const std::uintptr_t word = word_.load(std::memory_order_acquire);
  if ((word & 1u) != 0) return word >> 1;
  return reinterpret_cast<const VersionCounter*>(word)->value.load(std::memory_order_relaxed);
}

void VersionSlot::bump() noexcept {
  std::uintptr_t word = word_.load(std::memory_order_acquire);
  while ((word & 1u) != 0) {
    if (word_.compare_exchange_weak(word, word + 2, std::memory_order_acq_rel)) return;
  }
  reinterpret_cast<VersionCounter*>(word)->value.fetch_add(1, std::memory_order_relaxed);
}

VersionCounter* VersionSlot::counter() {
  std::uintptr_t word = word_.load(std::memory_order_acquire);
  if ((word & 1u) != 0) {
    auto fresh = make_ref<VersionCounter>(word >> 1);
    while (!word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(fresh.get()),
                                        std::memory_order_acq_rel)) {
      if ((word & 1u) == 0) return reinterpret_cast<VersionCounter*>(word);
      fresh->value.store(word >> 1, std::memory_order_relaxed);
    }
    return fresh.detach();
  }
  return reinterpret_cast<VersionCounter*>(word);
}

void VersionSlot::share(VersionSlot& other) {
  const std::uintptr_t before = word_.exchange(
      reinterpret_cast<std::uintptr_t>(Ref<VersionCounter>::share(other.counter()).detach()),
      std::memory_order_acq_rel);
  if ((before & 1u) == 0) Ref<VersionCounter>::adopt(reinterpret_cast<VersionCounter*>(before));
}

}  // namespace detail

namespace {

// Guards the pointer from a body back to its cell where more than one thread can be at it. Few
// bodies are ever contended for, so they share a few locks.
std::mutex& back_pointer_mutex(const Body& body) {
  static std::array<std::mutex, 64> mutexes;
  return mutexes[(reinterpret_cast<std::uintptr_t>(&body) >> 8) % mutexes.size()];
}

}  // namespace

Body::Body(Layout&& layout, Storage&& storage) noexcept
    : layout_(std::move(layout)), storage_(std::move(storage)) {}

Body::Body(Layout&& layout, Storage&& storage, std::uint16_t flags) noexcept
    : flags_(flags), layout_(std::move(layout)), storage_(std::move(storage)) {}

Body::~Body() {
  if (base_) base_->views_.fetch_sub(1, std::memory_order_release);
  delete autograd_.load(std::memory_order_relaxed);
  Ref<detail::SaveCounter>::adopt(saves_.load(std::memory_order_relaxed));
}

std::string Body::type_name() const { return "Tensor"; }
std::optional<std::string> Body::repr() const { return std::nullopt; }
std::optional<Flattened> Body::flatten() const { return std::nullopt; }
void Body::for_each_payload(const std::function<void(const Tensor&)>& /*visit*/) const {}

std::int64_t Body::live_saves() const noexcept {
  const detail::SaveCounter* counter = saves_.load(std::memory_order_acquire);
  return counter == nullptr ? 0 : counter->value.load(std::memory_order_acquire);
}

void* Body::operator new(std::size_t size) { return FreeList<Body>::allocate(size); }
void Body::operator delete(void* body, std::size_t size) noexcept {
  FreeList<Body>::release(body, size);
}

void* Body::operator new(std::size_t size, std::align_val_t alignment) {
  return ::operator new(size, alignment);
}
void Body::operator delete(void* body, std::size_t size, std::align_val_t alignment) noexcept {
  ::operator delete(body, size, alignment);
}

void BodyEditor::set_base(Body& body, Body& base) noexcept {
  Body& root = base.base_ ? *base.base_ : base;
  root.views_.fetch_add(1, std::memory_order_relaxed);
  body.base_ = Ref<Body>::share(&root);
  body.writes_.store(root.writes_.load(std::memory_order_acquire), std::memory_order_relaxed);
  // What is a view of such a view is one itself.
  constexpr std::uint16_t kInherited =
      Body::kUnrecordedView | Body::kInferenceView | Body::kOneOfSeveral;
  std::uint16_t flags = Body::kView | (base.flags_ & kInherited);
  const ThreadState& state = thread_state();
  if (state.inference) {
    flags |= Body::kInferenceView;
  } else if (!state.grad_enabled) {
    flags |= Body::kUnrecordedView;
  }
  set_flag(body, flags, true);
}

detail::AutogradMeta& BodyEditor::need_autograd(Body& body) {
  detail::AutogradMeta* meta = autograd(body);
  if (meta != nullptr) return *meta;
  auto fresh = std::make_unique<detail::AutogradMeta>();
  if (body.autograd_.compare_exchange_strong(meta, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *meta;
}

void BodyEditor::update_tracked(Body& body) noexcept {
  const detail::AutogradMeta* meta = autograd(body);
  set_flag(body, Body::kTracked, meta != nullptr && (meta->requires_grad || meta->edge.node));
}

void BodyEditor::set_requires_grad(Body& body, bool on) {
  if (!on && autograd(body) == nullptr) return;
  need_autograd(body).requires_grad = on;
  update_tracked(body);
}

void BodyEditor::set_edge(Body& body, Edge edge) {
  // What there was goes last: hooks on it may hold somebody's objects.
  const Edge before = std::exchange(need_autograd(body).edge, std::move(edge));
  update_tracked(body);
}

bool BodyEditor::prepare_renewal(Body& body, Body& from) {
  if (body.is_wrapper() || from.is_wrapper() || body.use_count() != 1 || body.live_saves() != 0 ||
      body.base_ || from.layout_.shape.size() > Dims::kInline)
    return false;
  from.version_.prepare();
  return true;
}

void BodyEditor::renew(Body& body, Body& from, bool keep) noexcept {
  // What it had goes when the body is whole again: its destructors may be somebody's code.
  const Storage storage = std::exchange(body.storage_, Storage(from.storage_));
  body.layout_ = from.layout_;
  body.version_.share(from.version_);
  std::unique_ptr<detail::Attributes> attributes;
  if (!keep) attributes.swap(body.attributes_);
  detail::AutogradMeta* meta = autograd(body);
  if (meta == nullptr) return;
  std::vector<detail::LeafHook> hooks;
  std::vector<detail::AccumulatedHook> accumulated;
  Tensor grad;
  if (!keep) {
    hooks.swap(meta->hooks);
    accumulated.swap(meta->accumulated);
  }
  if (!keep || !detail::grad_fits(*meta, body.layout_)) std::swap(grad, meta->grad);
}

Ref<AccumulateGrad> BodyEditor::forget_accumulator(Body& body) {
  detail::AutogradMeta* meta = autograd(body);
  // The usual parameter has none, and the lock would be most of the cost of swapping it.
  if (meta == nullptr || meta->accumulator.load() == nullptr) return {};
  const std::lock_guard lock(meta->mutex);
  return Ref<AccumulateGrad>::if_alive(meta->accumulator.exchange(nullptr));
}

detail::Attributes& BodyEditor::need_attributes(Body& body) {
  if (!body.attributes_) body.attributes_ = std::make_unique<detail::Attributes>();
  return *body.attributes_;
}

Ref<detail::SaveCounter> BodyEditor::save_counter(Body& body) {
  detail::SaveCounter* counter = body.saves_.load(std::memory_order_acquire);
  if (counter == nullptr) {
    auto fresh = make_ref<detail::SaveCounter>();
    if (body.saves_.compare_exchange_strong(counter, fresh.get(), std::memory_order_acq_rel))
      counter = fresh.detach();
  }
  return Ref<detail::SaveCounter>::share(counter);
}

void BodyEditor::forget_cell(Body& body, const detail::Cell& cell) noexcept {
  // The cell's reference is the only one: nobody is left who could look.
  if (body.use_count() == 1) return;
  const std::lock_guard lock(back_pointer_mutex(body));
  if (body.cell_ == &cell) body.cell_ = nullptr;
}

Tensor BodyEditor::tensor_of(const Ref<Body>& body) {
  const std::lock_guard lock(back_pointer_mutex(*body));
  // A cell with no handles left may not have come to forget_cell yet; its memory is there until it
  // has.
  if (auto cell = Ref<detail::Cell>::if_alive(body->cell_)) return Tensor(std::move(cell));
  return Tensor(body);
}

}  // namespace tenon
