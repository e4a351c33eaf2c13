#include "tenon/value.h"

#include <cmath>
#include <random>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Value, IsMadeOfWhatIsInBracesOfVectorsAndOfSpans) {
  const std::vector<Value> items{1, "a", 2.5};
  const Value list = Value::list({1, "a", 2.5});
  EXPECT_EQ(Value::list(items), list);
  EXPECT_EQ(Value::list(std::vector<Value>(items)), list);
  EXPECT_EQ(Value::list(std::span<const Value>(items)), list);
  EXPECT_EQ(Value::list(list.items()), list);
  EXPECT_EQ(Value::list({items.begin(), items.end()}), list);
  EXPECT_EQ(Value::list({}).items().size(), 0u);
  EXPECT_EQ(Value::tuple({1}).items().size(), 1u);
  EXPECT_EQ(Value::set(items).items().size(), 3u);
  const std::vector<Value::Entry> entries{{"a", 1}, {2, "b"}};
  const Value dict = Value::dict({{"a", 1}, {2, "b"}});
  EXPECT_EQ(Value::dict(entries), dict);
  EXPECT_EQ(Value::dict(dict.entries()), dict);
  EXPECT_EQ(Value::ordered_dict(entries), Value::ordered_dict({{"a", 1}, {2, "b"}}));
  EXPECT_TRUE(Value::ordered_dict({}).is_ordered_dict());
  EXPECT_EQ(Value::dict({}, dict).attributes(), dict);
  const Tensor x = ones({1}), y = ones({2});
  const Value tensors({x, y});
  EXPECT_EQ(tensors, Value(std::vector<Tensor>{x, y}));
  EXPECT_TRUE(tensors.items()[1].as_tensor().is(y));
  // A vector that is given away is not copied.
  std::vector<Value> own{1, 2};
  const Value* first = own.data();
  EXPECT_EQ(Value::list(std::move(own)).items().data(), first);
}

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

TEST(Value, ALongTextInManyPlacesIsComparedOnce) {
  // As often as it is there, it would be terabytes.
  const auto made = [](std::string bytes) {
    std::vector<Value> items(1'000'000, Value(bytes));
    items.push_back(Value::list(std::vector<Value>(1'000'000, Value::bytes(bytes))));
    items.push_back(Value::list(std::vector<Value>(1'000'000, Value::big_integer(bytes))));
    items.emplace_back("end");
    return Value::list(std::move(items));
  };
  const std::string bytes(std::size_t{4} << 20, '\x7f');
  EXPECT_TRUE(made(bytes) == made(bytes));
  EXPECT_FALSE(made(bytes) == made(bytes.substr(1) + "x"));
}

// Each level holds the one below it twice, and all of them are made anew.
Value doubled(const Value& last, int levels) {
  Value value = Value::list({last});
  for (int level = 0; level < levels; ++level) {
    switch (level % 3) {
      case 0: value = Value::list({value, value}); break;
      case 1: value = Value::dict({{"a", value}, {"b", value}}); break;
      default: value = Value::tuple({value, value}); break;
    }
  }
  return value;
}

TEST(Value, WhatIsDoubledWithEveryLevelIsComparedOnce) {
  // Ways to the bottom: 2 to the power of 60.
  EXPECT_TRUE(doubled(1, 60) == doubled(1, 60));
  EXPECT_FALSE(doubled(1, 60) == doubled(2, 60));
  EXPECT_FALSE(doubled(Value::dict({{"k", 1}}), 60) == doubled(Value::dict({{"l", 1}}), 60));
  // Below what is equal.
  const auto beside = [](int last) {
    return Value::dict({{"a", doubled(1, 60)}, {"b", Value::list({doubled(last, 60)})}});
  };
  EXPECT_TRUE(beside(1) == beside(1));
  EXPECT_FALSE(beside(1) == beside(2));
}

