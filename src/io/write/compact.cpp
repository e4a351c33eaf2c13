#include "io/write/compact.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "io/read/tensors.h"
#include "io/read/tree_map.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

struct Use {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;  // bytes
  std::size_t tensors = 0;
  bool gaps = false;
  std::uint64_t unit = 1;  // the largest element
  std::optional<Storage> part;
};

}  // namespace

Value compacted(const Value& tree, Overlay& overlay, ReadMeter& meter) {
  std::unordered_map<const void*, Use> uses;
  const auto counts = [&](const Tensor& tensor) {
    return !tensor.body().is_wrapper() && overlay.has_bytes(tensor);
  };
  const auto note = [&](const Tensor& tensor) {
    if (!counts(tensor)) return;
    meter.memory(sizeof(Use) + ReadMeter::kObject);
    Use& use = uses[tensor.storage().identity()];
    const Layout& layout = tensor.layout();
    use.unit = std::max(use.unit, static_cast<std::uint64_t>(layout.itemsize()));
    if (layout.numel() == 0) return;
    ++use.tensors;
    const ByteSpan span = bytes_of(layout);
    use.first = std::min(use.first, span.begin);
    use.last = std::max(use.last, span.end);
    // An expanded tensor is more without its overlaps than with them.
    use.gaps =
        static_cast<std::uint64_t>(layout.numel() * layout.itemsize()) < span.end - span.begin;
  };
  for_each_tensor(tree, note, meter);
  const auto over_parts = [&](const Tensor& tensor) -> Value {
    if (!counts(tensor)) return tensor;
    meter.memory(Overlay::kMadeTensor + heap_bytes(tensor.layout().shape) * 2);
    Use& use = uses.at(tensor.storage().identity());
    Layout layout = tensor.layout();
    if (use.tensors == 1 && use.gaps) {
      const auto packed = packed_payload(overlay.storage(tensor), layout);
      const Layout dense = Layout::packed(layout.shape, layout.dtype, Device::meta());
      return overlay.tensor(tensor, dense, overlay.add(packed, overlay.location(tensor)));
    }
    const std::uint64_t first = use.last == 0 ? 0 : use.first / use.unit * use.unit;
    if (!use.part) {
      const auto whole = overlay.storage(tensor);
      if (first == 0 && use.last == whole->size()) return tensor;
      use.part = overlay.add(whole->slice(first, use.last - first), overlay.location(tensor));
    }
    if (layout.numel() == 0)
      layout.offset = 0;
    else
      layout.offset -= static_cast<std::int64_t>(first) / layout.itemsize();
    return overlay.tensor(tensor, layout, *use.part);
  };
  return mapped_tensors(tree, over_parts, meter);
}

}  // namespace tenon
