// Mixed precision: operators that gain from 16-bit floats are given them, and those that need
// float32 are given that, while the parameters stay float32.
//
//   {
//     const AutocastScope autocast("cpu", {.dtype = bfloat16});
//     loss = mse_loss(model(input), target);
//   }
//   loss.backward();
//
// Which operators do what is PyTorch's choice, and belongs to each of them (AutocastPolicy in
// tenon/extend/autocast.h). Operators in place and those that write into `out` are left alone.
// Gradients have the dtype of what they are the gradient of. For float16, whose gradients are soon
// 0, there is amp::GradScaler (tenon/optim/grad_scaler.h).
//
// All of this belongs to the thread, and the threads that work for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"

namespace tenon {

class AutocastCache;

struct AutocastOptions {
  // float16 or bfloat16. Without it, what get_autocast_dtype says: bfloat16 on the CPU, float16 on
  // CUDA. With any other, autocast is off, and there is a warning.
  std::optional<DType> dtype = std::nullopt;
  bool enabled = true;  // a scope that switches it off inside of another has false
  // Whether leaves that require grad are converted once in the outermost scope, and not each time
  // they are used. What was written to meanwhile is converted again, but for what wrote through a
  // pointer or variable_data(): clear_autocast_cache() is for that. As it is outside by default.
  std::optional<bool> cache_enabled = std::nullopt;
};

// torch.autocast, for all devices of the type. Scopes are nested, each ending before those around
// it. DeviceError for a type that has no autocast (meta). Where there is no CUDA, it is off, with a
// warning.
class TENON_API AutocastScope {
 public:
  explicit AutocastScope(Device device_type, const AutocastOptions& options = {});
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::unique_ptr<AutocastCache> cache_;  // of the outermost
  DeviceType type_;
  bool saved_enabled_, saved_cache_;
  DType saved_dtype_;
};

// Whether scopes for the type can be made.
TENON_API bool is_autocast_available(Device device_type) noexcept;
// DeviceError as above.
TENON_API bool is_autocast_enabled(Device device_type);
TENON_API DType get_autocast_dtype(Device device_type);
// What scopes to come use that do not name one.
TENON_API void set_autocast_dtype(Device device_type, DType dtype);
TENON_API bool is_autocast_cache_enabled() noexcept;
// Forgets what has been converted so far. The end of the outermost scope does.
TENON_API void clear_autocast_cache() noexcept;

}  // namespace tenon
