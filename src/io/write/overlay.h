// Overlay: storages that are made while a tree is written, of parts of others or of their elements
// in another form. No byte of them exists until it is asked for.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>

#include "io/pickle/pickler.h"

namespace tenon {

class Overlay final : public Supply {
 public:
  explicit Overlay(Supply& below) noexcept : below_(below) {}
  // About what a tensor over new bytes takes, with the storage and its payload.
  static constexpr std::uint64_t kMadeTensor = ReadMeter::kTensor + 512;

  // A tensor with the flags and attributes of another, over new bytes.
  Tensor tensor(const Tensor& like, Layout layout, const Storage& storage) const;
  Storage add(std::shared_ptr<Payload> payload, std::string location);

  bool has_bytes(const Tensor& tensor) const override;
  std::shared_ptr<Payload> storage(const Tensor& tensor) override;
  std::string location(const Tensor& tensor) const override;
  void will_write(std::uint64_t bytes) override { below_.will_write(bytes); }
  void check_unchanged() const override { below_.check_unchanged(); }

 private:
  struct Made {
    Storage storage;
    std::shared_ptr<Payload> payload;
    const std::string* location;
  };
  const Made* find(const Tensor& tensor) const;

  Supply& below_;
  std::unordered_map<const void*, Made> made_;  // by the storages' identities
  std::set<std::string> locations_;             // each once: a file may have long ones
};

// The elements of a tensor one behind the other, conjugation and negation done, of a payload that
// has all bytes of its storage. As it is where that is a stretch of it.
std::shared_ptr<Payload> packed_payload(const std::shared_ptr<Payload>& storage,
                                        const Layout& layout);
// Whether the elements lie one behind the other, and stand for themselves.
bool is_stretch(const Layout& layout);

}  // namespace tenon
