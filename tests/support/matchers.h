// What tests say often.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {

namespace detail {

// There are thousands of calls: what does not depend on their types is compiled once.
struct Attempt {
  template <class F>
  explicit Attempt(F& f)
      : function(const_cast<void*>(static_cast<const void*>(&f))),
        call([](void* given) { (*static_cast<F*>(given))(); }) {}
  void* function;
  void (*call)(void*);
};
template <class E>
bool is_a(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}
std::string message_of(const Attempt& attempt, bool (*wanted)(const std::exception&));
void expect_error(const Attempt& attempt, bool (*wanted)(const std::exception&),
                  std::initializer_list<std::string_view> parts);

}  // namespace detail

// The message of the exception of that type that f throws; fails the test if it throws none or
// another one.
template <class E, class F>
std::string message_of(F&& f) {
  return detail::message_of(detail::Attempt(f), detail::is_a<E>);
}

// expect_error<ShapeError>([&] { ... }, "part of the message", "another part");
template <class E, class F, class... Parts>
  requires(sizeof...(Parts) > 0)
void expect_error(F&& f, const Parts&... parts) {
  detail::expect_error(detail::Attempt(f), detail::is_a<E>, {std::string_view(parts)...});
}

}  // namespace tenon
