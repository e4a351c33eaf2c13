#include "tenon/dtype.h"

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(DType, FactsComeFromTheTable) {
  EXPECT_EQ(info(bfloat16).name, "bfloat16");
  EXPECT_EQ(info(int64).scalar_name, "Long");
  EXPECT_EQ(info(float8_e4m3fn).safetensors, "F8_E4M3");
  EXPECT_EQ(itemsize(complex128), 16);
  EXPECT_EQ(itemsize(bool_), 1);
  EXPECT_TRUE(is_floating_point(float8_e8m0fnu));
  EXPECT_TRUE(is_complex(complex32));
  EXPECT_FALSE(is_integral(bool_));
  EXPECT_TRUE(is_quantized(quint4x2));
}

TEST(DType, EveryOneIsFoundByItsName) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(dtype_from_name(kDTypeTable[i].name), static_cast<DType>(i));
    EXPECT_EQ(dtype_from_name(repr(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DType, VisitGivesTheElementType) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit(dtype, [&]<class T>() {
      EXPECT_EQ(static_cast<std::int64_t>(sizeof(T)), itemsize(dtype));
      EXPECT_EQ(dtype_of<T>, dtype);
    });
  }
  static_assert(std::is_same_v<type_of<DType::float16>, Half>);
}

TEST(DType, RealAndComplexBelongTogether) {
  EXPECT_EQ(to_real(complex64), float32);
  EXPECT_EQ(to_real(int8), int8);
  EXPECT_EQ(to_complex(float16), complex32);
  expect_error<DTypeError>([] { to_complex(int32); }, "torch.int32");
}

TEST(DType, PromotionThatHasNoAnswerNamesBoth) {
  expect_error<DTypeError>([] { promote_types(float8_e5m2, float32); }, "Float8_e5m2", "Float");
  expect_error<DTypeError>([] { promote_types(uint16, int32); }, "UInt16", "Int");
}

TEST(DType, PrintsAsInPyTorch) {
  std::ostringstream out;
  out << float32 << " " << bool_;
  EXPECT_EQ(out.str(), "torch.float32 torch.bool");
}

}  // namespace
}  // namespace tenon
