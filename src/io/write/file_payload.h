// Payloads that come out of files, and in another dtype.
#pragma once

#include <memory>
#include <unordered_map>

#include "io/pickle/pickler.h"
#include "io/read/loader.h"
#include "io/read/records.h"
#include "io/write/payload.h"
#include "tenon/dtype.h"

namespace tenon {

// The elements of another payload, converted.
std::shared_ptr<Payload> cast_payload(std::shared_ptr<Payload> payload, DType from, DType to);

class InflatedSlot;

// Of tensors whose storages stand for those of files, which outlive it: their bytes, compared with
// their checksums.
class FileSupply final : public Supply {
 public:
  // Unless any size is wanted, a target of much more bytes than the files store is refused.
  FileSupply(const LeftInFile& records, bool any_size);

  bool has_bytes(const Tensor& tensor) const override;
  std::shared_ptr<Payload> storage(const Tensor& tensor) override;
  std::string location(const Tensor& tensor) const override;
  void will_write(std::uint64_t bytes) override;
  void check_unchanged() const override;

 private:
  const LeftInFile& records_;
  bool any_size_;
  std::uint64_t stored_ = 0, written_ = 0;
  std::shared_ptr<InflatedSlot> slot_;
  std::unordered_map<const void*, std::shared_ptr<Payload>> payloads_;
};

}  // namespace tenon
