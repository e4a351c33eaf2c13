// BodyEditor: the one door through which a body is changed. Included by the library's sources only.
#pragma once

#include <utility>

#include "core/autograd_meta.h"
#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/tensor.h"

namespace tenon {

class TENON_API BodyEditor {
 public:
  static void set_layout(Body& body, Layout layout) { body.layout_ = std::move(layout); }
  static void set_storage(Body& body, Storage storage) { body.storage_ = std::move(storage); }
  // Something was written. See Note [Who drops a packed copy].
  static void bump_version(Body& body) noexcept {
    body.version_.bump();
    detail::StorageImpl* storage = body.storage_.impl();
    if (storage != nullptr && storage->packed.load(std::memory_order_acquire) != nullptr)
      detail::forget_packed(*storage);
  }
  static void share_version(Body& fresh, Body& with) { fresh.version_.share(with.version_); }
  static void set_wrapped_number(Body& body) noexcept {
    set_flag(body, Body::kWrappedNumber, true);
  }
  static void set_parameter(Body& body, bool on) noexcept { set_flag(body, Body::kParameter, on); }

  // Makes body a view of base (or of what base itself is a view of), which is pinned for as long as
  // the view lives.
  static void set_base(Body& body, Body& base) noexcept;
  static const Ref<Body>& base(const Body& body) noexcept { return body.base_; }
  static void set_inference(Body& body) noexcept { set_flag(body, Body::kInference, true); }
  // A view, made now, that is one of several which one operator gave.
  static void set_one_of_several(Body& body) noexcept { set_flag(body, Body::kOneOfSeveral, true); }
  static bool is_unrecorded_view(const Body& body) noexcept {
    return (body.flags_ & Body::kUnrecordedView) != 0;
  }
  static bool is_inference_view(const Body& body) noexcept {
    return (body.flags_ & Body::kInferenceView) != 0;
  }
  static bool is_one_of_several(const Body& body) noexcept {
    return (body.flags_ & Body::kOneOfSeveral) != 0;
  }

  // See Note [Histories of views].
  static void count_write(Body& body) noexcept {
    body.writes_.fetch_add(1, std::memory_order_release);
  }
  static bool is_outdated(const Body& body) noexcept {
    return body.is_view() && body.base_->is_tracked() &&
           body.writes_.load(std::memory_order_acquire) !=
               body.base_->writes_.load(std::memory_order_acquire);
  }
  static void set_up_to_date(Body& body) noexcept {
    body.writes_.store(body.base_->writes_.load(std::memory_order_acquire),
                       std::memory_order_release);
  }

  // The history, or null while there is none.
  static detail::AutogradMeta* autograd(const Body& body) noexcept {
    return body.autograd_.load(std::memory_order_acquire);
  }
  static detail::AutogradMeta& need_autograd(Body& body);
  // Whether it is tracked by itself, and not as a view of what is.
  static bool has_history(const Body& body) noexcept { return (body.flags_ & Body::kTracked) != 0; }
  static void set_requires_grad(Body& body, bool on);
  static void set_edge(Body& body, Edge edge);
  // The next graph gets a new accumulator. Returns the one there was, if a graph still has it.
  static Ref<AccumulateGrad> forget_accumulator(Body& body);

  // Whether there is nothing about the body but its data: no history, views, saves, attributes or
  // class of its own.
  static bool is_plain(const Body& body) noexcept {
    return body.flags_ == 0 && body.views_.load(std::memory_order_acquire) == 0 &&
           autograd(body) == nullptr && body.saves_.load(std::memory_order_acquire) == nullptr &&
           body.attributes_ == nullptr && !body.base_;
  }

  static detail::Attributes* attributes(const Body& body) noexcept {
    return body.attributes_.get();
  }
  static detail::Attributes& need_attributes(Body& body);
  static Ref<detail::SaveCounter> save_counter(Body& body);

  // A body that nothing but its cell holds can become an alias of another in place, which is
  // cheaper than a new one in its stead. Whether it can; if so, the rest cannot fail.
  static bool prepare_renewal(Body& body, Body& from);
  // What belongs to the tensor rather than to its data (hooks, attributes, and the grad if it fits)
  // is kept or dropped; whether it is a parameter and requires grad stays.
  static void renew(Body& body, Body& from, bool keep) noexcept;

  // Exchanges the bodies of two cells, and the bodies' pointers back.
  static void swap(detail::Cell& a, detail::Cell& b) noexcept {
    using std::swap;
    swap(a.body, b.body);
    a.body->cell_ = &a;
    b.body->cell_ = &b;
  }
  static void set_cell(Body& body, detail::Cell* cell) noexcept { body.cell_ = cell; }
  // The cell is on its way out: the body, if it lives on, must not point at it any more.
  static void forget_cell(Body& body, const detail::Cell& cell) noexcept;
  // The tensor with this body: the live one if there is one, else a new one.
  static Tensor tensor_of(const Ref<Body>& body);

 private:
  static void set_flag(Body& body, std::uint16_t flag, bool on) noexcept {
    body.flags_ = static_cast<std::uint16_t>(on ? body.flags_ | flag : body.flags_ & ~flag);
  }
  static void update_tracked(Body& body) noexcept;
};

}  // namespace tenon
