#include "io/write/overlay.h"

#include "core/body_editor.h"
#include "io/read/tensors.h"

namespace tenon {

Tensor Overlay::tensor(const Tensor& like, Layout layout, const Storage& storage) const {
  layout.device = Device::meta();
  Tensor made(make_ref<Body>(std::move(layout), Storage(storage)));
  if (like.is_parameter()) BodyEditor::set_parameter(made.body(), true);
  if (like.requires_grad()) BodyEditor::set_requires_grad(made.body(), true);
  if (const auto* attributes = BodyEditor::attributes(like.body()))
    BodyEditor::need_attributes(made.body()).values = attributes->values;
  return made;
}

Storage Overlay::add(std::shared_ptr<Payload> payload, std::string location) {
  const Storage storage =
      Storage::without_data(static_cast<std::size_t>(payload->size()), Device::meta());
  const std::string* where = &*locations_.insert(std::move(location)).first;
  made_.emplace(storage.identity(), Made{storage, std::move(payload), where});
  return storage;
}

const Overlay::Made* Overlay::find(const Tensor& tensor) const {
  const auto found = made_.find(tensor.storage().identity());
  return found == made_.end() ? nullptr : &found->second;
}

bool Overlay::has_bytes(const Tensor& tensor) const {
  return find(tensor) != nullptr || below_.has_bytes(tensor);
}
std::shared_ptr<Payload> Overlay::storage(const Tensor& tensor) {
  const Made* made = find(tensor);
  return made != nullptr ? made->payload : below_.storage(tensor);
}
std::string Overlay::location(const Tensor& tensor) const {
  const Made* made = find(tensor);
  return made != nullptr ? *made->location : below_.location(tensor);
}

bool is_stretch(const Layout& layout) {
  return layout.is_contiguous() && !layout.conj && !layout.neg;
}

std::shared_ptr<Payload> packed_payload(const std::shared_ptr<Payload>& storage,
                                        const Layout& layout) {
  const auto bytes = static_cast<std::uint64_t>(layout.numel() * layout.itemsize());
  if (bytes == 0) return payload_of(std::string());
  if (!is_stretch(layout)) return storage->packed(layout);
  const auto start = static_cast<std::uint64_t>(layout.offset * layout.itemsize());
  return start == 0 && bytes == storage->size() ? storage : storage->slice(start, bytes);
}

}  // namespace tenon
