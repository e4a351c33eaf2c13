#include "io/tensors.h"

#include <algorithm>

#include "base/text.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/element_copy.h"
#include "core/uninitialized.h"
#include "io/source.h"
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
