// The words of an "op" line after its name: plain ones, and NAME=VALUE.
#pragma once

#include <map>
#include <optional>
#include <sstream>
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
  bool flag(const std::string& name, bool otherwise) const { return whole(name, otherwise) != 0; }
  // "3" or "3,4"; "None" is as if nothing were said.
  Dims dims(const std::string& name, const Dims& otherwise) const {
    return none(name) ? otherwise : Dims(integers(named_.at(name)));
  }
  std::vector<double> reals(const std::string& name) const {
    std::vector<double> values;
    if (none(name)) return values;
    std::istringstream in(named_.at(name));
    for (std::string item; std::getline(in, item, ',');) values.push_back(std::stod(item));
    return values;
  }
  bool none(const std::string& name) const { return !has(name) || named_.at(name) == "None"; }
  std::optional<double> maybe_real(const std::string& name, std::optional<double> otherwise) const {
    if (!has(name)) return otherwise;
    return none(name) ? std::nullopt : std::optional(real(name, 0));
  }
  std::optional<std::int64_t> maybe_whole(const std::string& name) const {
    return none(name) ? std::nullopt : std::optional(whole(name, 0));
  }
  std::optional<bool> maybe_flag(const std::string& name) const {
    return none(name) ? std::nullopt : std::optional(flag(name, false));
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return has(name) ? named_.at(name) : otherwise;
  }

 private:
  std::vector<std::string> plain_;
  std::map<std::string, std::string> named_;
};

}  // namespace tenon::parity
