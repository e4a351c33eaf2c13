#include "base/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>
#include <utility>

#include "base/control_group.h"

namespace tenon {

namespace {

int cpus_in_affinity_mask() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const int count = ::sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

std::optional<int> cpus_of_quota(std::string_view cpu_max) {
  long quota = 0, period = 0;
  const char* end = cpu_max.data() + cpu_max.size();
  const auto first = std::from_chars(cpu_max.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || quota <= 0 || period <= 0) return std::nullopt;
  const long cpus = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<int>(std::min(cpus, 1L << 20));
}

std::optional<int> cpus_of_group(const std::string& root, std::string group) {
  std::optional<int> cpus;
  for_each_group(root, std::move(group), "cpu.max", [&](const std::string& line) {
    if (const auto quota = cpus_of_quota(line)) cpus = std::min(cpus.value_or(*quota), *quota);
  });
  return cpus;
}

int usable_cpus() {
  const int cpus = cpus_in_affinity_mask();
  std::optional<int> quota;
  for_each_hierarchy([&](const std::string& controllers, const std::string& group) {
    if (controllers == ",,") quota = cpus_of_group("/sys/fs/cgroup", group);
  });
  return std::max(1, std::min(cpus, quota.value_or(cpus)));
}

}  // namespace tenon
