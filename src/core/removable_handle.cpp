#include "tenon/removable_handle.h"

namespace tenon {

namespace detail {

HookTable::~HookTable() = default;
HookSwitch::~HookSwitch() = default;

std::uint64_t next_hook_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace detail

void RemovableHandle::remove() {
  if (const auto table = table_.lock()) table->remove(id_);
}

}  // namespace tenon
