// Where the files are that reading is tested with.
#pragma once

#include <string>

namespace tenon {

inline std::string fixture(const std::string& name) {
  return TENON_SOURCE_DIR "/tests/io/fixtures/" + name;
}

}  // namespace tenon
