// The parts that the text of a module is put together from.
#pragma once

#include <string>
#include <vector>

#include "tenon/nn/guard.h"

namespace tenon::nn::detail {

// All lines but the first moved to the right.
std::string indented(const std::string& text, std::size_t spaces);
// The text of a child, or "None". Error if its code changes the children of the module that the
// guard is on.
std::string repr_of(const Module* child, const Guard& guard);
// "Name(...)" with lines of its own and of its children, on one line where PyTorch has it so.
std::string assembled(const std::string& type_name, const std::string& extra,
                      const std::vector<std::string>& children);

}  // namespace tenon::nn::detail
