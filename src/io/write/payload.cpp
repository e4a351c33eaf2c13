#include "io/write/payload.h"

#include <cstring>
#include <string>

#include "io/read/tensors.h"
#include "tenon/extend/body.h"

namespace tenon {

Payload::~Payload() = default;

void Payload::stream(FunctionRef<void(std::span<const std::byte>)> piece) {
  const InMemory all = hold();
  piece({all.data, static_cast<std::size_t>(size_)});
}

InMemory Payload::hold() {
  InMemory all{{}, {}, memory()};
  if (all.data != nullptr || size_ == 0) return all;
  all.own.resize(static_cast<std::size_t>(size_));
  read(0, all.own);
  finish();
  all.data = all.own.data();
  return all;
}

namespace {

class StoragePayload final : public Payload {
 public:
  StoragePayload(const Storage& storage, std::uint64_t offset, std::uint64_t size)
      : Payload(size),
        storage_(storage),
        data_(static_cast<const std::byte*>(storage.data()) + offset) {}
  const std::byte* memory() const noexcept override { return data_; }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    if (!into.empty()) std::memcpy(into.data(), data_ + offset, into.size());
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    const auto* begin = static_cast<const std::byte*>(storage_.data());
    return payload_of(storage_, static_cast<std::uint64_t>(data_ - begin) + offset, size);
  }

 private:
  Storage storage_;
  const std::byte* data_;
};

class TextPayload final : public Payload {
 public:
  explicit TextPayload(std::string text) : Payload(text.size()), text_(std::move(text)) {}
  const std::byte* memory() const noexcept override {
    return reinterpret_cast<const std::byte*>(text_.data());
  }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    if (!into.empty()) std::memcpy(into.data(), text_.data() + offset, into.size());
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    return payload_of(
        text_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
  }

 private:
  std::string text_;
};

// Elements that lie apart, or repeat, or stand for others. The bytes they lie in are in memory
// while it is read, and it is not.
class PackedPayload final : public Payload {
 public:
  PackedPayload(std::shared_ptr<Payload> stretch, const Layout& layout)
      : Payload(static_cast<std::uint64_t>(layout.numel() * layout.itemsize())),
        stretch_(std::move(stretch)),
        layout_(layout) {
    layout_.offset = 0;
    layout_.device = Device::cpu();
    if (layout_.dtype == bool_) layout_.dtype = uint8;  // as they are, also if neither 0 nor 1
  }
  bool divisible() const noexcept override { return false; }
  void read(std::uint64_t /*offset*/, std::span<std::byte> into) override {
    std::byte* at = into.data();
    stream([&](std::span<const std::byte> piece) {
      std::memcpy(at, piece.data(), piece.size());
      at += piece.size();
    });
  }
  void stream(FunctionRef<void(std::span<const std::byte>)> piece) override {
    const InMemory all = stretch_->hold();
    // It is only read.
    const Storage bytes = Storage::borrow(const_cast<std::byte*>(all.data),
                                          static_cast<std::size_t>(stretch_->size()));
    packed_pieces(Tensor(make_ref<Body>(Layout(layout_), Storage(bytes))), piece);
  }
  std::uint64_t streamed() const noexcept override { return stretch_->held(); }
  std::uint64_t held() const noexcept override { return size() + streamed(); }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    std::string bytes(static_cast<std::size_t>(this->size()), '\0');
    PackedPayload(stretch_, layout_).read(0, std::as_writable_bytes(std::span(bytes)));
    return payload_of(
        bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)));
  }

 private:
  std::shared_ptr<Payload> stretch_;
  Layout layout_;
};

}  // namespace

std::shared_ptr<Payload> Payload::packed(const Layout& layout) const {
  // Its own view of the stretch it lies in: others may be reading the same bytes.
  const ByteSpan span = bytes_of(layout);
  return std::make_shared<PackedPayload>(slice(span.begin, span.end - span.begin), layout);
}

std::shared_ptr<Payload> payload_of(const Storage& storage, std::uint64_t offset,
                                    std::uint64_t size) {
  return std::make_shared<StoragePayload>(storage, offset, size);
}

std::shared_ptr<Payload> payload_of(std::string text) {
  return std::make_shared<TextPayload>(std::move(text));
}

}  // namespace tenon
