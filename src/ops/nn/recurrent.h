// One layer of a recurrent network in one direction, over sequences that are packed
// (tenon/nn/packed_sequence.h); a batch of equal lengths is packed as it is.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/tensor.h"

namespace tenon {

enum class RecurrentKind : std::uint8_t { rnn_tanh, rnn_relu, lstm, gru };

struct RecurrentWeights {
  Tensor hidden;                     // weight_hh: (gates * H, P), where P is H unless projected
  std::optional<Tensor> bias;        // bias_hh, of a GRU; others have it in what is projected
  std::optional<Tensor> projection;  // weight_hr: (P, H), of an LSTM
};
struct RecurrentResult {
  Tensor out;    // (rows, P)
  Tensor state;  // (N, P): the last of each sequence
  Tensor cell;   // (N, H), of an LSTM
};

// `projected` is the input times its weights, with biases: (rows, gates * H); state is (N, P), and
// cell, of an LSTM, (N, H). batch_sizes says how many sequences there are at each step. DTypeError
// or DeviceError if they are not of one dtype on one device.
RecurrentResult recurrent_layer(RecurrentKind kind, const Tensor& projected, const Tensor& state,
                                const std::optional<Tensor>& cell, const RecurrentWeights& weights,
                                const Dims& batch_sizes, bool reverse);

}  // namespace tenon
