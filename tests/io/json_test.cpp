// cli/json.cpp: values as the command shows them, and how long that is.
#include "../../cli/json.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "../../cli/text.h"
#include "support/matchers.h"
#include "support/random_values.h"

namespace tenon::cli {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max() / 2;

std::string shown(const Value& value) {
  testing::internal::CaptureStdout();
  {
    JsonWriter out;
    write_value(out, value, "");
  }
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

// Never less than there is, and not much more.
void expect_size(const Value& value, std::uint64_t times = 1000) {
  const std::uint64_t size = shown(value).size(), counted = text_size(value, kAny);
  EXPECT_GE(counted, size) << value.type_name();
  EXPECT_LE(counted, times * size + 64) << value.type_name();
}

TEST(JsonText, OfNoRandomTreeIsLongerThanCounted) {
  for (std::uint64_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    RandomValues random(seed, {.keys = seed % 3 == 1, .integers = seed % 3 == 2});
    const Value tree = random.tree();
    EXPECT_GE(text_size(tree, kAny), shown(tree).size()) << seed;
  }
}

// What stands around values is not lost in what is long.
TEST(JsonText, OfManyShortValuesIsNoLongerThanCounted) {
  const Value shortest[] = {
      Value(),
      true,
      false,
      0,
      -9'999'999'999'999,
      9'999'999'999'999,
      10'000'000'000'000,
      std::int64_t{1} << 53,
      (std::int64_t{1} << 53) + 1,
      std::numeric_limits<std::int64_t>::min(),
      -1.7976931348623157e308,
      -2.2250738585072014e-308,
      0.1,
      -HUGE_VAL,
      HUGE_VAL,
      std::nan(""),
      std::complex<double>(-1.7976931348623157e308, -2.2250738585072014e-308),
      std::complex<double>(-HUGE_VAL, std::nan("")),
      "",
      "a",
      "\x01",
      "\"\\",
      "\xf0\x9f\x98\x80",
      "\xf3\xa0\x81\x81",
      "\xff",
      "\xe2\x82",
      Value::bytes(""),
      Value::bytes("a"),
      Value::big_integer(std::string(9, '\x7f')),
      Value::big_integer(std::string(9, '\x80')),
      Value::big_integer(std::string(1024, '\x80')),
      float32,
      float8_e4m3fnuz,
      Device("cuda:127"),
      Value(Shape{}),
      Value(Shape{0, std::numeric_limits<std::int64_t>::max()}),
      Value::list({}),
      Value::tuple({}),
      Value::set({}),
      Value::dict({}),
      Value::ordered_dict({}),
      Value(zeros({1})),
      Value(uninitialized_parameter()),
      Value::object("m", Value::tuple({}), {}),
      Value::object("layout", Value::tuple({"torch.strided"}), {}),
      Value::object("m", Value::tuple({1}), Value::dict({{"a", 1}}), Value::list({1}))};
  for (const Value& one : shortest) {
    const std::vector<Value> many(200, one);
    expect_size(Value::list(many));
    expect_size(Value::tuple(many));
    std::vector<Value::Entry> texts, numbers, both;
    for (int i = 0; i < 200; ++i) {
      texts.emplace_back(std::to_string(i), one);
      numbers.emplace_back(i - 9'999'999'999'999, one);
      both.emplace_back(i % 2 == 0 ? Value(i) : Value(std::to_string(i)), one);
    }
    expect_size(Value::dict(std::move(texts)));
    expect_size(Value::dict(std::move(numbers)));
    expect_size(Value::dict(std::move(both)));
    Value deep = one;
    for (int i = 0; i < 100; ++i) {
      deep = i % 3 == 0   ? Value::tuple({deep})
             : i % 3 == 1 ? Value::dict({{1, deep}})
                          : Value::object("m", Value::tuple({deep}), {});
    }
    expect_size(deep);
  }
}

TEST(JsonText, IsCountedAsItIsEscaped) {
  const std::string hidden(10'000, '\1');
  for (const Value& value :
       {Value(hidden), Value::list({hidden}), Value::dict({{hidden, 1}}),
        Value::dict({{hidden, Value(zeros({1}))}}), Value::object(hidden, Value::tuple({}), {})}) {
    EXPECT_GE(text_size(value, kAny), 60'000u);
    expect_size(value, 2);
  }
  EXPECT_GE(text_size(std::string(10'000, '\xff'), kAny), 60'000u);
}

// A tensor has the names of everything on the way to it in its own.
TEST(JsonText, OfTensorsBelowLongKeysHasThemAll) {
  const std::string text(5'000, 'k');
  const Value tensor = zeros({1});
  for (const Value& key : {Value(text), Value::tuple({text, 1}), Value::bytes(text),
                           Value::tuple({std::string(5'000, '\1'), 1}),
                           Value::big_integer(std::string(1'024, '\x7f'))}) {
    Value value = Value::list(std::vector<Value>(20, tensor));
    for (int level = 0; level < 5; ++level) value = Value::dict({{key, value}, {level, tensor}});
    expect_size(value, 50);
  }
  // Without one, a key is there once.
  Value none = 1;
  for (int level = 0; level < 100; ++level) none = Value::dict({{text, none}});
  expect_size(none, 2);
}

TEST(JsonText, IsCountedNoFurtherThanIsOfInterest) {
  Value value = "text";
  for (int i = 0; i < 200; ++i) value = Value::list({value, value});
  EXPECT_GT(text_size(value, 1000), 1000u);
  Value keyed = zeros({1});
  const Value shared = std::string(1 << 20, '\1');
  for (int i = 0; i < 200; ++i)
    keyed = Value::dict({{Value::tuple({i, shared}), keyed}, {i, keyed}});
  EXPECT_GT(text_size(keyed, 1 << 16), std::uint64_t{1} << 16);
}

TEST(JsonText, OfALongTextIsWhole) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += i % 7 == 0 ? "\xe2\x82\xac" : i % 11 == 0 ? "\xff" : "a\n";
  std::string expected;
  append_json(expected, text);
  EXPECT_EQ(shown(text), "\"" + expected + "\"");
}

}  // namespace
}  // namespace tenon::cli
