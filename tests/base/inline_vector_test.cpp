#include "base/inline_vector.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tenon {
namespace {

TEST(InlineVector, HoldsAsManyAsItWasMadeFor) {
  for (const std::size_t most : {0U, 1U, 4U, 5U, 100U}) {
    InlineVector<int, 4> values(most);
    for (std::size_t i = 0; i < most; ++i) values.push_back(static_cast<int>(i));
    EXPECT_EQ(values.size(), most);
    EXPECT_EQ(values.empty(), most == 0);
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0),
              static_cast<int>(most * (most - 1) / 2));
  }
}

}  // namespace
}  // namespace tenon
