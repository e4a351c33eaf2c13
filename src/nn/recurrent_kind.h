// What recurrent layers and their cells share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/nn/recurrent.h"

namespace tenon::nn {

// Of a mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
RecurrentKind kind_of(const std::string& mode);

// A layer in one direction. The weights are weight_ih, weight_hh, bias_ih and bias_hh if there is a
// bias, and weight_hr if it projects. With autocast its products are of the scope's dtype; states
// that PyTorch carries on as they came, those of a GRU, and of an LSTM that it has no kernel for
// (`alone`: cells, packed sequences, projections), keep theirs.
RecurrentResult recurrent_direction(RecurrentKind kind, const Tensor& rows, const Tensor& state,
                                    const std::optional<Tensor>& cell,
                                    const std::vector<Tensor>& weights, bool bias, bool projects,
                                    const Dims& batch_sizes, bool reverse, bool alone = false);

}  // namespace tenon::nn
