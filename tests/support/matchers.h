// What tests say often.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tenon/tenon.h"

namespace tenon {

// The message of the exception of that type that f throws; fails the test if it throws none or another one.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

// expect_error<ShapeError>([&] { ... }, "part of the message", "another part");
template <class E, class F, class... Parts>
  requires(sizeof...(Parts) > 0)
void expect_error(F&& f, const Parts&... parts) {
  const std::string message = message_of<E>(f);
  for (const std::string& part : {std::string(parts)...})
    EXPECT_THAT(message, testing::HasSubstr(part));
}

}  // namespace tenon
