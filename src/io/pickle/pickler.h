// A tree of values as the pickle program torch.save writes for it, and the storages it names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/support/read_meter.h"
#include "io/write/payload.h"
#include "tenon/detail/api.h"
#include "tenon/value.h"

namespace tenon {

// Where the bytes of tensors come from while a tree is written.
class TENON_API Supply {
 public:
  virtual ~Supply();
  virtual bool has_bytes(const Tensor& tensor) const = 0;  // a meta tensor has none
  // All bytes of the storage of a tensor that has some.
  virtual std::shared_ptr<Payload> storage(const Tensor& tensor) = 0;
  // The device the file will say: "cpu".
  virtual std::string location(const Tensor& tensor) const = 0;
  // So many bytes of tensors are going to be written, beside those of calls before. ValueError if
  // what they are made of does not warrant that.
  virtual void will_write(std::uint64_t /*bytes*/) {}
  // When everything has been read: FormatError if a file it came from has changed meanwhile.
  virtual void check_unchanged() const {}
};

// Of tensors in memory. Those of other devices are copied to the CPU.
class TENON_API MemorySupply final : public Supply {
 public:
  bool has_bytes(const Tensor& tensor) const override;
  std::shared_ptr<Payload> storage(const Tensor& tensor) override;
  std::string location(const Tensor& tensor) const override;
};

struct Pickled {
  std::string program;
  std::vector<std::shared_ptr<Payload>> storages;  // named 0, 1, 2, ...
};

// Charged to the meter. TypeError for an object that cannot be written; ValueError for tensors that
// see the same bytes as different types, and beyond a thousand levels.
Pickled pickled(const Value& value, Supply& supply, ReadMeter& meter);

}  // namespace tenon
