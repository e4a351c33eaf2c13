#include "tenon/nn/rnn_cells.h"

#include <cmath>

#include "base/text.h"
#include "nn/recurrent_kind.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon::nn {

template <class Signature>
RNNCellBase<Signature>::RNNCellBase(std::int64_t in, std::int64_t hidden, std::int64_t gates,
                                    const GatedCellOptions& options)
    : input_size(in), hidden_size(hidden), bias(options.bias) {
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight_ih = make_parameter(empty({gates * hidden, in}, like));
  weight_hh = make_parameter(empty({gates * hidden, hidden}, like));
  bias_ih = bias ? make_parameter(empty({gates * hidden}, like)) : Tensor();
  bias_hh = bias ? make_parameter(empty({gates * hidden}, like)) : Tensor();
  if (!weight_ih->is_meta()) reset_parameters();
}

template <class Signature>
void RNNCellBase<Signature>::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  const double bound = hidden_size > 0 ? 1 / std::sqrt(static_cast<double>(hidden_size)) : 0;
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, {.a = -bound, .b = bound});
}

template <class Signature>
std::string RNNCellBase<Signature>::extra_repr() const {
  return concat(input_size, ", ", hidden_size, bias ? "" : ", bias=False");
}

template <class Signature>
LSTMState RNNCellBase<Signature>::step(const char* name, const std::string& mode,
                                       const Tensor& given_input, const Tensor& given_h,
                                       const Tensor& given_c) {
  // See Note [Arguments of one's own].
  const Tensor input = given_input, h = given_h, c = given_c;
  const bool lstm = mode == "LSTM";
  if (lstm && h.defined() != c.defined())
    throw ValueError(concat(name, ": hx should be both h and c, or neither"));
  if (input.dim() != 1 && input.dim() != 2) {
    throw ShapeError(concat(name, ": Expected input to be 1D or 2D, got ", input.dim(),
                            "D instead, of shape ", bracketed(input.shape())));
  }
  const auto check_dim = [&](const Tensor& state, const char* what) {
    if (!state.defined() || state.dim() == 1 || state.dim() == 2) return;
    throw ShapeError(concat(name, ": Expected ", what, " to be 1D or 2D, got ", state.dim(),
                            "D instead, of shape ", bracketed(state.shape())));
  };
  check_dim(h, lstm ? "hx[0]" : "hidden");
  check_dim(c, "hx[1]");
  if (input.size(-1) != input_size) {
    throw ShapeError(concat("input has inconsistent input_size: got ", input.size(-1), " expected ",
                            input_size, ", in an input of shape ", bracketed(input.shape())));
  }
  const bool batched = input.dim() == 2;
  const Tensor rows = batched ? input : input.unsqueeze(0);
  const auto begin = [&](const Tensor& state, const char* what) {
    if (!state.defined())
      return zeros({rows.size(0), hidden_size}, {.dtype = rows.dtype(), .device = rows.device()});
    const Tensor given = state.dim() == 1 ? state.unsqueeze(0) : state;
    if (given.size(0) != rows.size(0)) {
      throw ShapeError(concat("Input batch size ", rows.size(0), " doesn't match ", what,
                              " batch size ", given.size(0)));
    }
    if (given.size(1) != hidden_size) {
      throw ShapeError(concat(what, " has inconsistent hidden_size: got ", given.size(1),
                              ", expected ", hidden_size));
    }
    return given;
  };
  const Tensor state = begin(h, "hidden0");
  std::vector<Tensor> weights{weight_ih, weight_hh};
  if (bias_ih.defined() && bias_hh.defined()) weights.insert(weights.end(), {bias_ih, bias_hh});
  const RecurrentResult next = recurrent_direction(
      kind_of(mode), rows, state, lstm ? std::optional(begin(c, "hidden1")) : std::nullopt, weights,
      weights.size() == 4, false, {rows.size(0)}, false, true);
  if (batched) return {next.state, next.cell};
  return {next.state.squeeze(0), lstm ? next.cell.squeeze(0) : Tensor()};
}

template class RNNCellBase<RNNCellSignature>;
template class RNNCellBase<LSTMCellSignature>;

RNNCell::RNNCell(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNCellBase(in, hidden, 1,
                  {.bias = options.bias, .device = options.device, .dtype = options.dtype}),
      nonlinearity(options.nonlinearity) {}

std::string RNNCell::extra_repr() const {
  std::string text = RNNCellBase::extra_repr();
  if (nonlinearity != "tanh") text += concat(", nonlinearity=", nonlinearity);
  return text;
}

Tensor RNNCell::forward(const Tensor& input, const Tensor& hx) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    throw ValueError(concat("Unknown nonlinearity: ", nonlinearity));
  const char* mode = nonlinearity == "relu" ? "RNN_RELU" : "RNN_TANH";
  return std::get<0>(step("RNNCell", mode, input, hx, {}));
}

LSTMCell::LSTMCell(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNCellBase(in, hidden, 4, options) {}

LSTMState LSTMCell::forward(const Tensor& input, const LSTMState& hx) {
  return step("LSTMCell", "LSTM", input, std::get<0>(hx), std::get<1>(hx));
}

GRUCell::GRUCell(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNCellBase(in, hidden, 3, options) {}

Tensor GRUCell::forward(const Tensor& input, const Tensor& hx) {
  return std::get<0>(step("GRUCell", "GRU", input, hx, {}));
}

}  // namespace tenon::nn
