#include "kernels/fill.h"

#include <cstring>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(FillElements, FillsExactlyTheElements) {
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t n : {0, 1, 2, 3, 255, 256, 5000}) {
      std::vector<std::byte> element(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < element.size(); ++i)
        element[i] = static_cast<std::byte>(i * 17 + 3);
      std::vector<std::byte> memory(static_cast<std::size_t>((n + 2) * size), std::byte{0xee});
      const Dims shape{n}, one{1};
      fill_elements(shape, {memory.data() + size, one, size}, element.data());
      for (std::int64_t i = 0; i < n + 2; ++i) {
        const bool inside = i > 0 && i <= n;
        for (std::int64_t b = 0; b < size; ++b) {
          ASSERT_EQ(memory[static_cast<std::size_t>(i * size + b)],
                    inside ? element[static_cast<std::size_t>(b)] : std::byte{0xee});
        }
      }
    }
  }
}

TEST(FillElements, LeavesGapsAlone) {
  std::int32_t memory[12] = {};
  const std::int32_t value = 7;
  const Dims shape{2, 2}, strides{6, 2};
  fill_elements(shape, {reinterpret_cast<std::byte*>(memory), strides, 4},
                reinterpret_cast<const std::byte*>(&value));
  EXPECT_THAT(memory, testing::ElementsAre(7, 0, 7, 0, 0, 0, 7, 0, 7, 0, 0, 0));
}

TEST(FillElements, WhatIsLargerThanTheCachesIsFilledToTheLastByte) {
  for (const std::int64_t size : {1, 4, 16}) {
    const std::int64_t n = (std::int64_t{33} << 20) / size + 3;
    std::vector<std::byte> memory(static_cast<std::size_t>((n + 2) * size), std::byte{0xee});
    std::vector<std::byte> element(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < element.size(); ++i) element[i] = static_cast<std::byte>(i + 3);
    const Dims shape{n}, one{1};
    fill_elements(shape, {memory.data() + size, one, size}, element.data());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < (n + 2) * size; ++i) {
      const bool inside = i >= size && i < (n + 1) * size;
      const auto expected = inside ? element[static_cast<std::size_t>(i % size)] : std::byte{0xee};
      wrong += memory[static_cast<std::size_t>(i)] == expected ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << size;
  }
}

}  // namespace
}  // namespace tenon
