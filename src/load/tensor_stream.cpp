#include "load/tensor_stream.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/text.h"
#include "base/visible.h"
#include "io/read/storage_reader.h"
#include "io/read/tensors.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/ops/factories.h"

namespace tenon {

namespace {

// Copies a vector over the elements of a tensor from one on, in the order of its indices, whatever
// their order in memory: a block of whole rows, and what is before and behind it.
void copy_over(const Tensor& target, std::int64_t begin, const Tensor& source) {
  std::int64_t count = source.numel();
  if (count == 0) return;
  if (target.dim() == 0) {
    target.copy_(source[0]);
    return;
  }
  if (target.dim() == 1) {
    target.narrow(0, begin, count).copy_(source);
    return;
  }
  const std::int64_t each = target.numel() / target.size(0);
  std::int64_t row = begin / each, done = 0;
  if (begin % each != 0) {
    done = std::min(count, each - begin % each);
    copy_over(target[row++], begin % each, source.narrow(0, 0, done));
    count -= done;
  }
  if (const std::int64_t rows = count / each; rows > 0) {
    const Tensor block = target.narrow(0, row, rows);
    block.copy_(source.narrow(0, done, rows * each).view(block.shape()));
    row += rows;
    done += rows * each;
    count -= rows * each;
  }
  if (count > 0) copy_over(target[row], 0, source.narrow(0, done, count));
}

}  // namespace

void read_into(const Checkpoint& file, std::size_t index, const Tensor& tensor, bool verify,
               const PieceRead& read) {
  const TensorFacts& facts = file.tensors()[index];
  const NoGradScope no_grad;
  const bool packed = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
  const Tensor target = packed ? tensor.detach().view({-1}) : tensor.detach();
  const auto size = static_cast<std::size_t>(itemsize(facts.dtype));
  // Bools that are neither 0 nor 1 come as they are.
  const bool as_bytes = packed && target.is_cpu() && target.dtype() == facts.dtype;
  std::int64_t done = 0;
  // A module's tensor is the user's, whose code may have run since its shape was looked at.
  const auto check = [&](bool fits) {
    if (fits) return;
    throw ShapeError(concat(visible(file.file()), ": ", Value(facts.name).repr(), " is of shape ",
                            bracketed(facts.shape), ", and is read into a tensor of ",
                            target.numel(), " elements"));
  };
  check(facts.shape.numel() == target.numel());
  file.read(
      index,
      [&](std::span<const std::byte> piece) {
        read(piece.size());
        const auto count = static_cast<std::int64_t>(piece.size() / size);
        check(count <= target.numel() - done);
        if (as_bytes) {
          std::memcpy(static_cast<std::byte*>(target.data_ptr()) + done * target.element_size(),
                      piece.data(), piece.size());
        } else {
          // The piece is only read from.
          Tensor source = from_blob(const_cast<std::byte*>(piece.data()), {count},
                                    FromBlobOptions{.dtype = facts.dtype});
          if (!target.is_cpu()) source = source.to(target.dtype());
          copy_over(target, done, source);
        }
        done += count;
      },
      verify);
  check(done == target.numel());
}

std::uint64_t memory_to_read(const Checkpoint& file, std::size_t index, DType dtype,
                             const Device& device) {
  const TensorFacts& facts = file.tensors()[index];
  if (facts.storage == TensorFacts::kNoStorage) return 0;
  const StorageFacts& storage = file.storages()[facts.storage];
  const auto bytes = static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype));
  const Layout layout{facts.shape, facts.stride, facts.offset, facts.dtype, Device::cpu()};
  const bool packed = layout.is_contiguous() && !facts.conj && !facts.neg;
  const bool inflated = storage.deflated;
  const ByteSpan span = bytes_of(layout);
  std::uint64_t held = std::min(bytes, kPieceBytes), piece = held;
  if (inflated || !packed) {
    // All of it at once; packed in memory of its own if it is not in the file.
    held = (inflated ? storage.nbytes : span.end - span.begin) + (packed ? 0 : bytes);
    piece = bytes;
  }
  if (!device.is_cpu() && dtype != facts.dtype) {
    held += piece / static_cast<std::uint64_t>(itemsize(facts.dtype)) *
            static_cast<std::uint64_t>(itemsize(dtype));
  }
  return held;
}

void read_through(const Checkpoint& file, std::size_t index, const PieceRead& read) {
  file.read(index, [&](std::span<const std::byte> piece) { read(piece.size()); });
}

}  // namespace tenon
