// Images read at places between their elements.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

enum class GridBetween : std::uint8_t { linear, nearest, cubic };
enum class GridBeyond : std::uint8_t { zeros, border, reflection };

// Images (batch, channels, ..., y, x), and places (batch, ..., y, x, number of dimensions). Sizes
// are x first, as the places are.
struct GridSizes {
  int dims;  // 2 or 3; 2 if cubic
  std::int64_t batch, channels;
  std::array<std::int64_t, 3> from, to;
  GridBetween between;
  GridBeyond beyond;
  bool align_corners;
};

TENON_API void grid_sample(const GridSizes& sizes, const float* input, const float* grid,
                           float* out);
TENON_API void grid_sample(const GridSizes& sizes, const double* input, const double* grid,
                           double* out);
// Adds to the gradient of the input, and writes that of the grid.
TENON_API void grid_sample_back(const GridSizes& sizes, const float* grad, const float* input,
                                const float* grid, float* of_input, float* of_grid);
TENON_API void grid_sample_back(const GridSizes& sizes, const double* grad, const double* input,
                                const double* grid, double* of_input, double* of_grid);

}  // namespace tenon
