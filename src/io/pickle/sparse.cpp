#include "io/pickle/sparse.h"

#include <algorithm>

#include "base/text.h"
#include "io/read/records.h"
#include "tenon/error.h"

namespace tenon {

std::vector<std::pair<Tensor, IndexBounds>> index_bounds(const Value& sparse,
                                                         const std::string& file) {
  const Value& state = sparse.object_state();
  const auto refuse = [&](std::string_view what) {
    throw FormatError(file, 0, concat("a sparse tensor whose parts do not fit: ", what));
  };
  std::vector<std::int64_t> sizes;
  const Value* size = state.find("size");
  if (size != nullptr && size->kind() == Value::Kind::size) {
    sizes.assign(size->as_size().begin(), size->as_size().end());
  } else if (size != nullptr && size->kind() == Value::Kind::tuple) {
    for (const Value& one : size->items()) {
      if (one.kind() != Value::Kind::integer) refuse("its size");
      sizes.push_back(one.as_int());
    }
  } else {
    refuse("it has no size");
  }
  if (sizes.size() > kMostDimensions)
    refuse(concat(sizes.size(), " dimensions are more than ", kMostDimensions));
  for (const std::int64_t one : sizes) {
    if (one < 0) refuse("a negative size");
  }
  const Tensor values = state.find("values")->as_tensor();
  if (const Value* found = state.find("indices")) {
    const Tensor indices = found->as_tensor();
    if (indices.dtype() != int64 || indices.dim() != 2)
      refuse("its indices are no matrix of int64");
    if (indices.size(0) > static_cast<std::int64_t>(sizes.size()))
      refuse("more rows of indices than dimensions");
    if (values.dim() < 1 || values.size(0) != indices.size(1))
      refuse("as many values as indices are needed");
    const auto indexed = static_cast<std::size_t>(indices.size(0));
    if (static_cast<std::size_t>(values.dim()) != sizes.size() - indexed + 1)
      refuse("values of another number of dimensions");
    for (std::size_t d = indexed; d < sizes.size(); ++d) {
      if (values.size(static_cast<std::int64_t>(d - indexed) + 1) != sizes[d])
        refuse("values of other sizes");
    }
    // What is not indexed is in the values.
    return {{indices, {{sizes.begin(), sizes.begin() + indices.size(0)}, false}}};
  }
  const bool rows = state.find("crow_indices") != nullptr;
  const Tensor compressed = state.find(rows ? "crow_indices" : "ccol_indices")->as_tensor();
  const Tensor plain = state.find(rows ? "col_indices" : "row_indices")->as_tensor();
  if ((compressed.dtype() != int64 && compressed.dtype() != int32) ||
      plain.dtype() != compressed.dtype())
    refuse("its indices are neither int32 nor int64");
  if (compressed.dim() < 1 || plain.dim() != compressed.dim() || values.dim() < plain.dim())
    refuse("its parts have other numbers of dimensions");
  const std::int64_t count = plain.size(-1), batches = plain.dim() - 1;
  const auto first = static_cast<std::size_t>(batches);
  if (sizes.size() < first + 2) refuse("less than two dimensions");
  if (values.size(batches) != count) refuse("as many values as indices are needed");
  for (std::int64_t d = 0; d < batches; ++d) {
    if (compressed.size(d) != plain.size(d) || values.size(d) != plain.size(d) ||
        plain.size(d) != sizes[static_cast<std::size_t>(d)])
      refuse("its parts have other numbers of matrices");
  }
  // Blocks are the dimensions of values behind their number.
  const std::string& layout = state.find("layout")->as_string();
  const bool blocked = layout == "torch.sparse_bsr" || layout == "torch.sparse_bsc";
  if (blocked && values.dim() < batches + 3) refuse("its values are no blocks");
  const std::int64_t tall = blocked ? values.size(batches + 1) : 1;
  const std::int64_t wide = blocked ? values.size(batches + 2) : 1;
  if (tall < 1 || wide < 1 || sizes[first] % tall != 0 || sizes[first + 1] % wide != 0)
    refuse("blocks that do not fill it");
  const std::int64_t down = sizes[first] / tall, across = sizes[first + 1] / wide;
  // One less of what is there: one more than a size of the file may be no number.
  if (compressed.size(-1) - 1 != (rows ? down : across))
    refuse("compressed indices of another length");
  return {{compressed, {{count + 1}, compressed.dim() == 1}},
          {plain, {{rows ? across : down}, false}}};
}

void add_bounds(std::vector<IndexBounds>& known, IndexBounds more) {
  std::size_t alike = 0;
  for (IndexBounds& one : known) {
    if (one.compressed != more.compressed || one.most.size() != more.most.size()) continue;
    if (one.most == more.most) return;
    if (!one.compressed) {
      for (std::size_t i = 0; i < one.most.size(); ++i)
        one.most[i] = std::min(one.most[i], more.most[i]);
      return;
    }
    ++alike;
  }
  // Compressed indices end with one number: none fit two, and more need not be known.
  if (alike < 2) known.push_back(std::move(more));
}

void check_not_repeated(const Shape& shape, DType dtype, std::uint64_t storage_bytes,
                        const std::string& file) {
  // The geometry has been checked: the product fits.
  const auto bytes = static_cast<std::uint64_t>(shape.numel() * itemsize(dtype));
  if (bytes <= storage_bytes) return;
  throw FormatError(file, 0,
                    concat("a sparse tensor whose indices repeat ", storage_bytes,
                           " bytes of storage until they are ", bytes));
}

void check_indices(const Tensor& packed, const IndexBounds& bounds, const std::string& file,
                   std::uint64_t offset) {
  const std::int64_t count = packed.numel();
  if (count == 0) return;
  const bool by_row = bounds.most.size() > 1;
  const std::int64_t each = by_row ? count / std::max<std::int64_t>(packed.size(0), 1) : count;
  const auto at = [&](std::int64_t i) -> std::int64_t {
    if (packed.dtype() == int64) return static_cast<const std::int64_t*>(packed.data_ptr())[i];
    return static_cast<const std::int32_t*>(packed.data_ptr())[i];
  };
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = at(i);
    const std::int64_t most = bounds.most[by_row ? static_cast<std::size_t>(i / each) : 0];
    if (index < 0 || index >= most) {
      throw FormatError(file, offset,
                        concat("a sparse tensor whose index ", index, " at position ", i,
                               " is outside of 0 to ", most - 1));
    }
    if (bounds.compressed && (index < before || (i == 0 && index != 0)))
      throw FormatError(file, offset,
                        concat("a sparse tensor whose compressed indices go back at position ", i,
                               ", or do not begin with 0"));
    before = index;
  }
  if (bounds.compressed && before != bounds.most[0] - 1) {
    throw FormatError(file, offset,
                      concat("a sparse tensor whose compressed indices end with ", before,
                             " and not with the number of its values, ", bounds.most[0] - 1));
  }
}

}  // namespace tenon
