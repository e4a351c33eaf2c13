#include "kernels/cast.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Cast, RowsMayBeStridedAndLongerThanOnePiece) {
  std::vector<std::int16_t> src(3000);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::int16_t>(i);
  std::vector<float> dst(3000, -1.0f);
  const Cast cast(float32, int16);
  cast({reinterpret_cast<std::byte*>(dst.data()), 8, reinterpret_cast<const std::byte*>(src.data()),
        4, 1500});
  for (std::size_t i = 0; i < 1500; ++i) {
    ASSERT_EQ(dst[2 * i], static_cast<float>(2 * i));
    ASSERT_EQ(dst[2 * i + 1], -1.0f);
  }
}

TEST(Cast, AnyByteOtherThanZeroIsTrue) {
  const std::uint8_t src[] = {0, 1, 2, 255};
  std::int32_t dst[4];
  Cast(int32, bool_)(
      {reinterpret_cast<std::byte*>(dst), 4, reinterpret_cast<const std::byte*>(src), 1, 4});
  EXPECT_THAT(dst, testing::ElementsAre(0, 1, 1, 1));
}

TEST(Cast, QuantisedElementsAreNotNumbers) {
  expect_error<DTypeError>([] { Cast(float32, qint8); }, "torch.qint8", "torch.float32", "scale");
  expect_error<DTypeError>([] { Cast(quint8, uint8); }, "torch.quint8");
}

// Every float in a coarse sweep of all bit patterns, at every offset from a multiple of 64 bytes,
// kept in the caches and streamed past them.
TEST(Cast, PackedRowsHaveTheBitsOfOneByOne) {
  const auto check = [](DType narrow, auto type) {
    using Narrow = decltype(type);
    constexpr std::int64_t kCount = 70001;
    std::vector<float> src(kCount), back(kCount + 32);
    for (std::size_t i = 0; i < src.size(); ++i)
      src[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 61357));
    std::vector<Narrow> dst(kCount + 32);
    for (const std::int64_t shift : {0, 1, 5, 31}) {
      for (const bool stream : {false, true}) {
        for (const std::int64_t n : {std::int64_t{3}, std::int64_t{70}, kCount}) {
          std::fill(dst.begin(), dst.end(), Narrow::from_bits(0xdead));
          Cast(narrow, float32)({reinterpret_cast<std::byte*>(dst.data() + shift), 2,
                                 reinterpret_cast<const std::byte*>(src.data()), 4, n},
                                stream);
          Cast(float32, narrow)({reinterpret_cast<std::byte*>(back.data() + shift), 4,
                                 reinterpret_cast<const std::byte*>(dst.data() + shift), 2, n},
                                stream);
          for (std::int64_t i = 0; i < n; ++i) {
            const Narrow ours = dst[static_cast<std::size_t>(i + shift)];
            ASSERT_EQ(ours.bits, Narrow(src[static_cast<std::size_t>(i)]).bits) << i;
            const float wide = back[static_cast<std::size_t>(i + shift)];
            ASSERT_EQ(std::isnan(wide), std::isnan(float(ours)));
            ASSERT_TRUE(std::isnan(wide) || wide == float(ours));
          }
          ASSERT_EQ(dst[static_cast<std::size_t>(n + shift)].bits, 0xdead);
        }
      }
    }
  };
  check(bfloat16, BFloat16());
  check(float16, Half());
}

TEST(Cast, RowsAtAnyByteAreRead) {
  std::byte memory[9] = {};
  const float value = 1.5f;
  std::memcpy(memory + 1, &value, sizeof value);
  std::byte out[3] = {};
  Cast(bfloat16, float32)({out + 1, 2, memory + 1, 4, 1});
  BFloat16 narrow;
  std::memcpy(&narrow, out + 1, sizeof narrow);
  EXPECT_EQ(float(narrow), 1.5f);
}

}  // namespace
}  // namespace tenon
