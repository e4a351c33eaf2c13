// Writing checkpoints: files that torch.load and safetensors open.
//
//   save(model_state, "model.pth");                       // what torch.save writes
//   save(model_state, "model.safetensors");
//   save(model_state, "model", {.format = FileFormat::safetensors, .shard_size = 5'000'000'000});
//   std::vector<std::byte> bytes = save_to_memory(state);
//
// A file appears whole or not at all: it is written beside its target, made durable, and renamed.
// Whatever goes wrong, and whenever the process is killed, the file that was there stays as it was;
// it may be mapped by tensors that are being saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/file_format.h"
#include "tenon/value.h"
#include "tenon/watch.h"

namespace tenon {

struct SaveOptions {
  // Unless said: safetensors if the path ends in .safetensors or there is a shard_size, else pth.
  std::optional<FileFormat> format = {};
  // Of a storage only from the first byte that tensors use to the last, and a tensor that has one
  // for itself without gaps. PyTorch saves all of a storage, even for a view of two elements.
  bool compact = false;
  // ValueError for what the format cannot hold as it is, where it would be noted and changed: see
  // SaveReport::notes.
  bool strict = false;
  // If not 0, the path is a folder of files of about so many bytes, and an index. A tensor that is
  // larger has a file of its own.
  std::uint64_t shard_size = 0;
  // Wait until it is on the disk. Without, what the file holds after the machine has failed is up
  // to the file system; after anything else it is whole.
  bool durable = true;
  // Whether a file that is there is replaced, through symbolic links, as torch.save does. Without,
  // IoError with EEXIST if anything has the name, also a link, and also if it appears while the new
  // file is written: nothing is replaced and no link is followed. With .shard_size the name is that
  // of the index, and the folder may be no link either.
  bool replace = true;
  // Write nothing, and do not look at the target: the report says what would be written, and what
  // is wrong with the tensors is an error as it would be.
  bool dry_run = false;
  Watch watch = {};
};

struct SaveReport {
  std::vector<std::string> files;  // in the order they were written; the index is the last
  std::uint64_t bytes = 0;         // of all of them
  // What the format could not hold as it was: strides, say, in safetensors.
  std::vector<std::string> notes;
};

// A StateDict is a value. TypeError for objects that files cannot hold; ValueError for tensors that
// see the same bytes as different types; IoError with the system's reason; CancelledError. After
// any of them the target is what it was.
TENON_API SaveReport save(const Value& value, const std::string& path,
                          const SaveOptions& options = {});
// Into an open file from its position on, which is behind the last byte afterwards; or into a pipe.
// Nothing is kept of what was there, and an error may leave a part. The format is pth unless said.
TENON_API SaveReport save(const Value& value, int descriptor, const SaveOptions& options = {});
TENON_API std::vector<std::byte> save_to_memory(const Value& value,
                                                const SaveOptions& options = {});

}  // namespace tenon
