#include "io/payload.h"

#include <cstring>
#include <string>

namespace tenon {

Payload::~Payload() = default;

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

}  // namespace

InMemory in_memory(Payload& payload) {
  InMemory out{{}, payload.memory()};
  if (out.data != nullptr || payload.size() == 0) return out;
  out.own.resize(static_cast<std::size_t>(payload.size()));
  payload.read(0, out.own);
  payload.finish();
  out.data = out.own.data();
  return out;
}

std::shared_ptr<Payload> payload_of(const Storage& storage, std::uint64_t offset,
                                    std::uint64_t size) {
  return std::make_shared<StoragePayload>(storage, offset, size);
}

std::shared_ptr<Payload> payload_of(std::string text) {
  return std::make_shared<TextPayload>(std::move(text));
}

}  // namespace tenon
