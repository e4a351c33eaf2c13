// The dtype that floating-point factories use when none is named: float32 unless said otherwise.
//
// As in PyTorch the default is the process's, not the thread's; DTypeScope changes it for one
// thread and one scope.
#pragma once

#include <optional>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

TENON_API DType get_default_dtype() noexcept;
// float64, float32, float16 or bfloat16; another one is a DTypeError.
TENON_API void set_default_dtype(DType dtype);

class TENON_API DTypeScope {
 public:
  explicit DTypeScope(DType dtype);
  ~DTypeScope();
  DTypeScope(const DTypeScope&) = delete;
  DTypeScope& operator=(const DTypeScope&) = delete;

 private:
  std::optional<DType> saved_;
};

}  // namespace tenon
