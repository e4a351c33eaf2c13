// Limits that control groups put on the process: numbers in files, of its group and those above it.
#pragma once

#include <string>

#include "base/function_ref.h"

namespace tenon {

// Calls it with the first line of that file of the group and of every one above it, up to the root;
// with nothing where there is none.
void for_each_group(const std::string& root, std::string group, const std::string& file,
                    FunctionRef<void(const std::string& line)> call);

// Calls it with the controllers of each hierarchy the process is in, between commas, and with its
// place there. Those of version 2 are none.
void for_each_hierarchy(
    FunctionRef<void(const std::string& controllers, const std::string& group)> call);

}  // namespace tenon
