// Values by their names, in order.
#include "tenon/optim/named_values.h"

#include <string>
#include <vector>

#include "support/matchers.h"

namespace tenon::optim {
namespace {

std::string text_of(const NamedValues& values) {
  std::string all;
  for (const auto& [name, value] : values) all += name + "=" + value.repr() + " ";
  return all;
}

TEST(NamedValues, ANameThatComesTwiceKeepsItsPlaceAndTakesTheLaterValue) {
  const NamedValues few({{"b", 1}, {"a", 2}, {"b", 3}, {"c", 4}, {"a", 5}, {"b", 6}});
  EXPECT_EQ(text_of(few), "b=6 a=5 c=4 ");
  EXPECT_EQ(few.size(), 3u);
  // The dict of it is the same.
  EXPECT_EQ(few.value().repr(), "{'b': 6, 'a': 5, 'c': 4}");
  EXPECT_TRUE(NamedValues(std::vector<NamedValues::Entry>{}).empty());
}

TEST(NamedValues, OfAnyNumberAreInOrderAndOnce) {
  for (const int count : {15, 16, 17, 40}) {
    std::vector<NamedValues::Entry> entries;
    std::vector<Value::Entry> same;
    for (int i = 0; i < count; ++i) {
      entries.emplace_back("n" + std::to_string(i * 7 % 13), i);
      same.emplace_back(entries.back().first, i);
    }
    const NamedValues values(entries);
    EXPECT_EQ(values.value().repr(), Value::dict(same).repr()) << count;
    EXPECT_EQ(values.size(), 13u);
    for (const auto& [name, value] : values) EXPECT_EQ(values.find(name), &value);
  }
}

TEST(NamedValues, OfAHundredThousandAreMadeWithoutComparingEachTwo) {
  std::vector<NamedValues::Entry> entries;
  for (int i = 0; i < 200'000; ++i) entries.emplace_back("name " + std::to_string(i % 100'000), i);
  const NamedValues values(std::move(entries));
  ASSERT_EQ(values.size(), 100'000u);
  EXPECT_EQ(values.begin()->second.as_int(), 100'000);
}

TEST(OptimizerStateDict, WithAHundredThousandNamesForAParameterIsLoaded) {
  const Tensor p = nn::make_parameter(ones({2}));
  SGD sgd({p});
  std::vector<Value::Entry> kept;
  for (int i = 0; i < 100'000; ++i) kept.emplace_back("name " + std::to_string(i), i);
  kept.emplace_back(3, "a number");
  kept.emplace_back("3", "its text");
  sgd.load_state_dict(
      Value::dict({{"state", Value::dict({{0, Value::dict(std::move(kept))}})},
                   {"param_groups", Value::list({Value::dict({{"lr", 0.5},
                                                              {"momentum", 0},
                                                              {"dampening", 0},
                                                              {"weight_decay", 0},
                                                              {"params", Value::list({0})}})})}}));
  EXPECT_EQ(sgd.state(p).size(), 100'001u);
  EXPECT_EQ(sgd.state(p).at("3").as_string(), "its text");
}

}  // namespace
}  // namespace tenon::optim
