// Attention on the CPU, a block of queries and keys at a time.
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon {

struct AttentionSettings {
  bool is_causal;
  double scale;
  bool is_rounded = false;  // backwards: the result was, and is not what weights give
};

// query (*, L, E), key (*, S, E) and value (*, S, Ev) of float32, float64 or a 16-bit dtype, and a
// mask (*, L, S) of bools or of what is calculated in, which is float32 for 16 bits; the same sizes
// * for all, and any strides. `out` (*, L, Ev) is of the query's dtype and has packed rows. log_sum
// (*, L) is packed, and gets the logarithm of the sum of what softmax divides by; infinity for a
// query that looks at nothing.
void attend(const Tensor& out, const Tensor& log_sum, const Tensor& query, const Tensor& key,
            const Tensor& value, const std::optional<Tensor>& mask,
            const AttentionSettings& settings);

// The gradients of query, key and value, which are packed, from that of the result. All of float32
// or of float64.
void attend_backward(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value,
                     const Tensor& grad, const Tensor& query, const Tensor& key,
                     const Tensor& value, const std::optional<Tensor>& mask, const Tensor& out,
                     const Tensor& log_sum, const AttentionSettings& settings);

}  // namespace tenon
