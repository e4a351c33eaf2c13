#include "tenon/nn/packed_sequence.h"

#include <algorithm>

#include "base/text.h"
#include "nn/batch_sizes.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/sort.h"

namespace tenon::nn {

namespace {

std::vector<std::int64_t> numbers_of(const Tensor& tensor) {
  const Tensor packed = tensor.to({.dtype = int64, .device = Device::cpu()}).contiguous();
  const std::int64_t* first = packed.data<std::int64_t>();
  return {first, first + packed.numel()};
}
Tensor tensor_of(const std::vector<std::int64_t>& numbers) {
  const Tensor made =
      empty({static_cast<std::int64_t>(numbers.size())}, {.dtype = int64, .device = Device::cpu()});
  std::copy(numbers.begin(), numbers.end(), made.data<std::int64_t>());
  return made;
}

// Where each of what a permutation, on the CPU, has moved is.
Tensor inverted(const Tensor& permutation) {
  std::vector<std::int64_t> inverse(static_cast<std::size_t>(permutation.numel()));
  std::int64_t place = 0;
  for (const std::int64_t from : numbers_of(permutation))
    inverse[static_cast<std::size_t>(from)] = place++;
  return tensor_of(inverse);
}

void check_lengths(const std::vector<std::int64_t>& lengths, std::int64_t batch) {
  if (static_cast<std::int64_t>(lengths.size()) != batch) {
    throw ShapeError(concat("Expected `len(lengths)` to be equal to batch_size, but got ",
                            lengths.size(), " (batch_size=", batch, ")"));
  }
  for (const std::int64_t length : lengths) {
    if (length > 0) continue;
    throw ValueError(concat("Length of all samples has to be greater than 0, but found an element ",
                            "in 'lengths' that is <= 0: ", length));
  }
}

}  // namespace

void check_batch_sizes(std::span<const std::int64_t> sizes, std::int64_t rows) {
  std::uint64_t total = 0;
  const auto all = static_cast<std::uint64_t>(rows);
  std::size_t count = 0;
  while (count < sizes.size() && total <= all) {
    const std::int64_t size = sizes[count];
    if (size <= 0) {
      throw ValueError(concat("Expected the batch_sizes of a PackedSequence to be greater than 0, ",
                              "but batch_sizes[", count, "] is ", size));
    }
    if (count > 0 && size > sizes[count - 1]) {
      throw ValueError(concat("Expected the batch_sizes of a PackedSequence not to grow, but ",
                              "batch_sizes[", count, "] is ", size, " after ", sizes[count - 1]));
    }
    total += static_cast<std::uint64_t>(size);
    ++count;
  }
  if (total == all && count == sizes.size()) return;
  throw ShapeError(concat("Expected the batch_sizes of a PackedSequence to add up to the rows of ",
                          "its data, but the first ", count, " of ", sizes.size(), " add up to ",
                          total, ", and its data has ", rows, " rows"));
}

PackedSequence PackedSequence::to(const ToOptions& given) const {
  const ToOptions options = given;
  const auto moved = [&](const Tensor& indices) {
    return indices.defined() && options.device ? indices.to(*options.device) : indices;
  };
  const PackedSequence own = *this;  // see Note [Arguments of one's own]
  return {own.data.to(options), own.batch_sizes, moved(own.sorted_indices),
          moved(own.unsorted_indices)};
}

PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                    const PackPaddedSequenceOptions& options) {
  if (lengths.dim() != 1) {
    throw ShapeError(concat("'lengths' argument should be a 1D CPU int64 tensor, but got ",
                            lengths.dim(), "D ", lengths.device().repr(), " tensor of ",
                            repr(lengths.dtype())));
  }
  // See Note [Arguments of one's own].
  const Tensor own = input;
  const PackPaddedSequenceOptions own_options = options;
  return pack_padded_sequence(own, numbers_of(lengths), own_options);
}

