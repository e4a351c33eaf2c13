// Sequences of several lengths in one tensor: torch.nn.utils.rnn.
//
//   PackedSequence packed = pack_padded_sequence(batch, lengths, {.enforce_sorted = false});
//   auto [out, h] = lstm(packed);
//   auto [padded, out_lengths] = pad_packed_sequence(out);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/shape.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"

namespace tenon::nn {

// The first elements of all sequences, then the second of those that have one, and so on; longer
// sequences stand before shorter ones.
struct TENON_API PackedSequence {
  Tensor data;
  Tensor batch_sizes;       // how many sequences have that many elements: int64, on the CPU
  Tensor sorted_indices;    // which sequence stands where; undefined: they were sorted
  Tensor unsorted_indices;  // where each of them stands

  // On another device, or of another dtype. batch_sizes stay where they are.
  PackedSequence to(const ToOptions& options) const;
};

struct PackPaddedSequenceOptions {
  bool batch_first = false;
  bool enforce_sorted = true;  // ValueError unless longer ones come first; else they are sorted
};
// Of (T, B, *), or (B, T, *) with batch_first, the elements that each sequence has. ShapeError or
// ValueError for lengths that do not fit.
TENON_API PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                              const PackPaddedSequenceOptions& options = {});
TENON_API PackedSequence pack_padded_sequence(const Tensor& input, const Dims& lengths,
                                              const PackPaddedSequenceOptions& options = {});

struct PadPackedSequenceOptions {
  bool batch_first = false;
  double padding_value = 0;
  std::optional<std::int64_t> total_length = {};  // of the result, if that is more than needed
};
// Back again, in the order the sequences had, and their lengths.
TENON_API std::tuple<Tensor, Tensor> pad_packed_sequence(
    const PackedSequence& sequence, const PadPackedSequenceOptions& options = {});

struct PadSequenceOptions {
  bool batch_first = false;
  double padding_value = 0;
  std::string_view padding_side = "right";
};
// Sequences (L, *) side by side, each filled up to the longest.
TENON_API Tensor pad_sequence(TensorList sequences, const PadSequenceOptions& options = {});
struct UnpadSequenceOptions {
  bool batch_first = false;
};
TENON_API std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths,
                                             const UnpadSequenceOptions& options = {});

struct PackSequenceOptions {
  bool enforce_sorted = true;
};
TENON_API PackedSequence pack_sequence(TensorList sequences,
                                       const PackSequenceOptions& options = {});
TENON_API std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences);

}  // namespace tenon::nn

// Where Python has them.
namespace tenon::nn::utils::rnn {

using nn::pack_padded_sequence;
using nn::pack_sequence;
using nn::PackedSequence;
using nn::pad_packed_sequence;
using nn::pad_sequence;
using nn::unpack_sequence;
using nn::unpad_sequence;

}  // namespace tenon::nn::utils::rnn
