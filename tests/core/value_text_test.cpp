#include "core/value_text.h"

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using testing::EndsWith;

// A list of which every level has the one below twice.
Value doubled(Value value, int levels) {
  for (int i = 0; i < levels; ++i) value = Value::list({value, value});
  return value;
}

TEST(ValueText, OfWhatIsSharedEndsBeforeItIsGigabytes) {
  EXPECT_EQ(doubled(Value("x"), 2).repr(), "[['x', 'x'], ['x', 'x']]");
  const Value values[] = {
      Value("a text"),
#ifndef TENON_SANITIZED  // 16 MiB of text take eight seconds there
      Value(arange(3)),
      Value(Shape({1, 2})),
      Value(1),
#endif
  };
  for (const Value& value : values) {
    expect_error<ValueError>([&] { doubled(value, 40).repr(); }, "as parts of it are shared");
    EXPECT_LT(repr_up_to(doubled(value, 40), 100).size(), 10'000u);
  }
}

TEST(ValueText, OfWhatIsNotSharedIsAllOfIt) {
  std::vector<Value> items;
  for (int i = 0; i < 3'000'000; ++i) items.emplace_back(i);
  const std::string text = Value::list(std::move(items)).repr();  // more than 16 MiB
  EXPECT_GT(text.size(), std::size_t{16} << 20);
  EXPECT_THAT(text, EndsWith(", 2999999]"));
  const std::string hidden(std::size_t{5} << 20, '\1');  // four characters for each
  EXPECT_EQ(Value(hidden).repr().size(), 4 * hidden.size() + 2);
}

TEST(ValueText, OfALongTextIsNoLongerThanWasAskedFor) {
  const std::string long_text(std::size_t{1} << 20, 'x');
  const Value values[] = {Value(long_text), Value::bytes(long_text),
                          Value::object(long_text, Value::tuple({}), {}),
                          Value::list({Value::dict({{long_text, 1}})})};
  for (const Value& value : values) {
    for (const std::size_t most : {0u, 1u, 100u, 10'000u})
      EXPECT_LT(repr_up_to(value, most).size(), most + 100) << value.type_name();
  }
}

TEST(ValueText, ABeginningIsThatOfAllOfIt) {
  const std::string bits[] = {"'",
                              "\"",
                              "\\",
                              "a",
                              "bc",
                              "\n",
                              "\x01",
                              "\xc3\xa9",
                              "\xe2\x82\xac",
                              "\xf0\x9f\x98\x80",
                              "\xe2\x80\xae",
                              "\xff",
                              "\xe2\x82",
                              "\x80\x80\x80\x80\x80"};
  std::mt19937 random(3);
  for (int turn = 0; turn < 300; ++turn) {
    const auto text = [&] {
      std::string out;
      // With both quotes, one of them or none.
      const std::size_t first = random() % 3;
      for (std::size_t n = random() % 30; n > 0; --n)
        out += bits[first + random() % (std::size(bits) - first)];
      return out;
    };
    const Value values[] = {Value(text()), Value::bytes(text()),
                            Value::object(text(), Value::tuple({text()}), {}),
                            Value::list({text(), Value::dict({{text(), Value::tuple({text()})}})})};
    for (const Value& value : values) {
      const std::string all = value.repr();
      for (std::size_t most = 0; most <= all.size() + 2; ++most) {
        const std::string part = repr_up_to(value, most);
        if (most >= all.size())
          ASSERT_EQ(part, all);
        else
          ASSERT_EQ(part.substr(0, most), all.substr(0, most)) << most;
        ASSERT_GE(part.size(), std::min(most + 1, all.size()));
      }
    }
  }
}

TEST(ValueText, InMessagesIsShort) {
  EXPECT_EQ(short_repr(Value::list({1, "a"})), "[1, 'a']");
  const std::string text = short_repr(Value(std::string(1000, 'x')));
  EXPECT_EQ(text, "'" + std::string(199, 'x') + "...");
  // No character is cut in two.
  EXPECT_EQ(short_repr(Value("a" +
                             [] {
                               std::string all;
                               for (int i = 0; i < 200; ++i) all += "\xc3\xa9";
                               return all;
                             }()))
                    .size() %
                2,
            1u);
}

TEST(ValueText, OfATensorThatRepeatsFewElementsIsRefusedIfItIsLong) {
  const Tensor one = ones({1});
  EXPECT_NO_THROW(one.expand({6, 6, 6, 6, 6}).repr());
  Tensor many = one;
  for (int d = 0; d < 19; ++d) many = many.unsqueeze(0);
  const std::vector<std::int64_t> sizes(20, 6);
  expect_error<ValueError>([&] { many.expand(Shape(sizes)).repr(); }, "of the 1 in its storage",
                           "edgeitems");
}

// Whose text is somebody's code.
class Talking final : public Wrapper<Talking> {
 public:
  explicit Talking(std::function<void()> deed) : Wrapper(ones({2})), deed_(std::move(deed)) {}
  std::optional<std::string> repr() const override {
    deed_();
    return "Talking";
  }

 private:
  std::function<void()> deed_;
};

TEST(ValueText, OfAUserDefinedTensorMayDestroyTheValue) {
  auto value = std::make_unique<Value>();
  *value = Value::list({make_tensor<Talking>([&] { value.reset(); }), "behind it"});
  EXPECT_EQ(value->repr(), "[Talking, 'behind it']");
}

TEST(Value, ATupleAndASizeOfTheSameNumbersAreOneKey) {
  const Value size(Shape({2, 3}));
  const Value tuple = Value::tuple({2, 3});
  const Value dict = Value::dict({{size, "first"}, {tuple, "second"}});
  ASSERT_EQ(dict.entries().size(), 1u);
  EXPECT_EQ(dict.find(size)->as_string(), "second");
  EXPECT_EQ(dict.find(tuple)->as_string(), "second");
  EXPECT_EQ(dict.find(Value::tuple({2.0, 3})), dict.find(tuple));
  EXPECT_EQ(dict.find(Value::tuple({2})), nullptr);
}

}  // namespace
}  // namespace tenon
