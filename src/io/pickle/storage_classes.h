// Which dtypes have a class of storages in PyTorch. The newer ones are kept as bytes, and their
// tensors say the dtype.
#pragma once

#include "tenon/dtype.h"

namespace tenon {

constexpr bool has_storage_class(DType dtype) noexcept {
  return !(is_floating_point(dtype) && itemsize(dtype) == 1) && dtype != uint16 &&
         dtype != uint32 && dtype != uint64 && dtype != complex32 &&
         info(dtype).kind != DTypeKind::bits;
}

}  // namespace tenon
