// Payload: bytes on their way into a file, from memory or from another file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "tenon/layout.h"
#include "tenon/storage.h"

namespace tenon {

// All of a payload, and what keeps it there.
struct InMemory {
  std::vector<std::byte> own;
  Storage storage = {};
  const std::byte* data = nullptr;
};

class Payload {
 public:
  explicit Payload(std::uint64_t size) noexcept : size_(size) {}
  virtual ~Payload();
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  // Where all of them are, if they are in memory; else null.
  virtual const std::byte* memory() const noexcept { return nullptr; }
  // A part of them; all of them, of what is not divisible. From any thread; no byte is asked for
  // twice.
  virtual void read(std::uint64_t offset, std::span<std::byte> into) = 0;
  // Whether it can be read in parts, or only from end to end.
  virtual bool divisible() const noexcept { return true; }
  // From end to end, in pieces that are gone when `piece` returns, none of which ends inside of an
  // element.
  virtual void stream(FunctionRef<void(std::span<const std::byte>)> piece);
  // Memory that streaming takes, but for a piece of a megabyte.
  virtual std::uint64_t streamed() const noexcept { return size_; }
  // All of it at once, in memory of its own unless it is in memory already.
  virtual InMemory hold();
  // Memory that holding takes.
  virtual std::uint64_t held() const noexcept { return memory() == nullptr ? size_ : 0; }
  // When everything has been read: ChecksumError if it was not what it should be.
  virtual void finish() {}
  // A part of it as a payload of its own, instead of this one.
  virtual std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const = 0;
  // The elements of a tensor over these bytes, one behind the other, conjugation and negation done,
  // as a payload of its own.
  virtual std::shared_ptr<Payload> packed(const Layout& layout) const;

 private:
  std::uint64_t size_;
};

// A part of a storage on the CPU, which it keeps alive.
std::shared_ptr<Payload> payload_of(const Storage& storage, std::uint64_t offset,
                                    std::uint64_t size);
// Text.
std::shared_ptr<Payload> payload_of(std::string text);

}  // namespace tenon
