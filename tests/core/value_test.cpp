#include "tenon/value.h"

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Value, HoldsWhatItWasGiven) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_TRUE(Value(true).as_bool());
  EXPECT_EQ(Value(-3).as_int(), -3);
  EXPECT_EQ(Value(2.5).as_real(), 2.5);
  EXPECT_EQ(Value(3).as_real(), 3.0);
  EXPECT_EQ(Value(std::complex<double>(1, 2)).as_complex(), std::complex<double>(1, 2));
  EXPECT_EQ(Value("text").as_string(), "text");
  EXPECT_EQ(Value(bfloat16).as_dtype(), bfloat16);
  EXPECT_EQ(Value(Device("cuda:1")).as_device(), Device::cuda(1));
  EXPECT_EQ(Value(Shape({2, 3})).as_size(), Shape({2, 3}));
  const Tensor t = arange(2);
  EXPECT_TRUE(Value(t).as_tensor().is(t));
  EXPECT_TRUE(Value(Tensor()).is_none());
  EXPECT_EQ(Value(std::vector<Tensor>{t, t}).items().size(), 2U);
}

TEST(Value, SaysWhatItIsWhenAskedForSomethingElse) {
  expect_error<TypeError>([] { Value("x").as_int(); }, "type int", "type str");
  expect_error<TypeError>([] { Value(1).as_bool(); }, "bool", "int");
  expect_error<TypeError>([] { Value().as_tensor(); }, "Tensor", "NoneType");
  expect_error<TypeError>([] { Value(1.5).items(); }, "list, tuple or set", "float");
  expect_error<TypeError>([] { Value::list({}).find("a"); }, "dict", "list");
}

TEST(Value, CopiesShareAndMovesLeaveNone) {
  const Tensor t = arange(2);
  Value a = Value::list({t, "x"});
  const Value b = a;
  EXPECT_EQ(a, b);
  const Value c = std::move(a);
  EXPECT_TRUE(a.is_none());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(b, c);
  EXPECT_EQ(t.cell()->use_count(), 2);
}

TEST(Value, ADictKeepsItsOrderAndTheLastOfEqualKeys) {
  const Value d = Value::dict({{"b", 1}, {"a", 2}, {3, "three"}, {"b", 4}});
  ASSERT_EQ(d.entries().size(), 3U);
  EXPECT_EQ(d.entries()[0].first.as_string(), "b");
  EXPECT_EQ(d.find("b")->as_int(), 4);
  EXPECT_EQ(d.find(3)->as_string(), "three");
  EXPECT_EQ(d.find("c"), nullptr);
}

TEST(Value, ComparesContents) {
  EXPECT_EQ(Value::tuple({1, "a"}), Value::tuple({1, "a"}));
  EXPECT_FALSE(Value::tuple({1}) == Value::list({1}));
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_FALSE(Value(arange(2)) == Value(arange(2)));
  EXPECT_EQ(Value::dict({{"a", 1}}), Value::dict({{"a", 1}}));
}

TEST(Value, PrintsAsPythonDoes) {
  EXPECT_EQ(Value::list({1, 2.0, true, Value(), "it's"}).repr(), "[1, 2.0, True, None, \"it's\"]");
  EXPECT_EQ(Value::tuple({1}).repr(), "(1,)");
  EXPECT_EQ(Value::tuple({}).repr(), "()");
  EXPECT_EQ(Value::dict({{"a", arange(2)}, {1, float32}}).repr(),
            "{'a': tensor([0, 1]), 1: torch.float32}");
  EXPECT_EQ(Value(Device("meta")).repr(), "device(type='meta')");
  EXPECT_EQ(Value(Shape({2})).repr(), "torch.Size([2])");
  EXPECT_EQ(Value(std::complex<double>(0, 1)).repr(), "1j");
}

Value nested(int levels) {
  Value value = 1;
  for (int i = 0; i < levels; ++i) value = Value::list({std::move(value)});
  return value;
}

TEST(Value, AMillionLevelsAreReleasedWithoutRecursion) {
  Value value = nested(1'000'000);
  value = 0;
  EXPECT_EQ(value.as_int(), 0);
}

TEST(Value, TooManyLevelsToPrintOrCompareIsAnError) {
  EXPECT_EQ(nested(900).repr().size(), 1801U);
  expect_error<ValueError>([] { nested(2000).repr(); }, "1000 levels");
  expect_error<ValueError>([] { return nested(2000) == nested(2000); }, "1000 levels");
}

TEST(Value, ATensorAtTheBottomOfAMillionIsReleasedToo) {
  const Tensor t = arange(2);
  {
    Value value = t;
    for (int i = 0; i < 1'000'000; ++i)
      value =
          i % 2 == 0 ? Value::tuple({std::move(value)}) : Value::dict({{"k", std::move(value)}});
  }
  EXPECT_EQ(t.cell()->use_count(), 1);
}

}  // namespace
}  // namespace tenon
