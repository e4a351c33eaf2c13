#include "ops/index/positions.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/where.h"

namespace tenon::positions {

Dims sizes(const Tensor& tensor) { return tensor.dim() == 0 ? Dims{1} : Dims(tensor.shape()); }
Dims strides(const Tensor& tensor) { return tensor.dim() == 0 ? Dims{1} : tensor.stride(); }

void check_index_dtype(const OpInfo& op, const Tensor& index) {
  if (index.dtype() == int64 || index.dtype() == int32) return;
  throw DTypeError(concat(op.name(), "(): Expected dtype int32/int64 for index, but got ",
                          info(index.dtype()).name, ": convert it with to(int64)"));
}

void check_device(const OpInfo& op, const Tensor& self, const Tensor& other) {
  const Tensor both[] = {self, other};
  same_device(op.name(), both);
}

Tensor checked_positions(const OpInfo& op, const Tensor& index, std::int64_t low, std::int64_t size,
                         const std::string& of) {
  Tensor positions = index.to(int64);
  const auto bad = find_bad_position(positions.shape(), operand(positions), low, size);
  if (!bad) return positions;
  throw IndexError(concat(op.name(), "(): index ", bad->value, " is out of bounds for ", of,
                          " with size ", size, " (it stands at ", bracketed(bad->place),
                          " of an index of shape ", bracketed(index.shape()), ")"));
}
Tensor checked_positions(const OpInfo& op, const Tensor& index, const Tensor& self,
                         std::size_t dim) {
  return checked_positions(op, index, 0, sizes(self)[dim], concat("dimension ", dim));
}

Tensor from_the_front(const Tensor& positions, std::int64_t size) {
  return where(positions < 0, positions + size, positions);
}

std::size_t wrapped(std::int64_t dim, const Tensor& self) {
  return static_cast<std::size_t>(wrap_dim(dim, self.dim()));
}

namespace {

// self as the table: positions say where to go along the dimension.
void pick(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
          const Operand& own, const Operand& index, const Tensor& self, const void* factor) {
  Dims table_strides = strides(self);
  const std::int64_t step = table_strides[dim];
  table_strides[dim] = 0;
  Operand table = operand(self);
  table.strides = table_strides;
  pick_elements(function, shape, dim, own, index, table, step, self.dtype(), factor);
}

}  // namespace

void pick_slices(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
                 const Tensor& own, std::span<const std::int64_t> own_strides,
                 const Tensor& positions, const Tensor& self, const void* factor) {
  Dims index_strides = Dims::filled(shape.size(), 0);
  index_strides[dim] = strides(positions)[0];
  Operand place = operand(own), index = operand(positions);
  place.strides = own_strides;
  index.strides = index_strides;
  pick(function, shape, dim, place, index, self, factor);
}

void pick_everywhere(PickFunction function, std::size_t dim, const Tensor& own,
                     const Tensor& positions, const Tensor& self) {
  const Dims own_strides = strides(own), index_strides = strides(positions);
  Operand place = operand(own), index = operand(positions);
  place.strides = own_strides;
  index.strides = index_strides;
  pick(function, sizes(positions), dim, place, index, self, nullptr);
}

void check_dims(const char* of, const Tensor& self, const Tensor& index) {
  if (sizes(self).size() == sizes(index).size()) return;
  throw ShapeError(concat("Index tensor must have the same number of dimensions as ", of,
                          " tensor: the index has ", index.dim(), ", it has ", self.dim()));
}

bool fits_in(const Tensor& index, const Tensor& other, std::optional<std::size_t> except) {
  const Dims inner = sizes(index), outer = sizes(other);
  for (std::size_t d = 0; d < inner.size(); ++d) {
    if (d != except && inner[d] > outer[d]) return false;
  }
  return true;
}

}  // namespace tenon::positions
