#include "tenon/warning.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

void warn_elsewhere(const std::string& message) {
  std::thread([&] { warn(message); }).join();
}

// Before, the other thread waited for its turn, and the handler for the thread.
TEST(Warning, AHandlerMayWaitForAThreadThatWarnsAndIsToldAfterwards) {
  std::vector<std::string> said;
  const std::thread::id here = std::this_thread::get_id();
  const auto before = set_warning_handler([&](const std::string& message) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    if (message == "first") {
      warn_elsewhere("second");
      warn_elsewhere("third");
      EXPECT_TRUE(said.empty()) << "one call at a time";
    }
    said.push_back(message);
  });
  warn("first");
  EXPECT_EQ(said, (std::vector<std::string>{"first", "second", "third"}));
  warn("fourth");
  EXPECT_EQ(said.size(), 4U);
  set_warning_handler(before);
}

TEST(Warning, MayHaveAnotherThreadWarnEachTime) {
  int said = 0;
  const auto before = set_warning_handler([&](const std::string&) {
    ++said;
    warn_elsewhere("again");
  });
  warn("first");
  EXPECT_GT(said, 1);
  set_warning_handler([&](const std::string& message) { EXPECT_EQ(message, "second"); });
  warn("second");
  set_warning_handler(before);
}

TEST(Warning, OfAnotherThreadGoesToTheHandlerThereIsThen) {
  std::vector<std::string> said;
  const auto later = [&](const std::string& message) { said.push_back("later: " + message); };
  const auto before = set_warning_handler([&](const std::string&) {
    warn_elsewhere("second");
    set_warning_handler(later);
  });
  warn("first");
  EXPECT_EQ(said, std::vector<std::string>{"later: second"});
  set_warning_handler([&](const std::string&) {
    warn_elsewhere("fourth");
    set_warning_handler({});
  });
  warn("third");
  set_warning_handler(later);
  warn("fifth");
  EXPECT_EQ(said.back(), "later: fifth");
  EXPECT_EQ(said.size(), 2U);
  set_warning_handler(before);
}

TEST(Warning, ThrowsWhatItsOwnHandlerThrows) {
  int said = 0;
  const auto before = set_warning_handler([&](const std::string& message) {
    ++said;
    if (message == "first") warn_elsewhere("second");
    throw std::runtime_error(message);
  });
  try {
    warn("first");
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(said, 2);
  EXPECT_THROW(warn("third"), std::runtime_error);
  set_warning_handler(before);
}

TEST(Warning, MayBeOfWhatTheHandlersCopyOrDestructorDoes) {
  int said = 0;
  struct Talks {
    Talks() = default;
    Talks(const Talks&) { warn("of a copy"); }
    Talks(Talks&&) noexcept = default;
    ~Talks() {
      if (alive) warn("of a destructor");
    }
    void operator()(const std::string&) const {}
    std::shared_ptr<int> alive = std::make_shared<int>();
  };
  const auto before = set_warning_handler(Talks());
  {
    const auto talks = set_warning_handler([&](const std::string&) { ++said; });
  }
  EXPECT_GT(said, 0);
  set_warning_handler(before);
}

}  // namespace
}  // namespace tenon
