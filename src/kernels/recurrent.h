// One step of a recurrent layer for one row of its batch: what is done with the products.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// `projected` is the input's part of the gates and `product` the hidden state's, both of as many
// numbers as gates times n; what comes out is n numbers.

// state = tanh(sum), or the positive part of it.
TENON_API void rnn_step(const float* projected, const float* product, bool relu, float* state,
                        std::int64_t n);
TENON_API void rnn_step(const double* projected, const double* product, bool relu, double* state,
                        std::int64_t n);

// Gates i, f, g, o. The cell is read and written; `kept` gets the gates and tanh(cell), for the
// gradient.
TENON_API void lstm_step(const float* projected, const float* product, float* cell, float* state,
                         float* kept, std::int64_t n);
TENON_API void lstm_step(const double* projected, const double* product, double* cell,
                         double* state, double* kept, std::int64_t n);

// Gates r, z, n; the state is read and written; `kept` gets the gates and the hidden part of n.
TENON_API void gru_step(const float* projected, const float* product, float* state, float* kept,
                        std::int64_t n);
TENON_API void gru_step(const double* projected, const double* product, double* state, double* kept,
                        std::int64_t n);

}  // namespace tenon
