// A recurrent layer on the CPU, forwards and backwards.
#pragma once

#include <array>
#include <optional>

#include "ops/nn/recurrent.h"
#include "tenon/tensor.h"

namespace tenon {

// How a layer runs over its rows.
struct RecurrentPlan {
  RecurrentKind kind;
  bool reverse;
  Dims batch_sizes;
  std::int64_t hidden;  // H

  std::int64_t gates() const;
  // Numbers for each row and element that the gradient needs.
  std::int64_t kept() const;
};

struct RecurrentState {
  Tensor out, state, cell, kept, cells;
};

// All packed, and of float32 or float64. `to.state` and `to.cell` hold what they begin with, and
// end as the last ones. Those that the kind does not have are empty.
void run_recurrent(const RecurrentPlan& plan, const RecurrentState& to, const Tensor& projected,
                   const RecurrentWeights& weights);

struct RecurrentGradients {
  Tensor projected, state, cell, hidden, bias, projection;
};
// `to.state` and `to.cell` hold the gradients of the last ones, and end as those of the first ones.
// `grads` has those of out, kept and cells, each of which may be undefined. `from` has what the
// layer gave, and `state` and `cell` it began with.
void run_recurrent_backward(const RecurrentPlan& plan, const RecurrentGradients& to,
                            const RecurrentState& grads, const RecurrentState& from,
                            const Tensor& state, const Tensor& cell,
                            const RecurrentWeights& weights);

}  // namespace tenon
