#include "support/matchers.h"
#include "tenon/value.h"

namespace tenon {
namespace {

Value tree() {
  return Value::dict({{"a.b", Value::dict({{"c", 1}})},
                      {"a", Value::dict({{"b", Value::dict({{"c", 2}, {"d", 3}})}})},
                      {"list", Value::list({10, Value::tuple({20, 21})})},
                      {"state", Value::dict({{0, Value::dict({{"step", 7}})}})},
                      {"", Value::dict({{"", 9}})},
                      {"object", Value::object("m.C", Value::tuple({}), Value::dict({{"x", 5}}))}});
}

TEST(ValuePath, KeysAndPositionsLeadToValues) {
  const Value t = tree();
  EXPECT_EQ(t.find_path("list.1.0")->as_int(), 20);
  EXPECT_EQ(t.find_path("state.0.step")->as_int(), 7);
  EXPECT_EQ(t.find_path("object.x")->as_int(), 5);
  EXPECT_EQ(t.find_path("list")->items().size(), 2u);
}

TEST(ValuePath, TheLongestKeyThatLeadsThereIsTaken) {
  const Value t = tree();
  EXPECT_EQ(t.find_path("a.b.c")->as_int(), 1);
  EXPECT_EQ(t.find_path("a.b.d")->as_int(), 3);  // there is none under "a.b"
}

TEST(ValuePath, WhatIsNotThereIsNull) {
  const Value t = tree();
  for (const char* path : {"x", "a.b.c.d", "list.2", "list.x", "list.-1", "list.1.", "a.", ".x",
                           "list.1.0.0", "list.01x"})
    EXPECT_EQ(t.find_path(path), nullptr) << path;
}

TEST(ValuePath, KeysThatAreNoTextAreMeantByTheirRepr) {
  const Value t =
      Value::dict({{Value::tuple({1, "x"}), 1}, {2.5, 2}, {Value::bytes("k"), 3}, {true, 4}});
  EXPECT_EQ(t.find_path("(1, 'x')")->as_int(), 1);
  EXPECT_EQ(t.find_path("2.5")->as_int(), 2);
  EXPECT_EQ(t.find_path("b'k'")->as_int(), 3);
  EXPECT_EQ(t.find_path("True")->as_int(), 4);
}

TEST(ValuePath, OfKeysThatShowAlikeTheFirstIsTaken) {
  const Value a = Value::object("m.K", Value::tuple({1}), 1),
              b = Value::object("m.K", Value::tuple({1}), 2);
  const Value t = Value::dict({{"x", 0}, {a, 1}, {b, 2}, {"m.K(1,)", 3}});
  EXPECT_EQ(t.find_path("m.K(1,)")->as_int(), 3);  // text is meant first
  EXPECT_EQ(Value::dict({{a, 1}, {b, 2}}).find_path("m.K(1,)")->as_int(), 1);
  EXPECT_EQ(Value::dict({{b, 2}, {a, 1}}).find_path("m.K(1,)")->as_int(), 2);
}

TEST(ValuePath, ARareKeyMayHaveDotsAndBeInManyDicts) {
  const Value key = Value::tuple({1.5, "a.b"});
  const Value inner = Value::dict({{key, Value::list({7})}, {0.5, 8}});
  const Value t = Value::list({inner, Value::dict({{key, inner}, {2.25, 3}})});
  EXPECT_EQ(t.find_path("0.(1.5, 'a.b').0")->as_int(), 7);
  EXPECT_EQ(t.find_path("1.(1.5, 'a.b').(1.5, 'a.b').0")->as_int(), 7);
  EXPECT_EQ(t.find_path("1.(1.5, 'a.b').0.5")->as_int(), 8);
  EXPECT_EQ(t.find_path("1.2.25")->as_int(), 3);
  EXPECT_EQ(t.find_path("1.(1.5, 'a.c').0"), nullptr);
  EXPECT_EQ(t.find_path("1.(1.5, 'a.b'"), nullptr);
}

TEST(ValuePath, LongKeysThatShareTheirPartsAreWrittenOutOnce) {
  // Each ending of the path with each key would be many gigabytes of text.
  const Value shared = Value(std::string(100'000, 'k'));
  std::vector<Value::Entry> entries;
  for (int i = 0; i < 4000; ++i) entries.emplace_back(Value::tuple({i, shared}), i);
  const Value t = Value::dict(std::move(entries));
  std::string path;
  for (int i = 0; i < 4000; ++i) path += "a.";
  EXPECT_EQ(t.find_path(path), nullptr);
}

TEST(ValuePath, APickledModuleLeadsToItsTensors) {
  const Value leaf = Value::object("m.Leaf", Value::tuple({}),
                                   Value::dict({{"_parameters", Value::dict({{"weight", 1}})},
                                                {"_buffers", Value::dict({{"mean", 2}})},
                                                {"_modules", Value::dict({})}}));
  const Value root = Value::object("m.Root", Value::tuple({}),
                                   Value::dict({{"_parameters", Value::dict({})},
                                                {"_buffers", Value::dict({})},
                                                {"_modules", Value::dict({{"conv", leaf}})}}));
  EXPECT_EQ(root.find_path("conv.weight")->as_int(), 1);
  EXPECT_EQ(root.find_path("conv.mean")->as_int(), 2);
  EXPECT_EQ(root.find_path("conv.bias"), nullptr);
}

TEST(ValuePath, EmptyPathsAndKeys) {
  const Value t = tree();
  EXPECT_EQ(t.find_path(""), &t);
  EXPECT_EQ(t.find_path(".")->as_int(), 9);
}

TEST(ValuePath, ManyWaysToTheSameDictAreTriedOnce) {
  // Every level can be entered by two keys: 2^200 ways, none of which ends.
  Value inner = Value::dict({{"end", 1}});
  for (int i = 0; i < 200; ++i) inner = Value::dict({{"a", inner}, {"a.a", inner}});
  std::string path;
  for (int i = 0; i < 250; ++i) path += "a.";
  EXPECT_EQ(inner.find_path(path + "x"), nullptr);
}

}  // namespace
}  // namespace tenon
