// Payload: bytes on their way into a file, from memory or from another file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/storage.h"

namespace tenon {

class Payload {
 public:
  explicit Payload(std::uint64_t size) noexcept : size_(size) {}
  virtual ~Payload();
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  // Where all of them are, if they are in memory; else null.
  virtual const std::byte* memory() const noexcept { return nullptr; }
  // A part of them. From any thread; no byte is asked for twice.
  virtual void read(std::uint64_t offset, std::span<std::byte> into) = 0;
  // Whether it can be read in parts, or only at once.
  virtual bool divisible() const noexcept { return true; }
  // Memory that reading it at once takes, itself included.
  virtual std::uint64_t whole() const noexcept { return size_; }
  // When everything has been read: ChecksumError if it was not what it should be.
  virtual void finish() {}
  // A part of it as a payload of its own, instead of this one.
  virtual std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const = 0;

 private:
  std::uint64_t size_;
};

// All of it, in memory of its own unless it is in memory already: what keeps it, and where it is.
struct InMemory {
  std::vector<std::byte> own;
  const std::byte* data;
};
InMemory in_memory(Payload& payload);

// A part of a storage on the CPU, which it keeps alive.
std::shared_ptr<Payload> payload_of(const Storage& storage, std::uint64_t offset,
                                    std::uint64_t size);
// Text.
std::shared_ptr<Payload> payload_of(std::string text);

}  // namespace tenon
