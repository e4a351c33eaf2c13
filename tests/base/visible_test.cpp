#include "base/visible.h"

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Visible, OrdinaryTextOfAnyLanguageStaysAsItIs) {
  for (const std::string text : {"", "layers.0.weight", "C:\\models\\a \"b\" 'c'", "größe",
                                 "模型.权重", "вес", "α→β", "é", "\U0001F600"})
    EXPECT_EQ(visible(text), text);
}

TEST(Visible, WhatATerminalActsOnIsEscaped) {
  EXPECT_EQ(visible("\x1b[31mred\x1b[0m"), "\\u{1b}[31mred\\u{1b}[0m");
  EXPECT_EQ(visible("a\nb\tc\rd"), "a\\u{a}b\\u{9}c\\u{d}d");
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a\\u{0}b");
  EXPECT_EQ(visible("\x7f\u0085\u009b"), "\\u{7f}\\u{85}\\u{9b}");
}

TEST(Visible, WhatTurnsTextAroundOrCannotBeSeenIsEscaped) {
  EXPECT_EQ(visible("a\u202eb"), "a\\u{202e}b");
  for (const std::uint32_t code :
       {0xadu,    0x34fu,   0x600u,   0x61cu,   0x6ddu,   0x70fu,   0x115fu,  0x1160u,
        0x17b4u,  0x180eu,  0x200bu,  0x200du,  0x200fu,  0x2028u,  0x2029u,  0x202au,
        0x2060u,  0x2066u,  0x206fu,  0x3164u,  0xe000u,  0xf8ffu,  0xfdd0u,  0xfe0fu,
        0xfeffu,  0xffa0u,  0xfff9u,  0xfffbu,  0xfffeu,  0xffffu,  0x110bdu, 0x1d173u,
        0x1fffeu, 0xe0001u, 0xe0041u, 0xe01efu, 0xe0fffu, 0xf0000u, 0x10ffffu})
    EXPECT_TRUE(is_hidden(code)) << std::hex << code;
  for (const std::uint32_t code :
       {0x20u, 0x7eu, 0xa0u, 0xacu, 0xaeu, 0x606u, 0x1161u, 0x2010u, 0x202fu, 0x2070u, 0x3163u,
        0xf900u, 0xfe10u, 0xfffcu, 0xfffdu, 0x1f600u, 0x1d17bu})
    EXPECT_FALSE(is_hidden(code)) << std::hex << code;
}

TEST(Visible, WhatIsNoUtf8IsWrittenByteByByte) {
  EXPECT_EQ(visible("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(visible("\xc0\x8a\xe0\x80\x8a"), "\\xc0\\x8a\\xe0\\x80\\x8a");  // long forms of \n
  EXPECT_EQ(visible("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");           // beyond U+10FFFF
}

TEST(Visible, LinesStayLines) {
  EXPECT_EQ(visible_lines("a:\n\tb\n"), "a:\n\tb\n");
  EXPECT_EQ(visible_lines("a\x1b\n\xff\r\n\u202e"), "a\\u{1b}\n\\xff\\u{d}\n\\u{202e}");
  EXPECT_EQ(visible_lines(""), "");
}

TEST(Visible, ASecondTimeChangesNothing) {
  const std::string once = visible("a\x1b\u202e\xff\nb");
  EXPECT_EQ(visible(once), once);
}

TEST(Visible, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(visible("abcdef", 6), "abcdef");
  EXPECT_EQ(visible("abcdef", 5), "abcde...");
  EXPECT_EQ(visible("ab\x1b", 5), "ab...");
  EXPECT_EQ(visible("aéé", 4), "aé...");
}

}  // namespace
}  // namespace tenon
