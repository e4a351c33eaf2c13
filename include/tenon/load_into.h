// load_into: a checkpoint straight into a module. Only what the module wants is read, converted on
// the way one tensor at a time, so that no more memory is needed than the module has afterwards and
// a few megabytes.
//
//   auto net = with_device("meta", [] { return std::make_unique<Net>(); });
//   load_into(*net, "net.safetensors", {.dtype = bfloat16});
//
// It is load_state_dict without the state dict: the same keys, hooks, errors and phases
// (tenon/nn/load_state_dict.h). Nothing of the module changes before all of it was read, converted
// and compared with its checksums; tensors that are copied into memory that is there already are
// read twice for that, first to see that they can be.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/checkpoint.h"
#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/key_map.h"
#include "tenon/nn/load_state_dict.h"
#include "tenon/nn/module.h"
#include "tenon/read_limits.h"
#include "tenon/watch.h"

namespace tenon {

struct LoadIntoOptions {
  // As for Module::load_state_dict.
  bool strict = true;
  bool skip_mismatched = false;
  bool allow_meta = true;
  bool allow_tie_conflicts = true;
  // Tensors have the file's dtype instead of the module's, and are new ones, unless loads swap
  // (tenon/nn/conversion.h). Without it every tensor stays the one it is: what is on meta, or gets
  // another dtype or device, becomes what was loaded (swap_tensors), the rest is copied into.
  bool assign = false;

  // What floating tensors become (a complex dtype: complex ones), and where all go, whatever the
  // module or the file has.
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};

  // What needs no conversion and replaces a tensor stays in the file, mapped.
  bool mmap = false;
  // Whether to compare with checksums. Unless said, what is read is, and what is mapped is not. If
  // not, copies into memory that is there are not read first either.
  std::optional<bool> verify = {};
  // Copies into memory that is there go through memory of their own instead of a second reading:
  // not even a disk that fails in between can leave the module half loaded.
  bool full_staging = false;
  // ValueError, before anything is read, if more bytes than these would be needed at once.
  std::optional<std::uint64_t> memory_budget = {};

  // Which part of the file, and under which names (tenon/checkpoint.h).
  std::string path = {};
  std::function<bool(std::string_view name)> filter = {};
  KeyMap rename = {};
  bool inert = false;
  bool follow_links = false;

  // Says what would be done (LoadIntoReport::plan) and does nothing.
  bool dry_run = false;
  // The progress function is called on the thread that calls load_into, while others read. It may
  // do anything to the module: a tensor that it replaces, swaps, gives other data to or takes a
  // view of is a LoadError if that is in the way of what is loaded. Once the module is being
  // changed, neither a stop nor what the progress function throws ends it.
  Watch watch = {};
  // How much reading the file may cost (tenon/read_limits.h).
  ReadLimits limits = {};
};

// What is done with one tensor of the file.
struct LoadStep {
  enum class How : std::uint8_t {
    copied,    // into the memory that is there
    replaced,  // read into memory of its own, which the tensor then has
    mapped,    // the tensor has the file's bytes
    handed,    // given to a user-defined tensor (module_load, or its copy_)
  };
  std::string key;   // in the module
  std::string name;  // in the file
  How how = How::replaced;
  Shape shape;
  DType file_dtype = float32, dtype = float32;
  Device device;
  std::uint64_t bytes = 0;  // in the file
};

struct TENON_API LoadIntoReport : nn::IncompatibleKeys {
  std::vector<LoadStep> steps;
  std::uint64_t bytes_read = 0;  // from the file; those read twice count twice
  std::uint64_t bytes_made = 0;  // of memory that the module has afterwards and had not before
  // The most memory that is needed at once besides what was there, on the host and on devices, with
  // all threads. A user-defined tensor that makes another one when it is handed something is
  // counted with the bytes it has.
  std::uint64_t peak_bytes = 0;
  // All of it as text, a line for each tensor.
  std::string plan() const;
};

// LoadError with every problem, and the module untouched, if it does not fit; FormatError, IoError
// and CancelledError likewise, unless a LoadError says that it is torn.
TENON_API LoadIntoReport load_into(nn::Module& module, const Checkpoint& checkpoint,
                                   const LoadIntoOptions& options = {});
TENON_API LoadIntoReport load_into(nn::Module& module, const std::string& path,
                                   const LoadIntoOptions& options = {});

}  // namespace tenon
