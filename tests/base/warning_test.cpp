#include "tenon/warning.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "base/warn.h"

namespace tenon {
namespace {

TEST(Warning, GoesToTheHandlerAndNowhereElse) {
  std::string heard;
  const auto before = set_warning_handler([&](const std::string& message) { heard += message; });
  warn("careful");
  EXPECT_EQ(heard, "careful");
  set_warning_handler({});
  warn("nobody listens");
  EXPECT_EQ(heard, "careful");
  set_warning_handler(before);
}

TEST(Warning, AHandlerMaySilenceItself) {
  int said = 0;
  const auto before = set_warning_handler([&](const std::string&) {
    ++said;
    set_warning_handler({});
  });
  warn("first");
  warn("second");
  set_warning_handler(before);
  EXPECT_EQ(said, 1);
}

TEST(Warning, OfAHandlerItselfIsDropped) {
  int said = 0;
  std::atomic<bool> once{false};
  const auto before = set_warning_handler([&](const std::string&) {
    ++said;
    warn("of the handler");
    warn_once(once, "of the handler, once");
  });
  warn("first");
  EXPECT_EQ(said, 1);
  EXPECT_FALSE(once);
  warn("second");
  EXPECT_EQ(said, 2);
  set_warning_handler([&](const std::string&) { throw std::runtime_error("thrown"); });
  EXPECT_THROW(warn("third"), std::runtime_error);
  set_warning_handler([&](const std::string&) { ++said; });
  warn("fourth");
  EXPECT_EQ(said, 3);
  set_warning_handler(before);
}

TEST(Warning, IsSaidOnceAndOnlyToSomebody) {
  std::atomic<bool> said{false};
  int count = 0;
  const auto before = set_warning_handler({});
  warn_once(said, "silence");
  set_warning_handler([&](const std::string&) { ++count; });
  warn_once(said, "first");
  warn_once(said, "second");
  EXPECT_EQ(count, 1);
  set_warning_handler(before);
}

}  // namespace
}  // namespace tenon
