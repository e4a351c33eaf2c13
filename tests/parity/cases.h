// Tensors in the files under cases/: what PyTorch did, as tests/record/parity/generate.py wrote it
// down. tests/support/recorded.h says what a file and its words are.
//   tensor DTYPE SHAPE STRIDES OFFSET FLAGS BYTES   a tensor over a storage with these bytes
//   op NAME ARGUMENTS...                            what is done
//   result DTYPE SHAPE STRIDES OFFSET BYTES         the tensor that comes out, its elements packed
//   error TYPE                                      or the exception
// Cases of layers have more words: tests/record/parity/spec.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon::parity {

using recorded::Case;
using recorded::dtype;
using recorded::integers;
using recorded::Line;
using recorded::maybe_integer;

// The files of tests/parity/cases, or of the folder that TENON_CASES names. Error if there are
// fewer cases: then something else is wrong with the file.
std::vector<Case> read_cases(const std::string& kind, std::size_t at_least = 10);

std::vector<std::byte> bytes(const std::string& word);
std::string hex(const void* data, std::size_t size);
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
