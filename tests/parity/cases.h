// Reading the files under cases/: what PyTorch did, as tests/interop/generate.py wrote it down.
//
// A file is blocks separated by blank lines; a line is words separated by spaces; "#" begins a
// comment line. In words, "-" is nothing (an empty list, no bytes), "2,3" a list, and a quoted word
// is JSON text.
//   tensor DTYPE SHAPE STRIDES OFFSET FLAGS BYTES   a tensor over a storage with these bytes
//   op NAME ARGUMENTS...                            what is done
//   result DTYPE SHAPE STRIDES OFFSET BYTES         the tensor that comes out, its elements packed
//   error TYPE                                      or the exception
// Cases of layers have more words: tests/interop/spec.py.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::parity {

using Line = std::vector<std::string>;

struct Case {
  std::string where;  // file and line, for messages
  std::vector<Line> lines;

  // The first line that begins with a word. Error if there is none.
  const Line& line(const std::string& word) const;
  bool has(const std::string& word) const;
  std::vector<Line> all(const std::string& word) const;
};

// The files of tests/parity/cases, or of the folder that TENON_CASES names. Error if there are
// fewer cases: then something else is wrong with the file.
std::vector<Case> read_cases(const std::string& kind, std::size_t at_least = 10);

std::vector<std::int64_t> integers(const std::string& word);
std::optional<std::int64_t> maybe_integer(const std::string& word);
std::vector<std::byte> bytes(const std::string& word);
std::string hex(const void* data, std::size_t size);
DType dtype(const std::string& word);
// True, -3, 2.5, inf; "1.0|2.0" is complex.
Scalar number(const std::string& word);

// The tensor of a "tensor" line; on meta the same without bytes.
Tensor make_tensor(const Line& line, bool meta = false);
// The elements packed, conjugation and negation done, every NaN made the same: what BYTES are
// compared as.
std::string element_hex(const Tensor& tensor);
std::string storage_hex(const Tensor& tensor);
// "dtype shape strides offset", as in a "result" line.
std::string layout_text(const Tensor& tensor);

}  // namespace tenon::parity
