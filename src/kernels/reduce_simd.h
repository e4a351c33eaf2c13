// Sums of packed floats at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// Carried in double, in an order that depends on n alone. Elements may lie at any byte.
double sum_floats(const std::byte* data, std::int64_t n) noexcept;
double sum_doubles(const std::byte* data, std::int64_t n) noexcept;

}  // namespace tenon
