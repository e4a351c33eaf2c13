// Tensors as records describe them, over storages that are there already.
#pragma once

#include <cstddef>
#include <span>

#include "base/function_ref.h"
#include "io/read/records.h"
#include "tenon/detail/api.h"
#include "tenon/storage.h"

namespace tenon {

Tensor tensor_over(const TensorRecord& record, Storage storage, Device device);
// Another tensor over the same memory, which is a parameter.
Tensor parameter_over(const Tensor& data, bool requires_grad);
Tensor uninitialized_on(Device device, const UninitializedRecord& record);
// About the bytes that could be copied as they lie in the time that packing its elements takes:
// where few lie in order, each is fetched by itself.
TENON_API std::uint64_t packing_cost(const Dims& shape, const Dims& strides, DType dtype);
// Whether the elements lie one after another.
inline bool is_packed(const Shape& shape, const Dims& strides) {
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0; expected *= shape[d])
    if (shape[d] != 1 && strides[d] != expected) return false;
  return true;
}
// Its elements one after another on the CPU, conjugation and negation done.
Tensor packed_copy(const Tensor& tensor);
// The same, of a tensor on the CPU, a megabyte at a time: it may have many more elements than its
// storage has.
void packed_pieces(const Tensor& tensor, FunctionRef<void(std::span<const std::byte>)> piece);

// Whether a storage can be used where it lies in the file.
bool is_mappable(const StorageRecord& record);

// ValueError if a tensor that is to be saved has more dimensions than are read again.
void check_dimensions(const Shape& shape);

// Where the elements of a tensor begin in its storage, and behind the last of them: 0 and 0, if it
// has none.
struct ByteSpan {
  std::uint64_t begin, end;
};
TENON_API ByteSpan bytes_of(const Layout& layout);

}  // namespace tenon
