// Converting checkpoints from file to file, in little memory: between formats, dtypes and names.
//
//   convert("model.pth", "model.safetensors", {.dtype = bfloat16});
//   convert("pytorch_model.bin", "sharded", {.format = FileFormat::safetensors,
//                                            .shard_size = 5'000'000'000});
//
// Bytes go from one file to the other in pieces, on all threads, compared with their checksums on
// the way. The target appears whole or not at all, as with save().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"
#include "tenon/key_map.h"
#include "tenon/read_limits.h"
#include "tenon/save.h"

namespace tenon {

struct ConvertOptions {
  // What is read of the source (see LoadOptions).
  std::string path = {};
  std::function<bool(std::string_view name)> filter = {};
  KeyMap rename = {};
  bool follow_links = false;
  // Of floating tensors, and of those whose name in the source matches a regular expression (RE2's
  // syntax); the first that matches counts, before `dtype`. ValueError if tensors that share memory
  // would get different ones.
  std::optional<DType> dtype = {};
  std::vector<std::pair<std::string, DType>> dtype_for = {};
  // About so many bytes are used at once. ValueError if a tensor that cannot be read in pieces (it
  // is deflated, or has gaps that the target cannot have) needs more.
  std::uint64_t memory = std::uint64_t{1} << 30;
  // Also if the target is much more than the source stores: its bytes 64 times and 1 GiB. Tensors
  // that repeat few bytes are written out in safetensors, and a small file may have many of them.
  // ValueError unless this is said.
  bool any_size = false;
  // How the target is written, and who is told. With dry_run, nothing is, and the report says what
  // would be.
  SaveOptions save = {};
  // How much reading the source may cost (tenon/read_limits.h).
  ReadLimits limits = {};
};

// What a tensor becomes.
struct ConvertedTensor {
  std::string name, new_name;
  DType dtype = float32, new_dtype = float32;
  std::uint64_t bytes = 0;     // of its elements, in the target
  bool uninitialized = false;  // it has none, and no shape yet
};

struct ConvertReport : SaveReport {
  std::vector<ConvertedTensor> tensors;
};

TENON_API ConvertReport convert(const std::string& from, const std::string& to,
                                const ConvertOptions& options = {});

}  // namespace tenon
