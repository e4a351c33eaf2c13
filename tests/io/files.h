// Where the files are that reading is tested with, and what is in a folder.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace tenon {

inline std::string fixture(const std::string& name) {
  return TENON_SOURCE_DIR "/tests/io/fixtures/" + name;
}

inline std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

}  // namespace tenon
