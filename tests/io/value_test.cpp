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

// A tuple that is in itself twice, so many times over: compared place by place it takes for ever.
Value doubled(Value value, int levels) {
  for (int i = 0; i < levels; ++i) value = Value::tuple({value, value});
  return value;
}

TEST(Value, KeysThatShareTheirPartsAreComparedAndHashedOnce) {
  const Value one = doubled(1, 100), same = doubled(1.0, 100), other = doubled(2, 100);
  const Value few = Value::dict({{one, "one"}, {other, "other"}, {same, "same"}});
  EXPECT_EQ(few.entries().size(), 2u);
  EXPECT_EQ(few.find(one)->as_string(), "same");
  std::vector<Value::Entry> entries{{one, 1}, {other, 2}};
  for (int i = 0; i < 20; ++i) entries.emplace_back(Value::tuple({same, i % 10}), i);
  const Value many = Value::dict(std::move(entries));
  EXPECT_EQ(many.entries().size(), 12u);
  EXPECT_EQ(many.find(Value::tuple({one, 3}))->as_int(), 13);
  EXPECT_EQ(many.find(Value::tuple({other, 3})), nullptr);
}

TEST(Value, KeysOfMoreThanAThousandLevelsAreAnError) {
  Value deep = 1, other = 1;
  for (int i = 0; i < 2000; ++i) {
    deep = Value::tuple({deep});
    other = Value::tuple({other});
  }
  EXPECT_THROW(Value::dict({{deep, 1}, {other, 2}}), ValueError);
}

TEST(Value, AShownIntegerThatIsInManyPlacesIsPutIntoDigitsOnce) {
  const Value large = Value::big_integer(std::string(1024, '\x7f'));
  const std::string digits = large.digits();
  EXPECT_EQ(Value::list(std::vector<Value>(3, large)).repr(),
            "[" + digits + ", " + digits + ", " + digits + "]");
}

}  // namespace
}  // namespace tenon
