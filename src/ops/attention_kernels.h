// Attention on the CPU, a block of queries and keys at a time.
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon {

struct AttentionSettings {
  bool is_causal;
  double scale;
};

// query (*, L, E), key (*, S, E) and value (*, S, Ev) of float32 or float64, and a mask (*, L, S)
// of that or of bools; the same sizes * for all, and any strides. `out` (*, L, Ev) has packed rows.
// log_sum (*, L) is packed, and gets the logarithm of the sum of what softmax divides by; infinity
// for a query that looks at nothing.
void attend(const Tensor& out, const Tensor& log_sum, const Tensor& query, const Tensor& key,
            const Tensor& value, const std::optional<Tensor>& mask,
            const AttentionSettings& settings);

// The gradients of query, key and value, which are packed, from that of the result.
void attend_backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value,
                     const Tensor& grad, const Tensor& query, const Tensor& key,
                     const Tensor& value, const std::optional<Tensor>& mask, const Tensor& out,
                     const Tensor& log_sum, const AttentionSettings& settings);

}  // namespace tenon
