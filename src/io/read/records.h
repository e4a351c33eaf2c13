// What a file says about its tensors: where storages lie, and how tensors lie in them. Numbers and
// names, no memory.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"
#include "tenon/tensor.h"

namespace tenon {

class Source;

// As many as PyTorch's own tensors may have.
inline constexpr std::size_t kMostDimensions = 64;

// What sizes or strides take beside themselves.
inline std::uint64_t heap_bytes(const Dims& dims) noexcept {
  return dims.size() > Dims::kInline ? dims.size() * sizeof(std::int64_t) + 16 : 0;
}

// Bytes that tensors share. Its names are in the document's memory, which outlives it.
struct StorageRecord {
  const Source* source = nullptr;  // the file it is in
  std::string_view key;            // the file's name for it
  std::string_view location;       // the device it was on: "cpu", "cuda:0"
  DType dtype = uint8;             // of its elements; uint8 where only tensors know
  std::uint64_t nbytes = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t stored = 0;  // bytes there: less, if they are deflated
  std::uint32_t crc = 0;
  bool deflated = false;
  bool has_crc = false;
  bool big_endian = false;
  bool untyped = false;       // its tensors have dtypes of their own, one of which may be any
  bool without_data = false;  // meta
};

struct TensorRecord {
  static constexpr std::uint32_t kNoStorage = 0xffffffff;

  std::uint32_t storage = kNoStorage;  // none: a meta tensor
  DType dtype = float32;
  Shape shape;
  Dims stride;
  std::int64_t offset = 0;   // in elements
  std::uint32_t number = 0;  // of the tensor, in the order a document makes them
  bool requires_grad = false;
  bool parameter = false;
  bool conj = false;
  bool neg = false;
};

// A parameter or buffer that has no shape yet: a name in the file, and no bytes.
struct UninitializedRecord {
  DType dtype = float32;
  Device device = Device::cpu();  // as the file says
  bool parameter = true;
  bool requires_grad = true;
  std::uint32_t number = 0;  // among those of the document, if a Survey says so
};

// Of a storage that is as large as can be: only the numbers themselves are looked at.
inline constexpr auto kAnyBytes =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Empty, or what is wrong: every number at least 0, the elements inside a storage of so many bytes,
// no product that overflows, not even of a tensor without elements. The one check all formats use.
std::string wrong_geometry(const TensorRecord& tensor, std::uint64_t storage_bytes);

// How many bytes numbers of a few bits take, of which a row begins with a byte of its own. Nothing
// if a product of the sizes, none of which is negative, overflows.
std::optional<std::int64_t> bytes_of_few_bits(const Shape& shape, DType dtype);

}  // namespace tenon
