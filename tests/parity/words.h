// The words of an "op" line after its name: plain ones, and NAME=VALUE.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "parity/cases.h"

namespace tenon::parity {

class Words {
 public:
  Words(Line::const_iterator begin, Line::const_iterator end) {
    for (auto word = begin; word != end; ++word) {
      const auto equals = word->find('=');
      if (equals == std::string::npos) {
        plain_.push_back(*word);
      } else {
        named_[word->substr(0, equals)] = word->substr(equals + 1);
      }
    }
  }
  double plain(std::size_t i) const { return number(plain_.at(i)).to<double>(); }
  bool has(const std::string& name) const { return named_.contains(name); }
  // What the option is, or what it is if nothing is said.
  double real(const std::string& name, double otherwise) const {
    return has(name) ? number(named_.at(name)).to<double>() : otherwise;
  }
  std::int64_t whole(const std::string& name, std::int64_t otherwise) const {
    return has(name) ? number(named_.at(name)).to<std::int64_t>() : otherwise;
  }
  Scalar scalar(const std::string& name, const Scalar& otherwise) const {
    return has(name) ? number(named_.at(name)) : otherwise;
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return has(name) ? named_.at(name) : otherwise;
  }

 private:
  std::vector<std::string> plain_;
  std::map<std::string, std::string> named_;
};

}  // namespace tenon::parity
