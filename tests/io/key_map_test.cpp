#include "tenon/key_map.h"

#include "support/matchers.h"
#include "tenon/error.h"

namespace tenon {
namespace {

TEST(KeyMap, AppliesItsRulesOneAfterAnother) {
  EXPECT_EQ(KeyMap()("a.b"), "a.b");
  EXPECT_TRUE(KeyMap().empty());
  EXPECT_EQ(KeyMap().strip_prefix("module.")("module.a"), "a");
  EXPECT_EQ(KeyMap().strip_prefix("module.")("a.module."), "a.module.");
  EXPECT_EQ(KeyMap().add_prefix("x.").strip_prefix("x.a.")("a.b"), "b");
  EXPECT_EQ(KeyMap().rename({{"a", "b"}, {"b", "c"}})("a"), "b");
  EXPECT_EQ(KeyMap().replace("h(\\d)", "layer\\1")("h0.h1.h"), "layer0.layer1.h");
}

TEST(KeyMap, NamesOfModulesFollowPrefixesOnly) {
  const KeyMap map = KeyMap().strip_prefix("module.").replace("a", "b");
  EXPECT_EQ(map.module("module"), "");
  EXPECT_EQ(map.module("module.a"), "a");
  EXPECT_EQ(map.module(""), "");
  EXPECT_EQ(KeyMap().add_prefix("net.").module(""), "net");
}

TEST(KeyMap, CopiesAreTheirOwn) {
  KeyMap first = KeyMap().add_prefix("a.");
  KeyMap second = first;
  second.add_prefix("b.");
  EXPECT_EQ(first("x"), "a.x");
  EXPECT_EQ(second("x"), "b.a.x");
}

TEST(KeyMap, WrongExpressionsAreRefused) {
  expect_error<ValueError>([] { KeyMap().replace("(", "x"); }, "RE2");
  expect_error<ValueError>([] { KeyMap().replace("a", "\\1"); }, "replacement");
  expect_error<ValueError>([] { matching("[a"); }, "RE2");
}

TEST(KeyMap, AnExpressionMatchesAnywhereAlsoInALongName) {
  EXPECT_TRUE(matching("b")("abc"));
  EXPECT_FALSE(matching("^b")("abc"));
  std::string name(1 << 20, 'a');
  name.push_back('c');
  EXPECT_TRUE(matching("(a|b)*c$")(name));
}

TEST(KeyMap, ReplacingIsForNamesOfReasonableLengths) {
  const KeyMap map = KeyMap().replace("a.*?b|a", "c");  // looks to the end of the name for each a
  EXPECT_EQ(map(std::string(1024, 'a')), std::string(1024, 'c'));
  expect_error<ValueError>([&] { map(std::string(1025, 'a')); }, "1025 bytes", "up to 1024");
  const KeyMap grows = KeyMap().replace("a", std::string(100, 'b'));
  expect_error<ValueError>([&] { grows(std::string(1024, 'a')); }, "102400 bytes", "up to 65536");
  // Rules that only look at the beginning are for names of any length.
  const std::string name(1 << 20, 'a');
  EXPECT_EQ(KeyMap().strip_prefix("a").add_prefix("b")(name), "b" + name.substr(1));
}

}  // namespace
}  // namespace tenon
