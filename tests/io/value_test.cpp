#include "tenon/value.h"

#include "support/matchers.h"

namespace tenon {
namespace {

using namespace std::string_view_literals;

TEST(Value, IntegersOfAnySizeHaveTheirDigits) {
  // 2^64, -2^64, and the number at the front of old checkpoints.
  EXPECT_EQ(Value::big_integer("\0\0\0\0\0\0\0\0\1"sv).digits(), "18446744073709551616");
  EXPECT_EQ(Value::big_integer("\0\0\0\0\0\0\0\0\xff"sv).digits(), "-18446744073709551616");
  EXPECT_EQ(Value::big_integer("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv).repr(),
            "119547037146038801333356");
  EXPECT_EQ(Value::big_integer("\x05\0\0\0\0\0\0\0\0\0"sv), Value(5));  // 64 bits hold it
  EXPECT_EQ(Value::big_integer("\xff\xff"sv), Value(-1));
  EXPECT_EQ(Value::big_integer(""sv), Value(0));
}

TEST(Value, BytesSetsAndObjectsShowAsInPython) {
  EXPECT_EQ(Value::bytes(std::string("a'\\\0\xff", 5)).repr(), "b'a\\'\\\\\\x00\\xff'");
  EXPECT_EQ(Value::set({1, 2}).repr(), "{1, 2}");
  EXPECT_EQ(Value::set({}).repr(), "set()");
  const Value object = Value::object("module.Class", Value::tuple({1}), Value::dict({{"a", 2}}));
  EXPECT_EQ(object.repr(), "module.Class(1,)");
  EXPECT_EQ(object.type_name(), "module.Class");
  EXPECT_EQ(object.object_state().find("a")->as_int(), 2);
  EXPECT_THROW(Value(1).object_name(), TypeError);
  EXPECT_EQ(Value::dict({}, Value::dict({{"_metadata", 1}})).attributes().entries().size(), 1u);
}

}  // namespace
}  // namespace tenon
