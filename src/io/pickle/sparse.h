// What the parts of a sparse tensor have to be for each other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

// What the indices of a sparse tensor may be.
struct IndexBounds {
  std::vector<std::int64_t> most;  // beyond the largest: of each row of COO indices, or of all
  bool compressed = false;         // from 0, never going back, to the last one allowed
};

// The tensors of indices in a sparse tensor, with their bounds. FormatError for parts that cannot
// belong together. Looks at no element.
std::vector<std::pair<Tensor, IndexBounds>> index_bounds(const Value& sparse,
                                                         const std::string& file);

// Further bounds of the same tensor of indices. However many come, a few are kept.
void add_bounds(std::vector<IndexBounds>& known, IndexBounds more);

// FormatError if a tensor of indices has more elements than fit its storage, of which it would
// repeat some: nobody saves such ones, and to compare them takes as long as they say.
void check_not_repeated(const Shape& shape, DType dtype, std::uint64_t storage_bytes,
                        const std::string& file);

// FormatError if an index of a packed tensor on the CPU is outside its bounds. `offset` is where
// the indices are in the file.
void check_indices(const Tensor& packed, const IndexBounds& bounds, const std::string& file,
                   std::uint64_t offset);

}  // namespace tenon
