#include "io/overlay.h"

#include <cstring>
#include <limits>

#include "core/body_editor.h"
#include "io/tensors.h"

namespace tenon {

Tensor Overlay::tensor(const Tensor& like, Layout layout, const Storage& storage) const {
  layout.device = Device::meta();
  Tensor made(make_ref<Body>(std::move(layout), Storage(storage)));
  if (like.is_parameter()) BodyEditor::set_parameter(made.body(), true);
  if (like.requires_grad()) BodyEditor::set_requires_grad(made.body(), true);
  for (auto& [name, value] : like.attributes()) made.set_attribute(name, value);
  return made;
}

Storage Overlay::add(std::shared_ptr<Payload> payload, std::string location) {
  const Storage storage =
      Storage::without_data(static_cast<std::size_t>(payload->size()), Device::meta());
  made_.emplace(storage.identity(), Made{storage, std::move(payload), std::move(location)});
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
  return made != nullptr ? made->location : below_.location(tensor);
}

namespace {

class PackedPayload final : public Payload {
 public:
  PackedPayload(std::shared_ptr<Payload> storage, const Layout& layout)
      : Payload(static_cast<std::uint64_t>(layout.numel() * layout.itemsize())),
        // Its own view of the stretch it lies in: others may be reading the same storage.
        storage_(
            storage->slice(bytes_of(layout).begin, bytes_of(layout).end - bytes_of(layout).begin)),
        layout_(layout) {
    layout_.offset = 0;
    layout_.device = Device::cpu();
    if (layout_.dtype == bool_) layout_.dtype = uint8;  // as they are, also if neither 0 nor 1
  }
  bool divisible() const noexcept override { return false; }
  std::uint64_t whole() const noexcept override {
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t beside = storage_->memory() == nullptr ? storage_->whole() : 0;
    return beside < kAll - 2 * size() ? 2 * size() + beside : kAll;  // sizes are below 2^63
  }
  void read(std::uint64_t /*offset*/, std::span<std::byte> into) override {
    const InMemory all = in_memory(*storage_);
    // The copy only reads.
    const Storage bytes = Storage::borrow(const_cast<std::byte*>(all.data),
                                          static_cast<std::size_t>(storage_->size()));
    const Tensor packed = packed_copy(Tensor(make_ref<Body>(Layout(layout_), Storage(bytes))));
    std::memcpy(into.data(), packed.data_ptr(), into.size());
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    PackedPayload whole(storage_, layout_);
    std::string bytes(static_cast<std::size_t>(whole.size()), '\0');
    whole.read(0, std::as_writable_bytes(std::span(bytes)));
    return payload_of(
        bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
  }

 private:
  std::shared_ptr<Payload> storage_;
  Layout layout_;
};

}  // namespace

bool is_stretch(const Layout& layout) {
  return layout.is_contiguous() && !layout.conj && !layout.neg;
}

std::shared_ptr<Payload> packed_payload(const std::shared_ptr<Payload>& storage,
                                        const Layout& layout) {
  const auto bytes = static_cast<std::uint64_t>(layout.numel() * layout.itemsize());
  if (bytes == 0) return payload_of(std::string());
  if (!is_stretch(layout)) return std::make_shared<PackedPayload>(storage, layout);
  const auto start = static_cast<std::uint64_t>(layout.offset * layout.itemsize());
  return start == 0 && bytes == storage->size() ? storage : storage->slice(start, bytes);
}

}  // namespace tenon