PackedSequence pack_padded_sequence(const Tensor& given, const Dims& lengths_of_all,
                                    const PackPaddedSequenceOptions& given_options) {
  // See Note [Arguments of one's own].
  const Tensor input = given;
  const PackPaddedSequenceOptions options = given_options;
  const std::vector<std::int64_t> lengths(lengths_of_all.begin(), lengths_of_all.end());
  if (input.dim() < 2) {
    throw ShapeError(concat("pack_padded_sequence: input of shape ", bracketed(input.shape()),
                            " should have at least 2 dimensions: time and batch"));
  }
  const std::int64_t batch_dim = options.batch_first ? 0 : 1;
  if (input.numel() == 0) throw ShapeError("Cannot pack empty tensors.");
  check_lengths(lengths, input.size(batch_dim));
  std::vector<std::int64_t> sorted = lengths;
  Tensor ordered = input;
  PackedSequence packed;
  if (options.enforce_sorted) {
    if (!std::is_sorted(lengths.rbegin(), lengths.rend())) {
      throw ValueError(
          "`lengths` array must be sorted in decreasing order when `enforce_sorted` is true. You "
          "can pass {.enforce_sorted = false} to pack_padded_sequence and/or pack_sequence");
    }
  } else {
    const auto [values, indices] = sort(tensor_of(lengths), {.descending = true});
    sorted = numbers_of(values);
    packed.sorted_indices = indices.to(input.device());
    packed.unsorted_indices = inverted(indices).to(input.device());
    ordered = index_select(input, batch_dim, packed.sorted_indices);
  }
  if (options.batch_first) ordered = ordered.transpose(0, 1);
  const std::int64_t longest = sorted.front();
  if (longest > ordered.size(0)) {
    throw ShapeError(concat("pack_padded_sequence: a length of ", longest, " is more than the ",
                            ordered.size(0), " steps of an input of shape ",
                            bracketed(input.shape())));
  }
  // Steps that have as many sequences are one piece.
  std::vector<std::int64_t> sizes;
  std::vector<Tensor> pieces;
  Shape each = ordered.shape();
  each.erase(0);
  for (std::int64_t step = 0; step < longest;) {
    while (sorted.back() <= step) sorted.pop_back();
    const auto size = static_cast<std::int64_t>(sorted.size());
    const std::int64_t steps = sorted.back() - step;
    each[0] = steps * size;
    pieces.push_back(ordered.narrow(0, step, steps).narrow(1, 0, size).reshape(each));
    sizes.insert(sizes.end(), static_cast<std::size_t>(steps), size);
    step += steps;
  }
  packed.data = cat(pieces);
  packed.batch_sizes = tensor_of(sizes);
  return packed;
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& given,
                                               const PadPackedSequenceOptions& given_options) {
  // See Note [Arguments of one's own].
  const PackedSequence sequence = given;
  const PadPackedSequenceOptions options = given_options;
  const std::vector<std::int64_t> sizes = numbers_of(sequence.batch_sizes);
  const Tensor& data = sequence.data;
  check_batch_sizes(sizes, data.size(0));
  const auto longest = static_cast<std::int64_t>(sizes.size());
  if (options.total_length && *options.total_length < longest) {
    throw ValueError(concat("Expected total_length to be at least the length of the longest ",
                            "sequence in input, but got total_length=", *options.total_length,
                            " and max sequence length being ", longest));
  }
  const std::int64_t batch = sizes.empty() ? 0 : sizes.front();
  const std::int64_t total = options.total_length.value_or(longest);
  // Each element by its row; those that are not there have one after the last.
  const Tensor rows = full({total, batch}, data.size(0), {.dtype = int64, .device = Device::cpu()});
  auto* const row_of = rows.data<std::int64_t>();
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), 0);
  std::int64_t row = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    for (std::int64_t i = 0; i < sizes[t]; ++i) {
      row_of[static_cast<std::int64_t>(t) * batch + i] = row++;
      ++lengths[static_cast<std::size_t>(i)];
    }
  }
  Shape one = data.shape();
  one[0] = 1;
  const Tensor padding =
      full(one, options.padding_value, {.dtype = data.dtype(), .device = data.device()});
  Shape shape = data.shape();
  shape[0] = total;
  shape.insert(1, batch);
  Tensor padded =
      index_select(cat({data, padding}), 0, rows.reshape({rows.numel()}).to(data.device()))
          .reshape(shape);
  if (options.batch_first) padded = padded.transpose(0, 1);
  const Tensor of_each = tensor_of(lengths);
  const Tensor& order = sequence.unsorted_indices;
  if (!order.defined()) return {padded, of_each};
  return {index_select(padded, options.batch_first ? 0 : 1, order),
          index_select(of_each, 0, order.to(Device::cpu()))};
}

