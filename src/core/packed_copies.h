// Copies of a storage's bytes in another order, kept beside it (tenon/packed_weights.h).
//
// Note [Who drops a packed copy]
// A storage owns its copies: when it goes they go. Every write of an operator counts a version up
// through BodyEditor::bump_version, and that drops the copies of the storage behind the tensor,
// whichever of the storage's tensors was written to and whether or not the weight shares its
// version counter. A tensor that gets another storage finds that one's copies. What nobody is told
// of are writes through a pointer: some words of the weight are compared at each use, which notices
// one that was replaced as a whole. Of the storage nothing else is read: it may be a mapped file of
// gigabytes, or written to elsewhere by another thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

// What a copy is of and how it is arranged, in numbers of whoever makes it.
using PackedKey = std::array<std::int64_t, 12>;

// Bytes at a multiple of 64.
class TENON_API PackedCopy {
 public:
  // Null if there is no memory for it, though all other copies were dropped: a weight is then read
  // as it is.
  static std::shared_ptr<PackedCopy> make(std::size_t bytes);
  ~PackedCopy();
  PackedCopy(const PackedCopy&) = delete;
  PackedCopy& operator=(const PackedCopy&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  PackedCopy(std::byte* data, std::size_t bytes) noexcept : data_(data), size_(bytes) {}

  std::byte* data_;
  std::size_t size_;
};

struct FoundCopy {
  std::shared_ptr<const PackedCopy> copy;  // null if there is none
  bool asked_before = false;               // for this key, since the bytes were last written to
};
// The copy of the weight with that key. Notes that it was asked for.
TENON_API FoundCopy find_packed_copy(const Tensor& weight, const PackedKey& key);
// Keeps one for the next time, unless that would be more than the limit.
TENON_API void keep_packed_copy(const Tensor& weight, const PackedKey& key,
                                std::shared_ptr<const PackedCopy> copy);
// Whether that many bytes more may be kept.
TENON_API bool may_keep_packed(std::size_t bytes) noexcept;

}  // namespace tenon
