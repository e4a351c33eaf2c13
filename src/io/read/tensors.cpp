#include "io/read/tensors.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/text.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/element_copy.h"
#include "core/uninitialized.h"
#include "io/read/source.h"
#include "tenon/error.h"

namespace tenon {

Tensor tensor_over(const TensorRecord& record, Storage storage, Device device) {
  Layout layout{record.shape, record.stride, record.offset, record.dtype, device};
  layout.conj = record.conj;
  layout.neg = record.neg;
  Tensor tensor(make_ref<Body>(std::move(layout), std::move(storage)));
  if (record.requires_grad) BodyEditor::set_requires_grad(tensor.body(), true);
  return tensor;
}

Tensor parameter_over(const Tensor& data, bool requires_grad) {
  Tensor parameter(alias_body(data.body(), Layout(data.layout())));
  BodyEditor::set_parameter(parameter.body(), true);
  if (requires_grad) BodyEditor::set_requires_grad(parameter.body(), true);
  return parameter;
}

Tensor uninitialized_on(Device device, const UninitializedRecord& record) {
  return make_uninitialized(record.dtype, device, record.parameter, record.requires_grad);
}

Tensor packed_copy(const Tensor& tensor) {
  Tensor packed =
      allocate_tensor(Layout::packed(tensor.layout().shape, tensor.dtype(), Device::cpu()));
  if (packed.numel() != 0) copy_tensor(packed, tensor);
  return packed;
}

std::uint64_t packing_cost(const Dims& shape, const Dims& strides, DType dtype) {
  constexpr std::int64_t kRun = 8, kApart = 16;
  // Sizes and strides beside a size of 0 may be anything, and their products need not fit.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t numel = 1;
  std::int64_t run = 1,
               next = -1;  // the last elements that lie in order, or are one again and again
  std::int64_t inner = 0;  // the stride further in
  bool in_run = true, in_order = true;
  for (std::size_t d = shape.size(); d-- > 0;) {
    numel *= shape[d];
    if (shape[d] == 1) continue;
    in_run = in_run && (next < 0 || strides[d] == next);
    if (in_run) run *= shape[d];
    // The end of the last element fits; one stride after it need not.
    next = checked_mul(strides[d], shape[d]).value_or(std::numeric_limits<std::int64_t>::max());
    if (strides[d] == 0) continue;
    in_order = in_order && strides[d] >= inner;
    inner = strides[d];
  }
  const std::int64_t bytes = run >= std::min(kRun, numel) && in_order ? itemsize(dtype) : kApart;
  // The product of the sizes fits, with the elements' bytes; not always with more than those.
  return checked_mul(static_cast<std::uint64_t>(numel), static_cast<std::uint64_t>(bytes))
      .value_or(std::numeric_limits<std::uint64_t>::max());
}

namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;  // bytes

// Of a tensor whose sizes before dimension d are 1.
void packed_pieces(const Storage& storage, const Layout& layout, std::size_t d,
                   FunctionRef<void(std::span<const std::byte>)> piece) {
  const std::int64_t bytes = layout.numel() * layout.itemsize();
  if (bytes <= kPiece) {
    const Tensor packed = packed_copy(Tensor(make_ref<Body>(Layout(layout), Storage(storage))));
    return piece(
        {static_cast<const std::byte*>(packed.data_ptr()), static_cast<std::size_t>(bytes)});
  }
  const std::int64_t size = layout.shape[d];
  const std::int64_t rows = std::max<std::int64_t>(1, kPiece / (bytes / size));
  Layout part = layout;
  for (std::int64_t i = 0; i < size; i += rows) {
    part.shape[d] = std::min(rows, size - i);
    part.offset = layout.offset + i * layout.strides[d];
    packed_pieces(storage, part, d + 1, piece);
  }
}

}  // namespace

void packed_pieces(const Tensor& tensor, FunctionRef<void(std::span<const std::byte>)> piece) {
  if (tensor.numel() != 0) packed_pieces(tensor.storage(), tensor.layout(), 0, piece);
}

bool is_mappable(const StorageRecord& record) {
  const std::int64_t size = record.untyped ? 8 : std::min<std::int64_t>(itemsize(record.dtype), 8);
  return !record.deflated && !record.big_endian && !record.without_data &&
         (record.source->start() + record.offset) % static_cast<std::uint64_t>(size) == 0;
}

void check_dimensions(const Shape& shape) {
  if (shape.size() <= kMostDimensions) return;
  throw ValueError(concat("save: a tensor of ", shape.size(), " dimensions, and files hold up to ",
                          kMostDimensions, ": flatten() some of them"));
}

ByteSpan bytes_of(const Layout& layout) {
  if (layout.numel() == 0) return {0, 0};  // its offset may be anything
  const auto begin = static_cast<std::uint64_t>(layout.offset * layout.itemsize());
  std::int64_t last = layout.offset;
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    last += (layout.shape[d] - 1) * layout.strides[d];
  return {begin, static_cast<std::uint64_t>((last + 1) * layout.itemsize())};
}

}  // namespace tenon
