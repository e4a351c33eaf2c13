#include "core/python_text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

// The answers are CPython's repr().
TEST(PythonQuoted, ChoosesQuotesAndEscapesAsPythonDoes) {
  EXPECT_EQ(python_quoted("plain"), "'plain'");
  EXPECT_EQ(python_quoted("it's"), "\"it's\"");
  EXPECT_EQ(python_quoted("both ' and \""), "'both \\' and \"'");
  EXPECT_EQ(python_quoted("a\nb\tc\rd\\"), "'a\\nb\\tc\\rd\\\\'");
  EXPECT_EQ(python_quoted(std::string_view("\0\x1b[31m\x7f", 7)), "'\\x00\\x1b[31m\\x7f'");
  EXPECT_EQ(python_quoted("h\xc3\xa9\xe2\x98\x83"), "'h\xc3\xa9\xe2\x98\x83'");
  EXPECT_EQ(python_quoted("\xc2\x80\xc2\xa0\xc2\xad"), "'\\x80\\xa0\\xad'");
  EXPECT_EQ(python_quoted("\xe2\x80\xae"), "'\\u202e'");          // writes backwards from here
  EXPECT_EQ(python_quoted("\xf3\xa0\x80\x81"), "'\\U000e0001'");  // a tag nobody sees
  EXPECT_EQ(python_quoted("\u0600\ufff9\ufdd0\U000110bd"), "'\\u0600\\ufff9\\ufdd0\\U000110bd'");
  EXPECT_EQ(python_quoted("\u2764\ufe0f"),
            "'\u2764\ufe0f'");  // a mark of an emoji, which Python prints
}

TEST(PythonQuoted, BytesThatAreNotUtf8AreShown) {
  EXPECT_EQ(python_quoted("\xff"), "'\\xff'");
  EXPECT_EQ(python_quoted("\xc0\xaf"), "'\\xc0\\xaf'");           // a longer form than needed
  EXPECT_EQ(python_quoted("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");  // half of a pair
  EXPECT_EQ(python_quoted("\xe2\x98"), "'\\xe2\\x98'");
  EXPECT_EQ(python_quoted("\xf4\x90\x80\x80"), "'\\xf4\\x90\\x80\\x80'");
}

}  // namespace
}  // namespace tenon
