#include "base/stored_dtype.h"

namespace tenon {
namespace {

DType dtype_at(std::size_t i) { return static_cast<DType>(i); }

TEST(StoredDType, AnOpaqueElementIsAnIntegerOfItsSize) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const DType dtype = dtype_at(i), integer = stored_integer(dtype);
    EXPECT_EQ(itemsize(integer), itemsize(dtype)) << dtype;
    if (is_opaque(dtype)) {
      EXPECT_TRUE(is_integral(integer)) << dtype;
    } else {
      EXPECT_EQ(integer, dtype);
    }
  }
  EXPECT_EQ(stored_integer(qint8), int8);
  EXPECT_EQ(stored_integer(quint8), uint8);
  EXPECT_EQ(stored_integer(qint32), int32);
  EXPECT_EQ(stored_integer(quint2x4), uint8);
  EXPECT_EQ(stored_integer(bits16), uint16);
  EXPECT_EQ(stored_integer(float4_e2m1fn_x2), uint8);
  EXPECT_EQ(stored_integer(bcomplex32), uint32);
}

TEST(StoredDType, PairsAreComplexOrOfARealAndAnImaginaryPart) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const DType dtype = dtype_at(i);
    EXPECT_EQ(is_pair(dtype), is_complex(dtype) || dtype == bcomplex32) << dtype;
  }
}

TEST(StoredDType, NamesSayHowManyValuesAreInAnElement) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const DType dtype = dtype_at(i);
    const bool several = dtype == quint4x2 || dtype == quint2x4 || dtype == float4_e2m1fn_x2 ||
                         dtype == bits1x8 || dtype == bits2x4 || dtype == bits4x2;
    EXPECT_EQ(values_in_element(dtype) != 1, several) << dtype;
    // What safetensors calls F4 has numbers of four bits.
    const std::string_view code = info(dtype).safetensors;
    if (several && !code.empty()) {
      EXPECT_EQ(code.substr(0, 2), "F4");
      EXPECT_EQ(values_in_element(dtype) * 4, 8 * itemsize(dtype));
    }
  }
}

TEST(StoredDType, StorageClassesAreThoseOfPyTorch) {
  for (const DType dtype :
       {float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool_, complex64,
        complex128, qint8, quint8, qint32, quint4x2, quint2x4})
    EXPECT_TRUE(has_storage_class(dtype)) << dtype;
  for (const DType dtype : {float8_e4m3fn, float8_e5m2, float8_e8m0fnu, uint16, uint32, uint64,
                            complex32, bits8, bits16, float4_e2m1fn_x2, bcomplex32})
    EXPECT_FALSE(has_storage_class(dtype)) << dtype;
}

}  // namespace
}  // namespace tenon
