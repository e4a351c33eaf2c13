// Attributes of tensors that are not only kept: names that PyTorch's tensors have themselves.
#pragma once

#include <string_view>

namespace tenon {

// Whether assigning to the attribute does something to a torch.Tensor, or fails: "data" gives it
// other elements. In a file or a value such a name would be one thing here and another there.
bool is_tensors_own(std::string_view name) noexcept;

}  // namespace tenon
