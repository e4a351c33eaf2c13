#include <mutex>

#include "core/body_editor.h"
#include "tenon/tensor.h"

namespace tenon {

namespace detail {

// What a cell and its weak handles have in common. It outlives the cell; the mutex decides between
// a handle that wants the cell and the cell that is going.
class WeakAnchor final : public RefCounted {
 public:
  explicit WeakAnchor(Cell* cell) noexcept : cell(cell) {}
  std::mutex mutex;
  Cell* cell;  // null once it is gone
};

Cell::~Cell() {
  if (auto anchor = Ref<WeakAnchor>::adopt(weak_anchor.load(std::memory_order_acquire))) {
    const std::lock_guard lock(anchor->mutex);
    anchor->cell = nullptr;
  }
  BodyEditor::forget_cell(*body, *this);
}

}  // namespace detail

WeakTensor::WeakTensor() noexcept = default;
WeakTensor::WeakTensor(const WeakTensor&) noexcept = default;
WeakTensor::WeakTensor(WeakTensor&&) noexcept = default;
WeakTensor& WeakTensor::operator=(const WeakTensor&) noexcept = default;
WeakTensor& WeakTensor::operator=(WeakTensor&&) noexcept = default;
WeakTensor::~WeakTensor() = default;

WeakTensor::WeakTensor(const Tensor& tensor) {
  if (!tensor.defined()) return;
  detail::Cell& cell = *tensor.cell();
  detail::WeakAnchor* anchor = cell.weak_anchor.load(std::memory_order_acquire);
  if (anchor == nullptr) {
    auto fresh = make_ref<detail::WeakAnchor>(&cell);
    if (cell.weak_anchor.compare_exchange_strong(anchor, fresh.get(), std::memory_order_acq_rel))
      anchor = fresh.detach();
  }
  anchor_ = Ref<detail::WeakAnchor>::share(anchor);
}

Tensor WeakTensor::lock() const {
  if (!anchor_) return {};
  const std::lock_guard lock(anchor_->mutex);
  return Tensor(Ref<detail::Cell>::if_alive(anchor_->cell));
}

}  // namespace tenon
