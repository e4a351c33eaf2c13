#include "options.h"

#include <charconv>
#include <cstdio>

#include "text.h"

namespace tenon::cli {

namespace {

const Option* find(const std::vector<Option>& options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

// "one file and one name"
std::string listed(const std::vector<Operand>& operands) {
  std::string out;
  for (const Operand& operand : operands) {
    out += out.empty() ? "one " : " and one ";
    out += operand.what;
  }
  return out;
}

// A whole number from 1 on; 0 for anything else.
std::uint64_t factor_in(const std::string& text) {
  std::uint64_t factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  return error == std::errc() && end == text.data() + text.size() ? factor : 0;
}

}  // namespace

Parsed parse(std::string_view command, std::string_view help,
             const std::vector<std::string>& arguments, const std::vector<Option>& options,
             const std::vector<Operand>& operands) {
  const std::string who = "tenon: " + std::string(command);
  const auto wrong = [&](const std::string& what) {
    std::fprintf(stderr, "%s %s; tenon %s --help says more\n", who.c_str(), what.c_str(),
                 std::string(command).c_str());
    return Parsed::wrong;
  };
  bool names_only = false;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (names_only || argument.size() < 2 || argument[0] != '-') {
      if (filled == operands.size()) return wrong("takes " + listed(operands));
      *operands[filled++].value = argument;
      continue;
    }
    if (argument == "--") {
      names_only = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      std::fwrite(help.data(), 1, help.size(), stdout);
      return Parsed::help;
    }
    const std::size_t equals = argument.find('=');
    const Option* option = find(options, std::string_view(argument).substr(0, equals));
    if (option == nullptr) return wrong("has no option " + escaped(argument));
    if (option->flag != nullptr) {
      if (equals != argument.npos) return wrong("takes no value for " + std::string(option->name));
      *option->flag = true;
      continue;
    }
    if (equals == argument.npos && i + 1 == arguments.size())
      return wrong("needs a value for " + std::string(option->name));
    std::string value = equals == argument.npos ? arguments[++i] : argument.substr(equals + 1);
    if (option->values != nullptr) {
      option->values->push_back(std::move(value));
      continue;
    }
    if (option->limits != nullptr) {
      const std::uint64_t factor = factor_in(value);
      if (factor == 0)
        return wrong("needs a whole number from 1 on for " + std::string(option->name));
      *option->limits = ReadLimits().times(factor);
      continue;
    }
    *option->value = std::move(value);
    *option->given = true;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string needed = "needs a " + std::string(operands[i].what);
    if (i >= filled) return wrong(needed);
    if (operands[i].value->empty() && !operands[i].may_be_empty)
      return wrong(needed + ", and was given an empty name");
  }
  return Parsed::yes;
}

Parsed parse(std::string_view command, std::string_view help,
             const std::vector<std::string>& arguments, const std::vector<Option>& options,
             std::string& file) {
  return parse(command, help, arguments, options, {{"file", &file}});
}

}  // namespace tenon::cli
