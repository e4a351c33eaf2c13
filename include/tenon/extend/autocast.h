// What autocast (tenon/amp.h) does with the arguments of an operator. Part of
// tenon/extend/custom_op.h.
//
//   template <> struct tenon::Rule<scale_by> {
//     static constexpr AutocastPolicies autocast = kLowerPrecision;
//     ...
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

// Floating-point tensors of the scope's device are converted, but for float64; numbers and other
// tensors stay. The operator then runs with autocast off.
enum class AutocastPolicy : std::uint8_t {
  none,                // it takes them as they are; what it calls is looked at again
  lower_precision,     // to the scope's dtype
  fp32,                // to float32
  fp32_set_opt_dtype,  // the argument `dtype`, where it is not given, becomes float32
  promote,             // to float32 if one of them is, else to the scope's dtype
  banned,              // it is refused
};

// PyTorch has one list for the CPU and one for CUDA, which other devices share here.
struct AutocastPolicies {
  AutocastPolicy cpu = AutocastPolicy::none;
  AutocastPolicy cuda = AutocastPolicy::none;

  constexpr bool any() const noexcept {
    return cpu != AutocastPolicy::none || cuda != AutocastPolicy::none;
  }
};

inline constexpr AutocastPolicies kLowerPrecision{AutocastPolicy::lower_precision,
                                                  AutocastPolicy::lower_precision};
inline constexpr AutocastPolicies kFullPrecision{AutocastPolicy::fp32, AutocastPolicy::fp32};

namespace detail {

// Whether it is on for any device.
TENON_API bool is_autocasting() noexcept;

// One call of an operator that has a policy. It is shown every tensor first.
class TENON_API AutocastCall {
 public:
  AutocastCall(const OpInfo& info, AutocastPolicies policies) noexcept
      : info_(info), policies_(policies) {}

  void see(const Tensor& tensor) noexcept;
  // Whether there is one on a device that autocast is on for, and something to do there. Error if
  // the operator is refused.
  bool applies();
  AutocastPolicy policy() const noexcept { return policy_; }
  DeviceType device_type() const noexcept { return *device_; }
  // Once more, for `promote`.
  void widen(const Tensor& tensor);

  Tensor converted(const Tensor& tensor) const;
  std::optional<DType> result_dtype(const std::optional<DType>& given) const noexcept;

 private:
  AutocastPolicy policy_for(DeviceType type) const noexcept;
  bool eligible(const Tensor& tensor) const noexcept;

  const OpInfo& info_;
  AutocastPolicies policies_;
  AutocastPolicy policy_ = AutocastPolicy::none;
  std::optional<DeviceType> device_;
  const Tensor* first_ = nullptr;
  DType target_ = float32;
};

// Autocast is off for the device type while it lives.
class TENON_API NoAutocastScope {
 public:
  explicit NoAutocastScope(DeviceType type) noexcept;
  // For all.
  NoAutocastScope() noexcept;
  ~NoAutocastScope();
  NoAutocastScope(const NoAutocastScope&) = delete;
  NoAutocastScope& operator=(const NoAutocastScope&) = delete;

 private:
  std::uint32_t saved_;
};

}  // namespace detail

}  // namespace tenon
