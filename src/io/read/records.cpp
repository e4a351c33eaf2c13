#include "io/read/records.h"

#include "base/checked.h"
#include "base/stored_dtype.h"
#include "base/text.h"

namespace tenon {

std::string wrong_geometry(const TensorRecord& tensor, std::uint64_t storage_bytes) {
  if (tensor.shape.size() > kMostDimensions)
    return concat(tensor.shape.size(), " dimensions are more than ", kMostDimensions);
  if (tensor.stride.size() != tensor.shape.size())
    return concat(tensor.shape.size(), " sizes and ", tensor.stride.size(), " strides");
  if (tensor.offset < 0) return concat("offset ", tensor.offset, " is negative");
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] < 0) return concat("size ", tensor.shape[d], " is negative");
    if (tensor.stride[d] < 0) return concat("stride ", tensor.stride[d], " is negative");
  }
  // The product of all sizes that are not 0 is looked at even if one is: what is small may not have
  // parts that overflow.
  std::int64_t elements = 1, last = tensor.offset;
  bool empty = false, fits = true;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) {
      empty = true;
      continue;
    }
    const auto product = checked_mul(elements, tensor.shape[d]);
    const auto reach = checked_mul(tensor.shape[d] - 1, tensor.stride[d]);
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!product || !sum) {
      fits = false;
      break;
    }
    elements = *product;
    last = *sum;
  }
  const auto bytes = fits ? checked_mul(elements, itemsize(tensor.dtype)) : std::nullopt;
  if (!bytes) return concat("sizes ", bracketed(tensor.shape), " overflow");
  if (empty) {
    // Nothing is there, and yet where it would be is calculated with.
    if (checked_mul(tensor.offset, itemsize(tensor.dtype))) return {};
    return concat("offset ", tensor.offset, " overflows");
  }
  const auto end = checked_add(last, std::int64_t{1});
  const auto needed = end ? checked_mul(*end, itemsize(tensor.dtype)) : std::nullopt;
  if (!needed || static_cast<std::uint64_t>(*needed) > storage_bytes) {
    return concat("a tensor of sizes ", bracketed(tensor.shape), ", strides ",
                  bracketed(tensor.stride), " and offset ", tensor.offset,
                  " reaches outside its storage of ", storage_bytes, " bytes");
  }
  return {};
}

std::optional<std::int64_t> bytes_of_few_bits(const Shape& shape, DType dtype) {
  const std::int64_t each = values_in_element(dtype);
  std::int64_t bytes = 1, numbers = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool last = d + 1 == shape.size();
    const auto rows =
        checked_mul(bytes, last ? shape[d] / each + (shape[d] % each != 0 ? 1 : 0) : shape[d]);
    const auto product = checked_mul(numbers, shape[d]);
    if (!rows || !product) return std::nullopt;
    bytes = *rows;
    numbers = *product;
  }
  return bytes;
}

}  // namespace tenon
