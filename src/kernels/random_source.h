// What a generator draws from: the engine, and the second normal number of a pair, which waits for
// the next draw.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/mt19937.h"
#include "tenon/detail/api.h"

namespace tenon {

struct TENON_API RandomSource {
  explicit RandomSource(std::uint64_t seed) noexcept : engine(seed) {}

  // Uniform in [0, 1): 24 bits of one output, 53 bits of two.
  float uniform_float() noexcept;
  double uniform_double() noexcept;
  double normal() noexcept;

  Mt19937 engine;
  std::optional<double> waiting_normal;
  std::optional<float> waiting_float;  // kept from saved states; never drawn
};

}  // namespace tenon
