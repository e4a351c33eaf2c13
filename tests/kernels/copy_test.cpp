#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "support/matchers.h"

namespace tenon {
namespace {

// Strides of a packed tensor whose dimensions lie in memory in this order, slowest first, with
// gaps.
Dims strides_in(const Dims& shape, const std::vector<std::size_t>& order, std::int64_t gap) {
  Dims strides = shape;
  std::int64_t next = gap;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= shape[order[i]] + gap - 1;
  }
  return strides;
}

std::int64_t reach(const Dims& shape, const Dims& strides) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) n += (shape[d] - 1) * strides[d];
  return n;
}

std::int64_t place(std::int64_t n, const Dims& shape, const Dims& strides) {
  std::int64_t out = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    out += n % shape[d] * strides[d];
    n /= shape[d];
  }
  return out;
}

TEST(CopyElements, AgreesWithOneElementAtATimeForAnyLayout) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Dims shape;
    for (std::size_t d = random() % 5; d-- > 0;)
      shape.push_back(1 + static_cast<std::int64_t>(random() % 40));
    if (Shape(shape).numel() > 100'000) continue;
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const Dims dst_strides = strides_in(shape, order, 1 + static_cast<std::int64_t>(random() % 2));
    std::shuffle(order.begin(), order.end(), random);
    const Dims src_strides = strides_in(shape, order, 1 + static_cast<std::int64_t>(random() % 2));
    const DType dtype = std::array{uint8, int16, float32, int64, complex128}[random() % 5];
    const auto size = static_cast<std::size_t>(itemsize(dtype));
    std::vector<std::byte> src(static_cast<std::size_t>(reach(shape, src_strides)) * size);
    for (std::byte& b : src) b = static_cast<std::byte>(random());
    std::vector<std::byte> dst(static_cast<std::size_t>(reach(shape, dst_strides)) * size,
                               std::byte{0x5a}),
        expected = dst;
    for (std::int64_t n = 0; n < Shape(shape).numel(); ++n) {
      std::memcpy(&expected[static_cast<std::size_t>(place(n, shape, dst_strides)) * size],
                  &src[static_cast<std::size_t>(place(n, shape, src_strides)) * size], size);
    }
    copy_elements(shape, {dst.data(), dst_strides, itemsize(dtype)}, dtype,
                  {src.data(), src_strides, itemsize(dtype)}, dtype);
    ASSERT_EQ(dst, expected) << Shape(shape) << dst_strides << src_strides;
  }
}

TEST(CopyElements, TransposesWithoutTouchingAnythingElse) {
  const Dims shape{70, 3, 90}, packed{270, 90, 1}, transposed{1, 6300, 70};
  std::vector<std::int32_t> src(70 * 3 * 90), dst(src.size() + 2, -1);
  std::iota(src.begin(), src.end(), 0);
  copy_elements(shape, {reinterpret_cast<std::byte*>(dst.data() + 1), packed, 4}, int32,
                {reinterpret_cast<std::byte*>(src.data()), transposed, 4}, int32);
  for (std::int64_t n = 0; n < 70 * 3 * 90; ++n) {
    ASSERT_EQ(dst[static_cast<std::size_t>(n + 1)], place(n, shape, transposed));
  }
  EXPECT_EQ(dst.front(), -1);
  EXPECT_EQ(dst.back(), -1);
}

TEST(CopyElements, ElementsNeedNotBeAligned) {
  alignas(8) std::byte src[33] = {}, dst[33] = {};
  const double values[] = {1.5, -2.25, 3e300, 0};
  std::memcpy(src + 1, values, sizeof values);
  const Dims four{4}, one{1};
  copy_elements(four, {dst + 1, one, 8}, float64, {src + 1, one, 8}, float64);
  EXPECT_EQ(std::memcmp(dst, src, sizeof src), 0);
  float narrow[4];
  copy_elements(four, {reinterpret_cast<std::byte*>(narrow), one, 4}, float32, {src + 1, one, 8},
                float64);
  EXPECT_EQ(narrow[1], -2.25f);
}

TEST(CopyElements, ConjugatesAndNegatesOnTheWay) {
  const std::complex<float> src[] = {{1, 2}, {3, -4}};
  std::complex<float> dst[2];
  const Dims two{2}, one{1};
  const auto copy = [&](CopyTransform transform) {
    copy_elements(two, {reinterpret_cast<std::byte*>(dst), one, 8}, complex64,
                  {reinterpret_cast<std::byte*>(const_cast<std::complex<float>*>(src)), one, 8},
                  complex64, transform);
    return std::vector<std::complex<float>>(dst, dst + 2);
  };
  EXPECT_EQ(copy({.conj = true}), (std::vector<std::complex<float>>{{1, -2}, {3, 4}}));
  EXPECT_EQ(copy({.neg = true}), (std::vector<std::complex<float>>{{-1, -2}, {-3, 4}}));
  EXPECT_EQ(copy({.conj = true, .neg = true}),
            (std::vector<std::complex<float>>{{-1, 2}, {-3, -4}}));
}

}  // namespace
}  // namespace tenon
