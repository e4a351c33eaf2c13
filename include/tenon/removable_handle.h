// RemovableHandle: what registering a hook gives, on a module or on a tensor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/detail/api.h"

namespace tenon {

namespace detail {

class TENON_API HookTable {
 public:
  virtual ~HookTable();
  virtual void remove(std::uint64_t id) = 0;
};

// Of a hook that is asked whether it is still wanted, and not taken out of anything.
class TENON_API HookSwitch final : public HookTable {
 public:
  ~HookSwitch() override;
  void remove(std::uint64_t /*id*/) override { removed_.store(true, std::memory_order_relaxed); }
  bool removed() const noexcept { return removed_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> removed_{false};
};

TENON_API std::uint64_t next_hook_id() noexcept;

}  // namespace detail

// Removes a hook. It does not keep the module or tensor alive, may outlive it, and letting go of it
// leaves the hook where it is.
class TENON_API RemovableHandle {
 public:
  RemovableHandle() noexcept = default;
  RemovableHandle(std::weak_ptr<detail::HookTable> table, std::uint64_t id) noexcept
      : table_(std::move(table)), id_(id) {}
  // A second time, or with what it was registered on gone, it does nothing.
  void remove();
  // Later hooks have larger numbers.
  std::uint64_t id() const noexcept { return id_; }

 private:
  std::weak_ptr<detail::HookTable> table_;
  std::uint64_t id_ = 0;
};

}  // namespace tenon
