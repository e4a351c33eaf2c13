// Matrices turned, of all shapes, between gaps that stay as they were.
#include <vector>

#include <gtest/gtest.h>

#include "kernels/transpose.h"

namespace tenon {
namespace {

TEST(Transpose, TurnsMatricesOfAllShapesAndTouchesNothingElse) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 16, 17, 67}) {
    for (const std::int64_t columns : {1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 65, 130}) {
      const std::int64_t src_row = columns + 3, dst_row = rows + 2;
      std::vector<float> src(static_cast<std::size_t>(rows * src_row));
      for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i + 1);
      std::vector<float> dst(static_cast<std::size_t>(columns * dst_row), -1.F);
      transpose_floats(src.data(), src_row, rows, columns, dst.data(), dst_row);
      for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < dst_row; ++i) {
          const float expected = i < rows ? src[static_cast<std::size_t>(i * src_row + j)] : -1.F;
          ASSERT_EQ(dst[static_cast<std::size_t>(j * dst_row + i)], expected)
              << rows << "x" << columns << " at " << i << ", " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon
