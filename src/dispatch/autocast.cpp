// Autocast: the scopes, and the conversion of an operator's arguments.
#include <cctype>
#include <string>

#include "base/text.h"
#include "base/thread_state.h"
#include "base/warn.h"
#include "dispatch/autocast_cache.h"
#include "tenon/amp.h"
#include "tenon/error.h"
#include "tenon/extend/autocast.h"
#include "tenon/extend/device_backend.h"

namespace tenon {

namespace {

std::size_t place_of(DeviceType type) { return static_cast<std::size_t>(type); }
std::uint32_t bit_of(DeviceType type) { return std::uint32_t{1} << place_of(type); }

bool has_autocast(DeviceType type) {
  switch (type) {
    case DeviceType::cpu:
    case DeviceType::cuda:
    case DeviceType::ipu:
    case DeviceType::xpu:
    case DeviceType::maia:
    case DeviceType::xla:
    case DeviceType::mps:
    case DeviceType::hpu:
    case DeviceType::mtia:
    case DeviceType::privateuseone: return true;
    default: return type >= DeviceType::registered && place_of(type) < AutocastState::kDeviceTypes;
  }
}

DeviceType checked(Device device) {
  if (!has_autocast(device.type())) {
    throw DeviceError(
        concat("User specified an unsupported autocast device_type '", device.str(), "'"));
  }
  return device.type();
}

// Whether a scope that is to be on can be. The texts are PyTorch's.
bool can_autocast(DeviceType type, DType dtype) {
  if (type == DeviceType::cuda && find_backend(type) == nullptr) {
    warn("CUDA is not available or torch_xla is imported. Disabling autocast.");
    return false;
  }
  if (dtype == bfloat16 || dtype == float16) return true;
  std::string name = Device(type).str();
  for (char& letter : name)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  warn(concat("In ", name,
              " autocast, but the target dtype is not supported. Disabling autocast.\n", name,
              " Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."));
  return false;
}

}  // namespace

AutocastScope::AutocastScope(Device device_type, const AutocastOptions& options)
    : type_(checked(device_type)) {
  AutocastState& state = thread_state().autocast;
  const DType dtype = options.dtype.value_or(state.dtypes[place_of(type_)]);
  const std::optional<bool> cache_enabled = options.cache_enabled;  // a handler may destroy them
  const bool enabled = options.enabled && can_autocast(type_, dtype);
  saved_enabled_ = (state.enabled & bit_of(type_)) != 0;
  saved_dtype_ = state.dtypes[place_of(type_)];
  saved_cache_ = state.cache_enabled;
  if (state.cache == nullptr) {
    cache_ = std::make_unique<AutocastCache>();
    state.cache = cache_.get();
  }
  state.enabled = enabled ? state.enabled | bit_of(type_) : state.enabled & ~bit_of(type_);
  state.dtypes[place_of(type_)] = dtype;
  state.cache_enabled = cache_enabled.value_or(state.cache_enabled);
}

AutocastScope::~AutocastScope() {
  AutocastState& state = thread_state().autocast;
  if (cache_) state.cache = nullptr;
  state.enabled = saved_enabled_ ? state.enabled | bit_of(type_) : state.enabled & ~bit_of(type_);
  state.dtypes[place_of(type_)] = saved_dtype_;
  state.cache_enabled = saved_cache_;
}

bool is_autocast_available(Device device_type) noexcept { return has_autocast(device_type.type()); }
bool is_autocast_enabled(Device device_type) {
  return (thread_state().autocast.enabled & bit_of(checked(device_type))) != 0;
}
DType get_autocast_dtype(Device device_type) {
  return thread_state().autocast.dtypes[place_of(checked(device_type))];
}
void set_autocast_dtype(Device device_type, DType dtype) {
  thread_state().autocast.dtypes[place_of(checked(device_type))] = dtype;
}
bool is_autocast_cache_enabled() noexcept { return thread_state().autocast.cache_enabled; }
void clear_autocast_cache() noexcept {
  if (AutocastCache* cache = thread_state().autocast.cache) cache->clear();
}

namespace detail {

bool is_autocasting() noexcept { return thread_state().autocast.enabled != 0; }

NoAutocastScope::NoAutocastScope(DeviceType type) noexcept
    : saved_(thread_state().autocast.enabled) {
  thread_state().autocast.enabled &= ~bit_of(type);
}
NoAutocastScope::NoAutocastScope() noexcept : saved_(thread_state().autocast.enabled) {
  thread_state().autocast.enabled = 0;
}
NoAutocastScope::~NoAutocastScope() { thread_state().autocast.enabled = saved_; }

AutocastPolicy AutocastCall::policy_for(DeviceType type) const noexcept {
  return type == DeviceType::cpu ? policies_.cpu : policies_.cuda;
}

// A device other than the CPU has the say where both take part.
void AutocastCall::see(const Tensor& tensor) noexcept {
  if (!tensor.defined() || tensor.body().is_wrapped_number()) return;
  if (first_ == nullptr) first_ = &tensor;
  const DeviceType type = tensor.device().type();
  if ((thread_state().autocast.enabled & bit_of(type)) == 0) return;
  if (policy_for(type) == AutocastPolicy::none) return;
  if (!device_ || *device_ == DeviceType::cpu) device_ = type;
}

bool AutocastCall::applies() {
  if (!device_) return false;
  policy_ = policy_for(*device_);
  if (policy_ == AutocastPolicy::banned) {
    throw Error(concat(
        info_.name(),
        " is unsafe to autocast: what comes before it is often a sigmoid, and the two together are "
        "binary_cross_entropy_with_logits (nn::BCEWithLogitsLoss), which is safe to autocast"));
  }
  target_ = policy_ == AutocastPolicy::fp32 ? float32
                                            : thread_state().autocast.dtypes[place_of(*device_)];
  return true;
}

bool AutocastCall::eligible(const Tensor& tensor) const noexcept {
  return tensor.defined() && tensor.device().type() == *device_ &&
         is_floating_point(tensor.dtype()) && tensor.dtype() != float64 &&
         !tensor.body().is_wrapped_number();
}

void AutocastCall::widen(const Tensor& tensor) {
  if (!eligible(tensor)) return;
  if (tensor.dtype() == float32) {
    target_ = float32;
  } else if (target_ != float32 && tensor.dtype() != target_) {
    throw DTypeError(
        concat("Unexpected floating ScalarType in at::autocast::prioritize: ", info_.name(),
               " is given a tensor of ", repr(tensor.dtype()), " in a scope of ", repr(target_)));
  }
}

// Note [What autocast converts once]
// Parameters: leaves that require grad, are float32 and no views, on their way to the scope's
// dtype. Of a user-defined tensor nobody knows whether its payload was written to.
Tensor AutocastCall::converted(const Tensor& tensor) const {
  if (policy_ == AutocastPolicy::fp32_set_opt_dtype || !eligible(tensor) ||
      tensor.dtype() == target_)
    return tensor;
  const AutocastState& state = thread_state().autocast;
  const bool cached = state.cache_enabled && state.cache != nullptr && tensor.dtype() == float32 &&
                      tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view() &&
                      !tensor.body().is_wrapper();
  return cached ? state.cache->converted(tensor, target_) : tensor.to(target_);
}

std::optional<DType> AutocastCall::result_dtype(const std::optional<DType>& given) const noexcept {
  if (given || policy_ != AutocastPolicy::fp32_set_opt_dtype || !eligible(*first_)) return given;
  return float32;
}

}  // namespace detail

}  // namespace tenon
