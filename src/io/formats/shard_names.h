// The names of the files of a sharded checkpoint, and what its index says: the convention of
// Hugging Face, which readers go by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// Keys of an index.
inline constexpr std::string_view kWeightMap = "weight_map";  // the file each tensor is in
inline constexpr std::string_view kIndexNotes = "metadata", kTotalSize = "total_size";
// A larger index is not read.
inline constexpr std::uint64_t kLargestIndex = 100'000'000;

struct ShardNames {
  std::string_view stem, ending;  // "model" and ".safetensors"

  // "model.safetensors.index.json"
  std::string index() const;
  // "model-00001-of-00003.safetensors". A tag, "-v2", comes behind the stem.
  std::string shard(std::string_view tag, std::size_t i, std::size_t count) const;
  // Whether a file is called as shards are: "model-00001-of-00003.safetensors", "model-v2-...". An
  // index may name anything, and only such files are ever removed.
  bool is_shard(std::string_view name) const;
};

// ValueError: an index names at least one tensor.
[[noreturn]] void no_tensors_to_shard();

}  // namespace tenon
