// User-defined tensors taken apart, and put together again: what makes them saveable, cloneable and
// convertible by swapping (tenon/extend/wrapper.h).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/layout.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

// What a user-defined tensor is made of: its tensors by name, and everything else.
struct TENON_API Flattened {
  std::vector<std::pair<std::string, Tensor>> tensors;
  Value context;
};

// Puts a tensor together from what flatten() gave. `like` has the outer shape, strides, dtype and
// device.
using Unflatten = std::function<Tensor(const Flattened& parts, const Layout& like)>;

// Under the name a file can say. ValueError if it is taken. Kept until the process ends.
TENON_API void register_unflatten(const std::string& type_name, Unflatten unflatten);
// ValueError if nobody registered the name.
TENON_API Tensor unflatten(const std::string& type_name, const Flattened& parts,
                           const Layout& like);
TENON_API bool has_unflatten(const std::string& type_name);
TENON_API bool has_any_unflatten() noexcept;

}  // namespace tenon
