// Ref<T>: a counted reference to an object that counts its own references.
//
// Counting is atomic, so references may be copied and dropped on any thread; the object itself is
// only as thread-safe as its own header says. Objects are destroyed one after another, never one
// inside another: a chain of a million objects that own each other is released in constant stack.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/detail/api.h"

namespace tenon {

template <class T>
class Ref;

class TENON_API RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  // How many references there are now. Other threads may change it at any time.
  std::int64_t use_count() const noexcept { return count_.load(std::memory_order_acquire); }

 protected:
  RefCounted() noexcept = default;
  virtual ~RefCounted();

 private:
  template <class T>
  friend class Ref;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  bool retain_if_alive() const noexcept;
  void destroy() const noexcept;

  // Starts at one: whoever creates the object holds the first reference. Once it is zero and the
  // object waits to be destroyed, the same word links it to the next one waiting.
  mutable std::atomic<std::int64_t> count_{1};
};

template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}  // a null reference is a null pointer
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires std::convertible_to<U*, T*>
  Ref(Ref<U> other) noexcept : object_(other.detach()) {}  // as pointers convert
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Takes over a reference that already counts: the one a new object starts with, or one that
  // detach() gave up.
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // One more reference to an object somebody else keeps alive.
  static Ref share(T* object) noexcept {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  // A reference to an object that may be on its way out, or null if it is. The caller must know
  // that its memory is still there, which is what makes this rare.
  static Ref if_alive(T* object) noexcept {
    return object != nullptr && object->retain_if_alive() ? adopt(object) : Ref();
  }
  // Gives up the reference without counting it down.
  T* detach() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }
  friend void swap(Ref& a, Ref& b) noexcept { std::swap(a.object_, b.object_); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace tenon
