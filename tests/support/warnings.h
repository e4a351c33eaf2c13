// What the library warns of, collected while this lives.
#pragma once

#include <string>
#include <vector>

#include "tenon/warning.h"

namespace tenon {

class Warnings {
 public:
  Warnings()
      : before_(set_warning_handler([this](const std::string& text) { said.push_back(text); })) {}
  ~Warnings() { set_warning_handler(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  std::vector<std::string> said;

 private:
  WarningHandler before_;
};

}  // namespace tenon