Tensor pad_sequence(TensorList sequences, const PadSequenceOptions& given) {
  const PadSequenceOptions options = given;  // see Note [Arguments of one's own]
  if (sequences.empty()) throw ValueError("received an empty list of sequences");
  const bool left = options.padding_side == "left";
  if (!left && options.padding_side != "right") {
    throw ValueError(concat("Expected padding_side to be one of left or right, but got ",
                            options.padding_side, "."));
  }
  std::int64_t longest = 0;
  for (const Tensor& one : sequences) {
    if (one.dim() == 0)
      throw ShapeError("pad_sequence: sequences should have a dimension, and one has none");
    longest = std::max(longest, one.size(0));
  }
  Shape rest = sequences[0].shape();
  rest[0] = 0;
  std::vector<Tensor> filled;
  for (const Tensor& one : sequences) {
    Shape shape = one.shape();
    shape[0] = 0;
    if (shape != rest) {
      throw ShapeError(concat("pad_sequence: sequences should be the same in all dimensions but ",
                              "the first, but their shapes are ", bracketed(sequences[0].shape()),
                              " and ", bracketed(one.shape())));
    }
    shape[0] = longest - one.size(0);
    if (shape[0] == 0) {
      filled.push_back(one);
      continue;
    }
    const Tensor padding =
        full(shape, options.padding_value, {.dtype = one.dtype(), .device = one.device()});
    filled.push_back(left ? cat({padding, one}) : cat({one, padding}));
  }
  return stack(filled, options.batch_first ? 0 : 1);
}

std::vector<Tensor> unpad_sequence(const Tensor& given, const Tensor& given_lengths,
                                   const UnpadSequenceOptions& options) {
  const Tensor padded_sequences = given, lengths = given_lengths;  // see the same note
  const Tensor first = options.batch_first ? padded_sequences : padded_sequences.transpose(0, 1);
  const std::vector<std::int64_t> numbers = numbers_of(lengths);
  if (static_cast<std::int64_t>(numbers.size()) != first.size(0)) {
    throw ShapeError(concat("unpad_sequence: there are ", numbers.size(), " lengths for ",
                            first.size(0), " sequences of shape ",
                            bracketed(padded_sequences.shape())));
  }
  std::vector<Tensor> sequences;
  std::int64_t i = 0;
  for (const std::int64_t length : numbers) {
    const Tensor one = first.select(0, i++);
    sequences.push_back(one.narrow(0, 0, std::min(length, one.size(0))));
  }
  return sequences;
}

PackedSequence pack_sequence(TensorList sequences, const PackSequenceOptions& options) {
  std::vector<std::int64_t> lengths;
  for (const Tensor& one : sequences) lengths.push_back(one.dim() == 0 ? 0 : one.size(0));
  const bool enforce_sorted = options.enforce_sorted;
  return pack_padded_sequence(pad_sequence(sequences), lengths, {.enforce_sorted = enforce_sorted});
}

std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences) {
  const auto [padded, lengths] = pad_packed_sequence(packed_sequences, {.batch_first = true});
  return unpad_sequence(padded, lengths, {.batch_first = true});
}

}  // namespace tenon::nn
