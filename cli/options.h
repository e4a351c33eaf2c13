// Options of commands: --flag, --name VALUE, --name=VALUE, -n VALUE, and -- before what is none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/read_limits.h"

namespace tenon::cli {

struct Option {
  std::string_view name;                       // "--json"
  bool* flag = nullptr;                        // set if it is there
  std::string* value = nullptr;                // what follows it
  bool* given = nullptr;                       // that something did
  std::vector<std::string>* values = nullptr;  // instead of one value: all that follow it
  ReadLimits* limits = nullptr;                // instead of a value: what multiplies them
};

// What a command takes without a word before it. All of them must be there.
struct Operand {
  std::string_view what;         // "file"
  std::string* value = nullptr;  // filled in
  bool may_be_empty = false;
};

enum class Parsed { yes, help, wrong };

// Fills in the options and the operands, in their order. Wrong: what is wrong has been said on
// standard error. Help: it was asked for, and printed.
Parsed parse(std::string_view command, std::string_view help,
             const std::vector<std::string>& arguments, const std::vector<Option>& options,
             const std::vector<Operand>& operands);
// The same for a command that takes one file.
Parsed parse(std::string_view command, std::string_view help,
             const std::vector<std::string>& arguments, const std::vector<Option>& options,
             std::string& file);

}  // namespace tenon::cli
