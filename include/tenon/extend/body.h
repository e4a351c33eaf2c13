// Body: everything a tensor is, apart from which tensor it is. People hold cells (through Tensor);
// besides its cell only three things ever hold a body: a view (its base), a gradient accumulator
// (its leaf), and a saved user-defined tensor. That is what lets swap_tensors exchange two bodies
// and know whether it may.
//
// Users meet it as the base of their own tensors (tenon/extend/wrapper.h). Everything here is
// read-only for them: the library alone changes a body, through BodyEditor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"
#include "tenon/layout.h"
#include "tenon/storage.h"

namespace tenon {

class Body;
class Tensor;
struct Flattened;

namespace detail {

class Cell;
struct AutogradMeta;
struct Attributes;

class TENON_API VersionCounter final : public RefCounted {
 public:
  explicit VersionCounter(std::uint64_t start) noexcept : value(start) {}
  ~VersionCounter() override;
  std::atomic<std::uint64_t> value;
};

// How many backward passes have saved this body. Outlives it, because they may.
class TENON_API SaveCounter final : public RefCounted {
 public:
  ~SaveCounter() override;
  std::atomic<std::int64_t> value{0};
};

// Note [Versions]
// Views and detached aliases share a version counter. A tensor nobody shares counts in place; the
// counter is allocated when the first alias is made, which readers may do at the same time on
// several threads. The word is the count shifted by one with the lowest bit set, or the address of
// the counter.
class TENON_API VersionSlot {
 public:
  VersionSlot() noexcept = default;
  ~VersionSlot();
  VersionSlot(const VersionSlot&) = delete;
  VersionSlot& operator=(const VersionSlot&) = delete;

  std::uint64_t value() const noexcept;
  void bump() noexcept;
  // From now on both count together, from where `other` is.
  void share(VersionSlot& other);
  // Makes the counter that share() needs of the other, so that share() cannot fail.
  void prepare() { counter(); }

 private:
  VersionCounter* counter();

  std::atomic<std::uintptr_t> word_{1};
};

}  // namespace detail

class TENON_API Body : public RefCounted {
 public:
  // A dense tensor. The storage must hold what the layout reaches; the library has checked it.
  Body(Layout&& layout, Storage&& storage) noexcept;
  ~Body() override;

  const Layout& layout() const noexcept { return layout_; }
  const Storage& storage() const noexcept { return storage_; }
  bool is_wrapper() const noexcept { return (flags_ & kWrapper) != 0; }
  // Whether it stands for a number in a calculation, whose dtype gives way to tensors'.
  bool is_wrapped_number() const noexcept { return (flags_ & kWrappedNumber) != 0; }
  bool is_parameter() const noexcept { return (flags_ & kParameter) != 0; }
  // Whether operators on it are recorded: it requires grad, was calculated from something that
  // does, or is a view of what does.
  bool is_tracked() const noexcept {
    return (flags_ & (kTracked | kView)) != 0 && ((flags_ & kTracked) != 0 || base_->is_tracked());
  }
  bool is_view() const noexcept { return (flags_ & kView) != 0; }
  // Whether it was made in an InferenceModeScope.
  bool is_inference() const noexcept { return (flags_ & kInference) != 0; }
  std::uint64_t version() const noexcept { return version_.value(); }
  // How many views and how many backward passes hold on to it.
  std::int64_t live_views() const noexcept { return views_.load(std::memory_order_acquire); }
  std::int64_t live_saves() const noexcept;

  // "Tensor", or the name of the user's class.
  virtual std::string type_name() const;
  // The text of a tensor with this body, where it has its own.
  virtual std::optional<std::string> repr() const;
  // Calls visit with every tensor that is part of this one. A dense tensor has none.
  virtual void for_each_payload(const std::function<void(const Tensor&)>& visit) const;
  // What a user-defined tensor is made of, if its class says.
  virtual std::optional<Flattened> flatten() const;

  static void* operator new(std::size_t size);
  static void operator delete(void* body, std::size_t size) noexcept;
  // For classes with members that want more than the usual alignment.
  static void* operator new(std::size_t size, std::align_val_t alignment);
  static void operator delete(void* body, std::size_t size, std::align_val_t alignment) noexcept;

 protected:
  static constexpr std::uint16_t kWrapper = 1, kParameter = 2, kTracked = 4, kWrappedNumber = 8;
  Body(Layout&& layout, Storage&& storage, std::uint16_t flags) noexcept;

 private:
  friend class BodyEditor;

  static constexpr std::uint16_t kView = 16, kInference = 32;
  // How a view was made, where writing into it cannot be recorded: with recording off, in an
  // InferenceModeScope, as one of several.
  static constexpr std::uint16_t kUnrecordedView = 64, kInferenceView = 128, kOneOfSeveral = 256;

  std::uint16_t flags_ = 0;  // first, beside what is looked at first
  // See Note [Histories of views].
  std::atomic<std::uint32_t> writes_{0};
  Layout layout_;
  Storage storage_;
  detail::VersionSlot version_;
  Ref<Body> base_;                                        // of a view
  std::atomic<detail::AutogradMeta*> autograd_{nullptr};  // owned; made when first needed
  std::atomic<detail::SaveCounter*> saves_{nullptr};      // likewise
  std::unique_ptr<detail::Attributes> attributes_;
  detail::Cell* cell_ = nullptr;  // the one live cell that has this body, not owned
  std::atomic<std::int32_t> views_{0};
};

}  // namespace tenon
