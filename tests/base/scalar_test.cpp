#include "tenon/scalar.h"

#include <cmath>

#include "support/matchers.h"
#include "tenon/default_dtype.h"

namespace tenon {
namespace {

TEST(Scalar, RemembersWhatKindOfNumberItWas) {
  EXPECT_EQ(Scalar(true).kind(), Scalar::Kind::boolean);
  EXPECT_EQ(Scalar(3).kind(), Scalar::Kind::integer);
  EXPECT_EQ(Scalar(3u).kind(), Scalar::Kind::integer);
  EXPECT_EQ(Scalar(~std::uint64_t{0}).kind(), Scalar::Kind::unsigned_integer);
  EXPECT_EQ(Scalar(3.0f).kind(), Scalar::Kind::real);
  EXPECT_EQ(Scalar(Half(3.0f)).kind(), Scalar::Kind::real);
  EXPECT_EQ(Scalar(std::complex<float>(1, 2)).kind(), Scalar::Kind::complex);
}

TEST(Scalar, GivesTheDTypeOfATensorMadeFromIt) {
  EXPECT_EQ(Scalar(true).dtype(), bool_);
  EXPECT_EQ(Scalar(1).dtype(), int64);
  EXPECT_EQ(Scalar(1.5).dtype(), float32);
  EXPECT_EQ(Scalar(std::complex<double>(0, 1)).dtype(), complex64);
  const DTypeScope scope(float64);
  EXPECT_EQ(Scalar(1.5).dtype(), float64);
}

TEST(Scalar, RefusesWhatDoesNotFitAndSaysWhat) {
  expect_error<ValueError>([] { Scalar(300).to<std::uint8_t>(); }, "uint8", "without overflow",
                           "300");
  expect_error<ValueError>([] { Scalar(std::complex<double>(0, 1)).to<float>(); }, "float32", "1j");
  expect_error<ValueError>([] { Scalar(std::nan("")).to<int>(); }, "int32", "nan");
  expect_error<DTypeError>([] { Scalar(3).to<QInt8>(); }, "qint8");
}

TEST(Scalar, CutsOffFractionsTowardsZero) {
  EXPECT_EQ(Scalar(255.9).to<std::uint8_t>(), 255);
  EXPECT_EQ(Scalar(-1.9).to<std::int8_t>(), -1);
}

TEST(Scalar, PrintsAsPythonDoes) {
  EXPECT_EQ(Scalar(true).repr(), "True");
  EXPECT_EQ(Scalar(-7).repr(), "-7");
  EXPECT_EQ(Scalar(~std::uint64_t{0}).repr(), "18446744073709551615");
  EXPECT_EQ(Scalar(0.1).repr(), "0.1");
  EXPECT_EQ(Scalar(std::complex<double>(0, 1)).repr(), "1j");
  EXPECT_EQ(Scalar(std::complex<double>(1, 2)).repr(), "(1+2j)");
  EXPECT_EQ(Scalar(std::complex<double>(-0.0, 1)).repr(), "(-0+1j)");
  EXPECT_EQ(Scalar(std::complex<double>(1.5, -2.5)).repr(), "(1.5-2.5j)");
  EXPECT_EQ(Scalar(std::complex<double>(1, -0.0)).repr(), "(1-0j)");
  EXPECT_EQ(Scalar(std::complex<double>(1e16, 1)).repr(), "(1e+16+1j)");
}

}  // namespace
}  // namespace tenon
