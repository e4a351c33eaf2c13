// What the exception that is being handled says, whatever it is.
#pragma once

#include <exception>
#include <string>

namespace tenon {

// To be called in a catch clause.
inline std::string what_happened() {
  try {
    throw;
  } catch (const std::exception& failed) {
    return failed.what();
  } catch (...) {
    return "an exception that is none of std::exception";
  }
}

}  // namespace tenon
