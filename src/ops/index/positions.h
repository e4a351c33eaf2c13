// What reading and writing elements by their positions have in common: what an index may be, and
// the way to the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/pick.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon::positions {

// A tensor without dimensions counts as one with one element.
Dims sizes(const Tensor& tensor);
Dims strides(const Tensor& tensor);
std::size_t wrapped(std::int64_t dim, const Tensor& self);

void check_index_dtype(const OpInfo& op, const Tensor& index);
void check_device(const OpInfo& op, const Tensor& self, const Tensor& other);
void check_dims(const char* of, const Tensor& self, const Tensor& index);
// Whether index is nowhere larger than other, `except` along one dimension.
bool fits_in(const Tensor& index, const Tensor& other, std::optional<std::size_t> except);

// The positions as kernels want them, every one of them in [low, size).
Tensor checked_positions(const OpInfo& op, const Tensor& index, std::int64_t low, std::int64_t size,
                         const std::string& of);
Tensor checked_positions(const OpInfo& op, const Tensor& index, const Tensor& self,
                         std::size_t dim);
// Those that count from the end, counted from the front.
Tensor from_the_front(const Tensor& positions, std::int64_t size);

// An index of one dimension, over the shape of slices it picks.
void pick_slices(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
                 const Tensor& own, std::span<const std::int64_t> own_strides,
                 const Tensor& positions, const Tensor& self, const void* factor = nullptr);
// An index with the dimensions of self.
void pick_everywhere(PickFunction function, std::size_t dim, const Tensor& own,
                     const Tensor& positions, const Tensor& self);

}  // namespace tenon::positions
