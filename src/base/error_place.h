// Which layer of a model an error came from.
#pragma once

#include <string>

namespace tenon::detail {

struct ErrorPlace {
  const void* last;  // the module it has passed through last
  std::string path;  // where the layer is in that module: "features.0"; empty if it is the module
  // What it is: "Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2))"; empty if it came from none.
  std::string layer;
  std::string what;  // the whole message
};

}  // namespace tenon::detail
