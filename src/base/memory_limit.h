// How much memory this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenon {

// The machine's memory, cut down to what the process's control group and its parents allow (of
// either version). Reads files: ask once. Nothing if the system does not say.
std::optional<std::uint64_t> usable_memory();

// The smallest of the numbers in the files of that name, of a control group ("/a/b") and its
// parents, down to the root of the hierarchy, which is mounted at `root`; in a container that is
// where the container's own limit is. Nothing if none of them limits.
std::optional<std::uint64_t> memory_of_group(const std::string& root, std::string group,
                                             const std::string& file);

}  // namespace tenon
