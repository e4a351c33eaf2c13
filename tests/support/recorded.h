// Reading the `.cases` files: what PyTorch did, as the scripts of tests/record/ wrote it down.
//
// A file is blocks separated by blank lines; a line is words separated by spaces; "#" begins a
// comment line. In words, "-" is nothing (an empty list, no number, no bytes), "2,3" a list, and a
// quoted word is JSON text. A file is one of three kinds:
//   a table: each line is a case, and the comment at its top names the columns;
//   cases of several lines: each block is one, and the first word of a line says what it holds;
//   values: each block is a dict, and each line of it a key and a Python literal, in which
//   tensor(DTYPE, SHAPE, NUMBERS) is a tensor, its elements packed (two numbers for a complex one).
// Numbers read back as the bits that were recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::recorded {

using Line = std::vector<std::string>;

struct Case {
  std::string where;  // file and line, for messages
  std::vector<Line> lines;

  // The first line that begins with a word. Error if there is none.
  const Line& line(const std::string& word) const;
  bool has(const std::string& word) const;
  std::vector<Line> all(const std::string& word) const;
};

// tests/NAME.cases: recorded::file("ops/cases/norms").
std::filesystem::path file(const std::string& name);

// The blocks of a file. Error if the file cannot be read or has fewer cases: then something else is
// wrong with it. The next three throw the same.
std::vector<Case> cases(const std::filesystem::path& path, std::size_t at_least = 10);

// The lines of a table.
std::vector<Line> rows(const std::string& name, std::size_t at_least = 10);

// The dicts of a file of values; the one of a file that has one block.
std::vector<Value> values(const std::string& name);
Value value(const std::string& name);

// One Python literal. Error where the text is none.
Value literal(std::string_view text);

// What words hold.
std::vector<std::int64_t> integers(const std::string& word);
std::optional<std::int64_t> maybe_integer(const std::string& word);
double real(const std::string& word);
std::optional<double> maybe_real(const std::string& word);
std::vector<double> reals(const std::string& word);
Dims sizes(const std::string& word);
std::optional<bool> flag(const std::string& word);  // 0, 1 or -
DType dtype(const std::string& word);

// The words of a line, for messages.
std::string joined(const Line& line);

}  // namespace tenon::recorded
