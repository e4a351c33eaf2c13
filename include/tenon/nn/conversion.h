// How a module replaces its tensors when it is converted (Module::to and friends) and loaded: by
// giving them other data, by putting new ones in their places, or by swapping what they are.
//
//   nn::SwapOnConversionScope swap;     // handles, an optimizer's too, follow whatever happens
//   model.to(bfloat16);
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// PyTorch's switches for the whole process, both off at first (torch.__future__). The first makes
// conversions and loads swap; the second makes conversions put new parameters into the module even
// where the old ones could take the new data. If both are on, the first counts.
TENON_API void set_swap_module_params_on_conversion(bool value) noexcept;
TENON_API bool get_swap_module_params_on_conversion() noexcept;
TENON_API void set_overwrite_module_params_on_conversion(bool value) noexcept;
TENON_API bool get_overwrite_module_params_on_conversion() noexcept;

namespace nn {

enum class ConversionPolicy : std::uint8_t {
  // The tensor stays and takes over the new data (Tensor::set_data); if it cannot, because one of
  // the two is on meta or of another class, a new parameter takes its place. A user-defined tensor
  // changes its face and not its payload, unless it can be taken apart (WrapperBody::flatten): then
  // it is swapped.
  set_data,
  // A new parameter takes the place; handles to the old one see nothing of it. AutogradError if its
  // grad has a history, which leads to the old one.
  overwrite,
  // The tensor stays and becomes the new one (swap_tensors). Refused, with nothing changed, while
  // it has views or is saved for a backward pass. What the wanted gradients need is saved: a layer
  // whose input requires no grad is converted, and the pass recorded before raises.
  swap,
};

// What holds here: the innermost scope of this thread, else the switches of the process.
TENON_API ConversionPolicy get_conversion_policy() noexcept;

// A policy for this thread, for as long as it lives.
class TENON_API ConversionScope {
 public:
  explicit ConversionScope(ConversionPolicy policy) noexcept;
  ~ConversionScope();
  ConversionScope(const ConversionScope&) = delete;
  ConversionScope& operator=(const ConversionScope&) = delete;

 private:
  std::int16_t saved_;
};

// The same as PyTorch's switch, scoped. Off: what the process's other switch says.
class TENON_API SwapOnConversionScope {
 public:
  explicit SwapOnConversionScope(bool on = true) noexcept;

 private:
  ConversionScope scope_;
};

}  // namespace nn

}  // namespace tenon
