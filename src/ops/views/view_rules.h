// The shape rules of views: a layout and arguments in, a layout or an error out. No tensors, so
// they hold for every device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/layout.h"

namespace tenon::rules {

// The shape with its one -1, if any, worked out. ShapeError if the elements do not fit.
Shape infer_size(const Shape& shape, std::int64_t numel);
// The strides under which the same elements have another shape, or nothing if no strides do.
std::optional<Dims> view_strides(const Layout& layout, const Shape& shape);

Layout view(const Layout& self, const Shape& shape);
Layout view_dtype(const Layout& self, DType dtype);
Layout slice(const Layout& self, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step);
Layout select(const Layout& self, std::int64_t dim, std::int64_t index);
Layout transpose(const Layout& self, std::int64_t dim0, std::int64_t dim1);
Layout permute(const Layout& self, const Dims& dims);
Layout expand(const Layout& self, const Shape& size);
Layout squeeze(const Layout& self);
Layout squeeze(const Layout& self, const Dims& dims);
Layout unsqueeze(const Layout& self, std::int64_t dim);
// storage_bytes: what the storage has, which the result must not reach beyond.
Layout as_strided(const Layout& self, const Shape& size, const Dims& stride,
                  std::optional<std::int64_t> offset, std::size_t storage_bytes);
Layout diagonal(const Layout& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2);
Layout unfold(const Layout& self, std::int64_t dim, std::int64_t size, std::int64_t step);
// A list of tensors this long would not fit memory. ValueError.
void check_pieces(std::int64_t count, const char* op);
std::vector<Layout> split(const Layout& self, std::int64_t split_size, std::int64_t dim);
std::vector<Layout> split_with_sizes(const Layout& self, const Dims& sizes, std::int64_t dim);
std::vector<Layout> unbind(const Layout& self, std::int64_t dim);
Layout view_as_real(const Layout& self);
Layout view_as_complex(const Layout& self);

}  // namespace tenon::rules
