// Names out of lists of named things.
#pragma once

#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::nn {

template <class Named>
std::vector<std::string> names(const Named& named) {
  std::vector<std::string> all;
  for (const auto& entry : named) all.push_back(entry.first);
  return all;
}

}  // namespace tenon::nn
