// The parts of drawing random numbers that work on many at once. Each is compiled for several
// instruction sets, and the one the machine has is chosen when the program runs; all give the same
// bits.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// The next 624 words of MT19937 from the last, in place.
void mt19937_twist(std::uint32_t* words) noexcept;
// The outputs for n words.
void mt19937_temper(const std::uint32_t* words, std::uint32_t* out, std::int64_t n) noexcept;

// Uniform numbers in [from, to) from one output each. A result that rounds to `to` becomes `from`.
TENON_API void uniform_floats(const std::uint32_t* outputs, float* out, std::int64_t n, float from,
                              float to) noexcept;
// The same from two outputs each.
TENON_API void uniform_doubles(const std::uint32_t* outputs, double* out, std::int64_t n,
                               double from, double to) noexcept;

// Sixteen uniform numbers of [0, 1) become sixteen normal ones (Box and Muller): number j and j + 8
// belong together.
TENON_API void normal_blocks(float* data, std::int64_t blocks, float mean, float std) noexcept;

}  // namespace tenon
