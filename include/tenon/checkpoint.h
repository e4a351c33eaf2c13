// Reading checkpoints: files of torch.save (zip archives and the older stream) and safetensors.
//
//   StateDict state = load("model.pth", {.mmap = true});
//   Value optimizer = load("training.pth", {.path = "optimizer"});
//   Checkpoint file = Checkpoint::open("model.pth");       // headers only
//   for (const TensorFacts& t : file.tensors()) std::cout << t.name << " " << t.shape << "\n";
//
// The kind of a file is told by its bytes. Nothing in it is ever executed: names outside a fixed
// list are refused. Whatever is wrong is a FormatError with the place in the file, before memory is
// spent on it; what a file announces is bounded by the bytes that are there. A load that throws
// gives nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"
#include "tenon/key_map.h"
#include "tenon/map_location.h"
#include "tenon/read_limits.h"
#include "tenon/shape.h"
#include "tenon/state_dict.h"
#include "tenon/value.h"
#include "tenon/watch.h"

namespace tenon {

namespace detail {
class FileLoad;
}  // namespace detail

struct OpenOptions {
  // Objects that are neither tensors nor plain values are kept as their names, arguments and
  // states: the tensors of a whole pickled module or a TorchScript archive can then be read.
  bool inert = false;
  // The files an index names may be symbolic links that lead out of its folder.
  bool follow_links = false;
  // How much reading it may cost; beyond that, FormatError.
  ReadLimits limits = {};
};

struct LoadOptions {
  // Storages are slices of the mapped file, read when touched. Writing to a tensor changes this
  // process's copy, never the file. What cannot be used where it lies (StorageFacts::mappable) is
  // read. If the file is cut short while it is mapped, touching what is gone is a SIGBUS.
  bool mmap = false;
  // With mmap: writing to a tensor writes to the file (MAP_SHARED).
  bool shared = false;
  bool inert = false;         // see OpenOptions; a Checkpoint has its own
  bool follow_links = false;  // the same
  // Whether to compare the bytes with their checksums, where the format has them. Unless said, what
  // is read is compared, and what is mapped is not.
  std::optional<bool> verify = {};
  // Where tensors go. On "meta" no data is read. Unless said, they stay on the CPU; a tensor that
  // was on another device is a DeviceError.
  MapLocation map_location = {};
  // Only what is there: "model" of a training checkpoint, "layers.0" of nested dicts.
  std::string path = {};
  // Only the tensors whose names, counted from the path, it holds for. Others are left out of
  // dicts, and are None in lists. Of what is left out no byte is read.
  std::function<bool(std::string_view name)> filter = {};
  // Other names for the entries of a state dict, and for its modules in the metadata.
  KeyMap rename = {};
  Watch watch = {};
  ReadLimits limits = {};  // see OpenOptions; a Checkpoint has its own
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
  bool conj = false, neg = false;      // its elements stand for their conjugate, their negative
  std::uint32_t storage = kNoStorage;  // tensors with the same number share memory

  static constexpr std::uint32_t kNoStorage = 0xffffffff;  // of meta tensors
};

// A parameter or buffer of a lazy module that has no shape yet (tenon/uninitialized.h).
struct UninitializedFacts {
  std::string name;
  DType dtype = float32;
  std::string device;  // as the file says
  bool requires_grad = false;
  bool parameter = false;
};

// The texts are the checkpoint's.
struct StorageFacts {
  std::string_view file;    // the one it is in
  std::string_view key;     // its name there
  std::string_view device;  // as the file says
  std::uint64_t nbytes = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t stored = 0;  // bytes there
  bool deflated = false;     // and hardly ever as many as nbytes then
  // Not deflated, in our byte order, and where its elements may lie. Others are copied.
  bool mappable = true;
};

class TENON_API Checkpoint {
 public:
  // A file of any kind, an index of several (*.index.json), or a folder: the first of
  // model.safetensors, its index, pytorch_model.bin and its index that is in it.
  static Checkpoint open(const std::string& path, const OpenOptions& options = {});
  // The part of an open file from an offset to its end. The descriptor may be closed afterwards.
  static Checkpoint open(int descriptor, std::uint64_t offset, const OpenOptions& options = {});
  // Bytes that outlive the checkpoint.
  static Checkpoint open(std::span<const std::byte> bytes, const OpenOptions& options = {});
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  // What is in a checkpoint lives as long as it does: none of these from one that is a temporary.
  const std::string& file() const& noexcept;
  // "pth", "legacy", "torchscript", "safetensors" or "index"
  std::string_view format() const noexcept;
  bool has_checksums() const noexcept;
  // What the file says about itself: {"version", "3"}, {"byteorder", "little"}, ...
  std::vector<std::pair<std::string, std::string>> facts() const;
  // What is in it, with tensors on meta in the place of those in the file.
  const Value& tree() const& noexcept;
  // Every tensor by its name. Opening is a FormatError if two have the same.
  const std::vector<TensorFacts>& tensors() const& noexcept;
  const std::vector<StorageFacts>& storages() const& noexcept;
  // What has a name and no shape yet, and is none of the tensors. Nor has it the name of one.
  const std::vector<UninitializedFacts>& uninitialized() const& noexcept;
  void file() const&& = delete;
  void tree() const&& = delete;
  void tensors() const&& = delete;
  void storages() const&& = delete;
  void uninitialized() const&& = delete;
  // The place of a name in tensors(); nothing if there is none.
  std::optional<std::size_t> find(std::string_view name) const;

  // From here on any number of threads at once, as for everything that is const.
  Value load(const LoadOptions& options = {}) const;
  // Reads all bytes and compares them. ChecksumError where they do not match.
  void verify(const Watch& watch = {}) const;
  // The elements of a tensor, packed, conjugation and negation done, piece by piece. Unless told
  // otherwise, compared with their checksum: an error may come behind the last piece. A deflated
  // storage is inflated as a whole, and some are kept: tensors are best read in the order of their
  // storages. FormatError if each is read once and that makes many inflate again.
  void read(std::size_t tensor, const std::function<void(std::span<const std::byte>)>& piece,
            bool verify = true) const;

 private:
  struct Impl;
  friend class detail::FileLoad;
  explicit Checkpoint(std::shared_ptr<Impl> impl) noexcept;
  // The same one again: callbacks may destroy the caller's.
  Checkpoint shared() const noexcept { return Checkpoint(impl_); }
  std::shared_ptr<Impl> impl_;
};

// Opens and loads.
TENON_API Value load(const std::string& path, const LoadOptions& options = {});

}  // namespace tenon
