#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

TEST(Text, RealNumbersAreWrittenAsPythonWritesThem) {
  EXPECT_EQ(concat(0.5), "0.5");
  EXPECT_EQ(concat(3.0), "3.0");
  EXPECT_EQ(concat(-0.0), "-0.0");
  EXPECT_EQ(concat(1e-4), "0.0001");
  EXPECT_EQ(concat(1e-5), "1e-05");
  EXPECT_EQ(concat(1e15), "1000000000000000.0");
  EXPECT_EQ(concat(1e16), "1e+16");
  EXPECT_EQ(concat(123456789.125), "123456789.125");
  EXPECT_EQ(concat(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(concat(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(concat(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, PartsOfAnyKindAreJoined) {
  EXPECT_EQ(concat("a", 1, 'b', true, std::string("c"), -5L), "a1bTruec-5");
  EXPECT_EQ(concat(), "");
}

TEST(Text, SizesAreWrittenInBrackets) {
  const std::int64_t sizes[] = {2, 3};
  EXPECT_EQ(bracketed(sizes), "[2, 3]");
  EXPECT_EQ(bracketed({}), "[]");
}

}  // namespace
}  // namespace tenon
