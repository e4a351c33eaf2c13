#include "kernels/cast.h"

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

}  // namespace
}  // namespace tenon
