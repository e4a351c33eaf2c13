// How many CPUs this process may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon {

// The affinity mask, cut down to the quota of the process's control group (version 2) and its
// parents. At least 1.
int usable_cpus();

// Whole CPUs that the text of a cpu.max file allows ("max 100000", "150000 100000"), rounded up;
// nothing if it does not limit.
std::optional<int> cpus_of_quota(std::string_view cpu_max);

// The smallest quota of a control group ("/a/b") and its parents, down to the root of the
// hierarchy, which is mounted at `root`; in a container that is where the container's own limit is.
std::optional<int> cpus_of_group(const std::string& root, std::string group);

}  // namespace tenon
