// Payloads that come out of files, and in another dtype.
#pragma once

#include <memory>
#include <unordered_map>

#include "io/loader.h"
#include "io/payload.h"
#include "io/pickler.h"
#include "io/records.h"
#include "tenon/dtype.h"

namespace tenon {

// The bytes of a storage in a file, compared with their checksum. The file outlives it.
std::shared_ptr<Payload> payload_of(const StorageRecord& record);

// The elements of another payload, converted.
std::shared_ptr<Payload> cast_payload(std::shared_ptr<Payload> payload, DType from, DType to);

// Of tensors whose storages stand for those of files.
class FileSupply final : public Supply {
 public:
  explicit FileSupply(const LeftInFile& records) noexcept : records_(records) {}

  bool has_bytes(const Tensor& tensor) const override;
  std::shared_ptr<Payload> storage(const Tensor& tensor) override;
  std::string location(const Tensor& tensor) const override;
  void check_unchanged() const override;

 private:
  const LeftInFile& records_;
  std::unordered_map<const void*, std::shared_ptr<Payload>> payloads_;
};

}  // namespace tenon
