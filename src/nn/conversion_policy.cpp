#include "tenon/nn/conversion.h"

#include <atomic>

#include "base/thread_state.h"

namespace tenon {

namespace {
std::atomic<bool> swap_on_conversion{false}, overwrite_on_conversion{false};
}  // namespace

void set_swap_module_params_on_conversion(bool value) noexcept { swap_on_conversion = value; }
bool get_swap_module_params_on_conversion() noexcept { return swap_on_conversion; }
void set_overwrite_module_params_on_conversion(bool value) noexcept {
  overwrite_on_conversion = value;
}
bool get_overwrite_module_params_on_conversion() noexcept { return overwrite_on_conversion; }

namespace nn {

namespace {

ConversionPolicy without_swap() noexcept {
  return overwrite_on_conversion ? ConversionPolicy::overwrite : ConversionPolicy::set_data;
}

}  // namespace

ConversionPolicy get_conversion_policy() noexcept {
  if (const auto scope = thread_state().conversion_policy)
    return static_cast<ConversionPolicy>(*scope);
  return swap_on_conversion ? ConversionPolicy::swap : without_swap();
}

ConversionScope::ConversionScope(ConversionPolicy policy) noexcept
    : saved_(thread_state().conversion_policy
                 ? static_cast<std::int16_t>(*thread_state().conversion_policy)
                 : std::int16_t{-1}) {
  thread_state().conversion_policy = static_cast<std::uint8_t>(policy);
}

ConversionScope::~ConversionScope() {
  thread_state().conversion_policy.reset();
  if (saved_ >= 0) thread_state().conversion_policy = static_cast<std::uint8_t>(saved_);
}

SwapOnConversionScope::SwapOnConversionScope(bool on) noexcept
    : scope_(on ? ConversionPolicy::swap : without_swap()) {}

}  // namespace nn

}  // namespace tenon
