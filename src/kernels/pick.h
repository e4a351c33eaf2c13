// Elements at places that a tensor of positions says, along one dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

enum class PickFunction : std::uint8_t {
  read,      // own = table
  write,     // table = own
  add,       // table += own, or factor * own
  multiply,  // table *= own
  largest,   // the larger of both, or NaN if one is
  smallest,
};

// Whether elements of that dtype can be added or multiplied.
TENON_API bool has_pick(PickFunction function, DType dtype);

// For every place p of the shape, with own[p] and table[p], the latter moved by index[p] *
// `table_stride` elements. The table's own stride along `dim` is 0. Where several places meet in
// the table, they come in the order of that dimension. The factor is one element, and goes with
// add. Positions are int64, and have been checked.
TENON_API void pick_elements(PickFunction function, std::span<const std::int64_t> shape,
                             std::size_t dim, const Operand& own, const Operand& index,
                             const Operand& table, std::int64_t table_stride, DType dtype,
                             const void* factor = nullptr);

struct BadPosition {
  std::int64_t value;
  Dims place;  // where it stands
};
// The first of the positions that is not in [low, high), if there is one.
TENON_API std::optional<BadPosition> find_bad_position(std::span<const std::int64_t> shape,
                                                       const Operand& index, std::int64_t low,
                                                       std::int64_t high);

}  // namespace tenon
