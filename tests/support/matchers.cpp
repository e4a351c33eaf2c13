#include "support/matchers.h"

namespace tenon::detail {

std::string message_of(const Attempt& attempt, bool (*wanted)(const std::exception&)) {
  try {
    attempt.call(attempt.function);
  } catch (const std::exception& error) {
    if (wanted(error)) return error.what();
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

void expect_error(const Attempt& attempt, bool (*wanted)(const std::exception&),
                  std::initializer_list<std::string_view> parts) {
  const std::string message = message_of(attempt, wanted);
  for (const std::string_view part : parts)
    EXPECT_THAT(message, testing::HasSubstr(std::string(part)));
}

}  // namespace tenon::detail
