#include "nn/shared_storages.h"

#include <algorithm>
#include <utility>

#include "core/alias.h"
#include "tenon/layout.h"

namespace tenon::nn::detail {

namespace {

// A storage nobody but one tensor holds is not shared, which is all there is to know of most.
bool may_share(const Tensor& tensor) {
  return tensor.defined() && !tensor.body().is_wrapper() && tensor.storage().use_count() > 1;
}

}  // namespace

SharedStorages::SharedStorages(const Module& root, bool recurse) {
  const auto look_at = [&](const Module& module) {
    for (const TensorSlot* slot : module.parameter_slots()) add(slot->get());
    for (const TensorSlot* slot : module.buffer_slots()) add(slot->get());
  };
  if (!recurse) {
    look_at(root);
  } else {
    for (const Module* module : root.modules()) look_at(*module);
  }
}

void SharedStorages::add(const Tensor& tensor) {
  if (!may_share(tensor) || !seen_.insert(tensor.cell().get()).second) return;
  const Layout& layout = tensor.layout();
  // Elements of the storage, from the first to behind the last; none is at the offset, and no
  // further.
  const std::int64_t begin = layout.offset;
  const std::int64_t end = std::max(begin, required_bytes(layout) / layout.itemsize());
  Shared& shared = storages_[tensor.storage().identity()];
  shared.storage = tensor.storage();
  shared.numel += layout.numel();
  if (shared.cells++ == 0) {
    shared.dtype = layout.dtype;
    shared.begin = begin;
    shared.end = end;
    return;
  }
  shared.one_dtype = shared.one_dtype && shared.dtype == layout.dtype;
  shared.begin = std::min(shared.begin, begin);
  shared.end = std::max(shared.end, end);
}

std::optional<Tensor> SharedStorages::map(const Tensor& tensor,
                                          const std::function<Tensor(const Tensor&)>& f) {
  if (storages_.empty() || !may_share(tensor)) return std::nullopt;
  const auto found = storages_.find(tensor.storage().identity());
  if (found == storages_.end()) return std::nullopt;
  Shared& shared = found->second;
  if (shared.cells < 2 || !shared.one_dtype) return std::nullopt;
  // Parts of something large, far from each other: what is between them is not theirs.
  if (shared.end - shared.begin > 2 * shared.numel + 1024) return std::nullopt;
  const Layout layout = tensor.layout();  // f may give the tensor another body
  const Storage storage = tensor.storage();
  // One that was put there since.
  if (layout.dtype != shared.dtype || layout.offset < shared.begin ||
      required_bytes(layout) / layout.itemsize() > shared.end)
    return std::nullopt;
  if (!shared.mapped.defined()) {
    Layout all = layout;
    all.shape = Shape({shared.end - shared.begin});
    all.strides = Dims({1});
    all.offset = shared.begin;
    all.conj = all.neg = false;
    shared.mapped = f(Tensor(alias_body(tensor.body(), std::move(all))));
  }
  // f had nothing to do.
  if (shared.mapped.storage().is(storage) && shared.mapped.dtype() == layout.dtype) return tensor;
  Layout own = shared.mapped.layout();
  own.shape = layout.shape;
  own.strides = layout.strides;
  own.offset += layout.offset - shared.begin;
  own.conj = layout.conj;
  own.neg = layout.neg;
  return Tensor(alias_body(shared.mapped.body(), std::move(own)));
}

}  // namespace tenon::nn::detail
