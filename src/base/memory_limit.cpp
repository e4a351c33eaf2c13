#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace tenon {

namespace {

// The number a file begins with; nothing for "max", or where there is none.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
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
  while (!group.empty()) {
    if (group.back() == '/') group.pop_back();  // the root itself
    limit(memory, number_in(root + group + "/" + file));
    if (group.empty()) break;
    group.resize(group.find_last_of('/') + 1);
  }
  return memory;
}

std::optional<std::uint64_t> usable_memory() {
  std::optional<std::uint64_t> memory;
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0)
    memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  // "0::/path" is the place in version 2, "9:memory:/path" that of version 1.
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      limit(memory, memory_of_group("/sys/fs/cgroup", path, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      limit(memory, memory_of_group("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return memory;
}

}  // namespace tenon
