// Memory in large pages, which take a fraction of the faults while it is first touched.
#pragma once

#include <cstddef>

#include "tenon/detail/api.h"

namespace tenon {

// From here on it is worth it.
inline constexpr std::size_t kHugePagesFrom = std::size_t{4} << 20;

// Advice about memory that has not been touched; where the kernel has no such pages, nothing
// happens.
TENON_API void advise_huge_pages(void* data, std::size_t nbytes) noexcept;

// Room for so many items of a vector, in large pages if that is much. What is not used of it costs
// nothing.
template <class Vector>
void reserve_in_huge_pages(Vector& vector, std::size_t count) {
  vector.reserve(count);
  const std::size_t nbytes = vector.capacity() * sizeof(typename Vector::value_type);
  if (nbytes >= kHugePagesFrom) advise_huge_pages(vector.data(), nbytes);
}

}  // namespace tenon