// So many levels, each of twice as many lists of four as the one above. From list i of `a` and list
// j of `b` the ways lead to every pair of lists of the next level.
Value crossing(int levels, bool is_a, const Value& last) {
  std::vector<Value> below(std::size_t{1} << levels, Value());
  for (std::size_t i = 0; i < below.size(); ++i)
    below[i] = Value::list({1, i + 1 == below.size() ? last : Value(2)});
  for (int level = levels; level-- > 0;) {
    std::vector<Value> here;
    for (std::size_t i = 0; i < std::size_t{1} << level; ++i) {
      const Value &first = below[2 * i], &second = below[2 * i + 1];
      here.push_back(is_a ? Value::list({first, first, second, second})
                          : Value::list({first, second, first, second}));
    }
    below = std::move(here);
  }
  return below[0];
}

TEST(Value, PartsThatEqualTheSameAreNotComparedWithEachOther) {
  // Four thousand millions of pairs.
  EXPECT_TRUE(crossing(16, true, 2) == crossing(16, false, 2));
  EXPECT_FALSE(crossing(16, true, 2) == crossing(16, false, 3));
  EXPECT_FALSE(crossing(16, true, 3) == crossing(16, false, 2));
  EXPECT_FALSE(crossing(16, true, std::nan("")) == crossing(16, false, std::nan("")));
}

// What was found equal is, and nothing else: random values of few kinds, which share their parts.
TEST(Value, ComparesWhatIsSharedAsIfItWereNot) {
  std::mt19937 random(5);
  int equals = 0;
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<Value> values;
    std::vector<std::string> texts;  // the same are equal
    const auto add = [&](Value value, std::string text) {
      values.push_back(std::move(value));
      texts.push_back(std::move(text));
    };
    for (int i = 0; i < 6; ++i) {
      const int kind = static_cast<int>(random() % 3);
      add(Value(std::string(100, static_cast<char>('a' + kind))), std::to_string(kind));
    }
    for (int i = 0; i < 40; ++i) {
      const std::size_t a = random() % values.size(), b = random() % values.size();
      if (texts[a].size() + texts[b].size() > 2000) continue;
      const bool dict = i % 3 == 0;
      add(dict ? Value::dict({{"k", values[a]}, {1, values[b]}})
               : Value::list({values[a], values[b]}),
          (dict ? "{" : "[") + texts[a] + "," + texts[b] + "]");
    }
    // In one comparison, so that what is known of some parts is used for others.
    std::vector<Value> left, right;
    for (int i = 0; i < 2000; ++i) {
      const std::size_t a = random() % values.size();
      std::size_t b = random() % values.size();
      for (int tries = 0; tries < 50 && texts[a] != texts[b]; ++tries) b = random() % values.size();
      if (texts[a] != texts[b]) b = a;
      left.push_back(values[a]);
      right.push_back(values[b]);
    }
    EXPECT_TRUE(Value::list(left) == Value::list(right));
    const std::size_t a = random() % values.size(), b = random() % values.size();
    left.push_back(values[a]);
    right.push_back(values[b]);
    EXPECT_EQ(Value::list(left) == Value::list(right), texts[a] == texts[b]);
    equals += texts[a] == texts[b] ? 1 : 0;
  }
  EXPECT_GT(equals, 5);
}

TEST(Value, WhatHoldsANaNIsNotEqualToItself) {
  const Value nan = Value::list({std::nan("")});
  const Value others = Value::list(std::vector<Value>(1000, Value::list({1})));
  EXPECT_FALSE(nan == nan);
  for (const Value& part : {nan, Value::tuple({1, nan}), Value::dict({{"k", nan}}),
                            Value(std::complex<double>(0, std::nan("")))}) {
    const Value all = Value::list({others, part, part});
    EXPECT_FALSE(all == all);
    Value shared = part;
    for (int i = 0; i < 100; ++i) shared = Value::list({shared, others, shared});
    EXPECT_FALSE(shared == shared);
  }
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
