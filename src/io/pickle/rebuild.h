// From the graph of a pickle to values: the names PyTorch writes, and what they stand for.
#pragma once

#include <string_view>

#include "io/pickle/pickle.h"
#include "io/read/builder.h"
#include "tenon/value.h"

namespace tenon {

// A storage as the pickle names it.
struct StorageId {
  std::string_view key, location;
  DType dtype = uint8;
  bool untyped = false;  // the dtype is each tensor's own
  std::int64_t numel = 0;
  std::size_t arity = 5;  // parts of the id: six before 1.6
  // Of very old files: a part of the storage, in elements.
  bool is_view = false;
  std::string_view view_key = {};
  std::int64_t view_offset = 0, view_size = 0;
};

// Knows the file: finds the storages that its pickle names, and announces each to the Builder
// before its tensors are built.
class StorageFinder {
 public:
  // The number of the storage. Called once for each persistent id; the same key may come again.
  virtual std::uint32_t storage(const StorageId& id, std::uint64_t at) = 0;
  virtual std::uint64_t storage_bytes(std::uint32_t storage) const = 0;
  // A tensor is about to be built. Its geometry has been checked.
  virtual void used_by(const TensorRecord& /*record*/) {}

 protected:
  ~StorageFinder() = default;
};

// Tensors of other kinds are objects of these names, which no file can give one: names from files
// have a dot.
inline constexpr std::string_view kSparseName = "sparse_tensor",
                                  kQuantizedName = "quantized_tensor",
                                  kNestedName = "nested_tensor", kLayoutName = "layout";
// Bytes in the name of a layout or a device, which are words.
inline constexpr std::size_t kLongestWord = 64;
// Written as what it says, and read as the dict that it is.
inline constexpr std::string_view kCounterName = "collections.Counter";

// The value the pickle describes. FormatError for arguments that do not fit, cycles, more than a
// thousand levels, what the meter does not allow, and, unless inert, objects.
Value rebuild(const Pickle& pickle, StorageFinder& storages, Builder& builder, bool inert,
              ReadMeter& meter);

}  // namespace tenon
