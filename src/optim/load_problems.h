// One error for everything that does not fit in a load.
#pragma once

#include <string>
#include <vector>

namespace tenon::optim {

// LoadError with the beginning of a long list; all are in its fields.
[[noreturn]] void refuse(const std::string& type_name, std::vector<std::string> problems);

}  // namespace tenon::optim
