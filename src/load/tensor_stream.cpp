#include "load/tensor_stream.h"

#include <cstring>
#include <span>

#include "base/text.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/factories.h"

namespace tenon {

void read_into(const Checkpoint& file, std::size_t index, const Tensor& packed, bool verify,
               const PieceRead& read) {
  const TensorFacts& facts = file.tensors()[index];
  const NoGradScope no_grad;
  const Tensor flat = packed.detach().view({-1});
  const auto size = static_cast<std::size_t>(itemsize(facts.dtype));
  // Bools that are neither 0 nor 1 come as they are.
  const DType dtype = facts.dtype;
  std::int64_t done = 0;
  // A module's tensor is the user's, whose code may have run since its shape was looked at.
  const auto check = [&](bool fits) {
    if (fits) return;
    throw ShapeError(concat(file.file(), ": \"", facts.name, "\" is of shape ",
                            bracketed(facts.shape), ", and is read into a tensor of ", flat.numel(),
                            " elements"));
  };
  check(facts.shape.numel() == flat.numel());
  file.read(
      index,
      [&](std::span<const std::byte> piece) {
        read(piece.size());
        const auto count = static_cast<std::int64_t>(piece.size() / size);
        check(count <= flat.numel() - done);
        if (flat.dtype() == dtype) {
          std::memcpy(static_cast<std::byte*>(flat.data_ptr()) + done * flat.element_size(),
                      piece.data(), piece.size());
        } else {
          // The piece is only read from.
          const Tensor source = from_blob(const_cast<std::byte*>(piece.data()), {count},
                                          FromBlobOptions{.dtype = dtype});
          flat.narrow(0, done, count).copy_(source);
        }
        done += count;
      },
      verify);
  check(done == flat.numel());
}

void read_into_any(const Checkpoint& file, std::size_t index, const Tensor& tensor, bool verify,
                   const PieceRead& read) {
  if (tensor.is_cpu() && tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg())
    return read_into(file, index, tensor, verify, read);
  const Tensor packed = empty(tensor.shape(), {.dtype = tensor.dtype(), .device = Device::cpu()});
  read_into(file, index, packed, verify, read);
  const NoGradScope no_grad;
  tensor.copy_(packed);
}

void read_through(const Checkpoint& file, std::size_t index, const PieceRead& read) {
  file.read(index, [&](std::span<const std::byte> piece) { read(piece.size()); });
}

}  // namespace tenon
