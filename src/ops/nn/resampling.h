// Which elements of a dimension, and how much of each, an element of a resized one is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/resample.h"

namespace tenon {

enum class Resampling : std::uint8_t { nearest, nearest_exact, area, linear, cubic, lanczos };

struct ResizedDim {
  std::int64_t from, to;
  std::optional<double> scale;  // the factor that was asked for, where positions follow from it
};

// Of "nearest" and "nearest-exact": the one that each comes from.
std::vector<std::int64_t> nearest_positions(Resampling how, const ResizedDim& dim);
// Of the others. Positions and weights are calculated in T.
template <class T>
Taps<T> resampling_taps(Resampling how, const ResizedDim& dim, bool align_corners, bool antialias);

}  // namespace tenon
