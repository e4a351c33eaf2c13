// Reading checkpoints: files of torch.save (zip archives and the older stream) and safetensors.
//
//   Value state = load("model.pth", {.mmap = true});
//   Checkpoint file = Checkpoint::open("model.pth");       // headers only
//   for (const TensorFacts& t : file.tensors()) std::cout << t.name << " " << t.shape << "\n";
//
// The kind of a file is told by its bytes. Nothing in it is ever executed: names outside a fixed
// list are refused. Whatever is wrong is a FormatError with the place in the file, before memory is
// spent on it; what a file announces is bounded by the bytes that are there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"
#include "tenon/value.h"

namespace tenon {

struct OpenOptions {
  // Objects that are neither tensors nor plain values are kept as their names, arguments and
  // states: the tensors of a whole pickled module or a TorchScript archive can then be read.
  bool inert = false;
};

struct LoadOptions {
  // Storages are slices of the mapped file, read when touched. Writing to a tensor changes this
  // process's copy, never the file. If the file is cut short while it is mapped, touching what is
  // gone is a SIGBUS.
  bool mmap = false;
  bool inert = false;
  // Compare the bytes with their checksums, where the format has them. A mapped load reads none.
  bool verify = true;
  // Where tensors go, whatever device they were on. Nothing: the CPU, if they were there; an error
  // if not. "meta" reads no data.
  std::optional<Device> map_location = {};
};

struct TensorFacts {
  std::string name;  // keys and positions on the way to it, joined by dots
  DType dtype = float32;
  Shape shape;
  Dims stride;
  std::int64_t offset = 0;  // in its storage, in elements
  std::string device;       // as the file says
  bool requires_grad = false;
  bool parameter = false;
  std::uint32_t storage = 0;  // tensors with the same number share memory
};

struct StorageFacts {
  std::string device;
  std::uint64_t nbytes = 0;
  std::uint64_t offset = 0;  // in the file
  bool mappable = true;      // not deflated, in our byte order, and where its elements may lie
};

class TENON_API Checkpoint {
 public:
  static Checkpoint open(const std::string& path, const OpenOptions& options = {});
  // Bytes that outlive the checkpoint and what is loaded from it.
  static Checkpoint open(std::span<const std::byte> bytes, const OpenOptions& options = {});
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::string& file() const noexcept;
  std::string_view format() const noexcept;  // "pth", "legacy", "torchscript", "safetensors"
  bool has_checksums() const noexcept;
  // What is in it, with tensors on meta in the place of those in the file.
  const Value& tree() const noexcept;
  // Every tensor by its name. FormatError if two have the same.
  const std::vector<TensorFacts>& tensors() const noexcept;
  const std::vector<StorageFacts>& storages() const noexcept;

  Value load(const LoadOptions& options = {}) const;
  // Reads all bytes and compares them. FormatError where they do not match.
  void verify() const;
  // The elements of a tensor, packed, conjugation and negation done, piece by piece.
  void read(std::size_t tensor, const std::function<void(std::span<const std::byte>)>& piece) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

TENON_API Value load(const std::string& path, const LoadOptions& options = {});

}  // namespace tenon
