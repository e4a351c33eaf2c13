#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/control_group.h"

namespace tenon {

namespace {

// The number a line begins with; nothing for "max", or where there is none.
std::optional<std::uint64_t> number_in(const std::string& line) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

void limit(std::optional<std::uint64_t>& memory, std::optional<std::uint64_t> to) {
  if (to) memory = std::min(memory.value_or(*to), *to);
}

}  // namespace

std::optional<std::uint64_t> memory_of_group(const std::string& root, std::string group,
                                             const std::string& file) {
  std::optional<std::uint64_t> memory;
  for_each_group(root, std::move(group), file,
                 [&](const std::string& line) { limit(memory, number_in(line)); });
  return memory;
}

std::optional<std::uint64_t> usable_memory() {
  std::optional<std::uint64_t> memory;
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0)
    memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  for_each_hierarchy([&](const std::string& controllers, const std::string& group) {
    if (controllers == ",,") {
      limit(memory, memory_of_group("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      limit(memory, memory_of_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  });
  return memory;
}

}  // namespace tenon
