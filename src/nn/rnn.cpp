#include "tenon/nn/rnn.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/warn.h"
#include "nn/batch_sizes.h"
#include "nn/recurrent_kind.h"
#include "tenon/error.h"
#include "tenon/extend/autocast.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"

namespace tenon::nn {

RecurrentKind kind_of(const std::string& mode) {
  if (mode == "LSTM") return RecurrentKind::lstm;
  if (mode == "GRU") return RecurrentKind::gru;
  return mode == "RNN_RELU" ? RecurrentKind::rnn_relu : RecurrentKind::rnn_tanh;
}

namespace {

std::int64_t gates_of(const std::string& mode) {
  return mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1;
}

void check(const char* what, std::int64_t value) {
  if (value <= 0) throw ValueError(concat(what, " must be greater than zero, but is ", value));
}

std::string shown(const Shape& shape) { return static_cast<const Dims&>(shape).repr(); }

}  // namespace

template <class Signature>
RNNBase<Signature>::RNNBase(const Common& common)
    : mode(common.mode),
      input_size(common.input_size),
      hidden_size(common.hidden_size),
      num_layers(common.num_layers),
      bias(common.bias),
      batch_first(common.batch_first),
      dropout(common.dropout),
      bidirectional(common.bidirectional),
      proj_size(common.proj_size) {
  if (!(dropout >= 0 && dropout <= 1)) {
    throw ValueError(concat("dropout should be a number in range [0, 1] representing the ",
                            "probability of an element being zeroed, but is ", dropout));
  }
  if (dropout > 0 && num_layers == 1) {
    warn(concat("dropout option adds dropout after all but last recurrent layer, so non-zero ",
                "dropout expects num_layers greater than 1, but got dropout=", dropout,
                " and num_layers=", num_layers));
  }
  check("input_size", input_size);
  check("hidden_size", hidden_size);
  check("num_layers", num_layers);
  if (proj_size < 0)
    throw ValueError("proj_size should be a positive integer or zero to disable projections");
  if (proj_size >= hidden_size) {
    throw ValueError(concat("proj_size has to be smaller than hidden_size, but they are ",
                            proj_size, " and ", hidden_size));
  }
  const EmptyOptions like{.dtype = common.dtype, .device = common.device};
  const std::int64_t width = gates_of(mode) * hidden_size,
                     given = proj_size > 0 ? proj_size : hidden_size;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    for (const char* suffix : {"", "_reverse"}) {
      if (suffix[0] != '\0' && !bidirectional) break;
      const auto add = [&](const char* name, const Shape& shape) {
        this->register_parameter(concat(name, "_l", layer, suffix),
                                 make_parameter(empty(shape, like)));
      };
      add("weight_ih", {width, layer == 0 ? input_size : given * (bidirectional ? 2 : 1)});
      add("weight_hh", {width, given});
      if (bias) {
        add("bias_ih", {width});
        add("bias_hh", {width});
      }
      if (proj_size > 0) add("weight_hr", {proj_size, hidden_size});
    }
  }
  if (!this->parameter_slots()[0]->get().is_meta()) reset_parameters();
}

template <class Signature>
void RNNBase<Signature>::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, {.a = -bound, .b = bound});
}

template <class Signature>
std::vector<std::vector<Tensor>> RNNBase<Signature>::all_weights() const {
  const std::size_t each = 2 + (bias ? 2U : 0U) + (proj_size > 0 ? 1U : 0U);
  const auto count = static_cast<std::size_t>(num_layers * (bidirectional ? 2 : 1));
  if (this->parameter_slots().size() < count * each) {
    throw Error(concat("this ", this->type_name(), " has ", this->parameter_slots().size(),
                       " parameters, but its layers have ", count * each,
                       ": register those that were removed"));
  }
  std::vector<std::vector<Tensor>> weights(count);
  for (std::size_t i = 0; i < count * each; ++i)
    weights[i / each].push_back(this->parameter_slots()[i]->get());
  return weights;
}

template <class Signature>
std::string RNNBase<Signature>::extra_repr() const {
  std::string text = concat(input_size, ", ", hidden_size);
  if (proj_size != 0) text += concat(", proj_size=", proj_size);
  if (num_layers != 1) text += concat(", num_layers=", num_layers);
  if (!bias) text += ", bias=False";
  if (batch_first) text += ", batch_first=True";
  if (dropout != 0) text += concat(", dropout=", dropout);
  if (bidirectional) text += ", bidirectional=True";
  return text;
}

namespace {

// What forward is given, brought to one form: rows of all steps, and states with a batch.
struct Sequences {
  Tensor rows;       // (T * N, features), or packed
  Dims batch_sizes;  // of each step
  bool unbatched = false;
  std::int64_t batch = 0;
};

void check_dims(const char* name, const Tensor& input, const Tensor& h, const Tensor& c) {
  if (input.dim() != 2 && input.dim() != 3) {
    throw ShapeError(concat(name, ": Expected input to be 2D or 3D, got ", input.dim(),
                            "D instead, of shape ", bracketed(input.shape())));
  }
  const bool wrong =
      (h.defined() && h.dim() != input.dim()) || (c.defined() && c.dim() != input.dim());
  if (!wrong) return;
  const char* form = input.dim() == 3 ? "batched 3-D" : "unbatched 2-D";
  if (c.defined()) {
    throw ShapeError(concat("For ", form, " input, hx and cx should also be ", input.dim(),
                            "-D but got (", h.dim(), "-D, ", c.dim(), "-D) tensors"));
  }
  throw ShapeError(concat("For ", form, " input, hx should also be ", input.dim(), "-D but got ",
                          h.dim(), "-D tensor"));
}

Dims sizes_of(const Tensor& batch_sizes) {
  const Tensor packed = batch_sizes.to({.dtype = int64, .device = Device::cpu()}).contiguous();
  Dims sizes;
  sizes.resize(static_cast<std::size_t>(packed.numel()));
  std::copy_n(packed.data<std::int64_t>(), packed.numel(), sizes.begin());
  return sizes;
}

// With the batch sizes of what is packed.
Sequences sequences_of(const Tensor& input, bool batch_first,
                       const std::optional<Dims>& batch_sizes) {
  Sequences all;
  if (batch_sizes) {
    all.rows = input;
    all.batch_sizes = *batch_sizes;
    check_batch_sizes(all.batch_sizes, input.size(0));
    all.batch = all.batch_sizes.empty() ? 0 : all.batch_sizes[0];
    return all;
  }
  all.unbatched = input.dim() == 2;
  Tensor steps = all.unbatched ? input.unsqueeze(1) : input;
  if (batch_first && !all.unbatched) steps = steps.transpose(0, 1);
  const std::int64_t length = steps.size(0);
  all.batch = steps.size(1);
  if (length == 0) {
    throw ShapeError(concat("Expected sequence length to be larger than 0 in RNN, but the input ",
                            "has shape ", bracketed(input.shape())));
  }
  all.rows = steps.reshape({length * all.batch, input.size(-1)});
  all.batch_sizes = Dims::filled(static_cast<std::size_t>(length), all.batch);
  return all;
}

}  // namespace

template <class Signature>
std::tuple<Tensor, LSTMState> RNNBase<Signature>::run(const char* name, const Tensor& own_input,
                                                      const Tensor& own_h, const Tensor& own_c,
                                                      const Tensor& own_sizes) {
  // See Note [Arguments of one's own].
  const Tensor input = own_input, h = own_h, c = own_c, batch_sizes = own_sizes;
  const bool packed = batch_sizes.defined(), lstm = mode == "LSTM";
  const detail::Guard guard(*this, "forward() was running");
  // Before anything is asked of the others: a device's backend may give them other data.
  const std::optional<Dims> sizes = packed ? std::optional(sizes_of(batch_sizes)) : std::nullopt;
  guard.check();
  const auto weights = all_weights();
  // Nothing of the layer is read from here on: the memory of a tensor that goes may be somebody's,
  // whose code destroys the layer. The call says so at its end.
  const RecurrentKind kind = kind_of(mode);
  const std::int64_t layers = num_layers, width = input_size, hidden = hidden_size,
                     directions = bidirectional ? 2 : 1,
                     given = proj_size > 0 ? proj_size : hidden_size;
  const bool with_bias = bias, projects = proj_size > 0, batch_is_first = batch_first;
  const double drop = this->training() ? dropout : 0;
  const DType dtype = weights[0][0].dtype();
  if (h.defined() != c.defined() && lstm)
    throw ValueError(concat(name, ": hx should be both h and c, or neither"));
  if (packed) {
    if (input.dim() != 2)
      throw ShapeError(concat("input must have 2 dimensions, got ", input.dim()));
  } else {
    check_dims(name, input, h, c);
  }
  // Autocast converts both.
  if (input.dtype() != dtype && !tenon::detail::is_autocasting()) {
    throw DTypeError(concat("RNN input dtype (", repr(input.dtype()), ") does not match weight ",
                            "dtype (", repr(dtype), "). Convert input: input.to(", repr(dtype),
                            "), or convert model: model.to(", repr(input.dtype()), ")"));
  }
  if (input.size(-1) != width) {
    throw ShapeError(concat("input.size(-1) must be equal to input_size. Expected ", width,
                            ", got ", input.size(-1), " in an input of shape ",
                            bracketed(input.shape())));
  }
  const Sequences all = sequences_of(input, batch_is_first, sizes);
  const auto begin = [&](const Tensor& state, std::int64_t size, const char* what) {
    const Shape shape{layers * directions, all.batch, size};
    if (!state.defined())
      return zeros(shape, {.dtype = input.dtype(), .device = input.device()}).unbind(0);
    const Tensor batched = all.unbatched ? state.unsqueeze(1) : state;
    if (batched.shape() != shape) {
      throw ShapeError(
          concat("Expected ", what, " size ", shown(shape), ", got ", bracketed(batched.shape())));
    }
    return batched.unbind(0);
  };
  const auto states = begin(h, given, lstm ? "hidden[0]" : "hidden");
  const auto cells = lstm ? begin(c, hidden, "hidden[1]") : std::vector<Tensor>();

  std::vector<Tensor> last_states, last_cells;
  Tensor rows = all.rows;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    std::vector<Tensor> outs;
    for (std::size_t direction = 0; direction < static_cast<std::size_t>(directions); ++direction) {
      const std::size_t i = layer * static_cast<std::size_t>(directions) + direction;
      const RecurrentResult result = recurrent_direction(
          kind, rows, states[i], lstm ? std::optional(cells[i]) : std::nullopt, weights[i],
          with_bias, projects, all.batch_sizes, direction == 1, packed || projects);
      outs.push_back(result.out);
      last_states.push_back(result.state);
      if (lstm) last_cells.push_back(result.cell);
    }
    rows = directions == 1 ? outs[0] : cat(outs, -1);
    if (drop > 0 && static_cast<std::int64_t>(layer) + 1 < layers)
      rows = tenon::dropout(rows, {.p = drop});
  }
  const auto stacked = [&](const std::vector<Tensor>& parts) {
    if (parts.empty()) return Tensor();
    const Tensor state = stack(parts);
    return all.unbatched ? state.squeeze(1) : state;
  };
  Tensor out = rows;
  if (!packed) {
    out = rows.reshape(
        {static_cast<std::int64_t>(all.batch_sizes.size()), all.batch, directions * given});
    if (all.unbatched) {
      out = out.squeeze(1);
    } else if (batch_is_first) {
      out = out.transpose(0, 1);
    }
  }
  return {out, {stacked(last_states), stacked(last_cells)}};
}

namespace {

bool takes_part(const Tensor& tensor) {
  return is_floating_point(tensor.dtype()) && tensor.dtype() != float64;
}

// The same in the dtypes that autocast has, and with it off.
RecurrentResult autocast_direction(const tenon::detail::AutocastCall& cast, RecurrentKind kind,
                                   const Tensor& rows, const Tensor& state,
                                   const std::optional<Tensor>& cell,
                                   const std::vector<Tensor>& weights, bool bias, bool projects,
                                   const Dims& batch_sizes, bool reverse, bool alone) {
  const Tensor input = cast.converted(rows);
  const bool keeps = cast.device_type() == DeviceType::cpu &&
                     (kind == RecurrentKind::gru || (kind == RecurrentKind::lstm && alone));
  const DType dtype = keeps ? promote_types(state.dtype(), input.dtype()) : input.dtype();
  std::vector<Tensor> all;
  for (const Tensor& weight : weights) all.push_back(cast.converted(weight).to(dtype));
  const tenon::detail::NoAutocastScope off(cast.device_type());
  RecurrentResult result = recurrent_direction(kind, input.to(dtype), state.to(dtype),
                                               cell ? std::optional(cell->to(dtype)) : std::nullopt,
                                               all, bias, projects, batch_sizes, reverse);
  // A projection is a product; the cell has seen none.
  if (projects) {
    result.out = result.out.to(input.dtype());
    result.state = result.state.to(input.dtype());
  }
  return result;
}

}  // namespace

RecurrentResult recurrent_direction(RecurrentKind kind, const Tensor& rows, const Tensor& state,
                                    const std::optional<Tensor>& cell,
                                    const std::vector<Tensor>& weights, bool bias, bool projects,
                                    const Dims& batch_sizes, bool reverse, bool alone) {
  if (tenon::detail::is_autocasting() && takes_part(rows) && takes_part(state) &&
      std::ranges::all_of(weights, takes_part)) {
    tenon::detail::AutocastCall cast(op::linear::info, kLowerPrecision);
    cast.see(rows);
    if (cast.applies())
      return autocast_direction(cast, kind, rows, state, cell, weights, bias, projects, batch_sizes,
                                reverse, alone);
  }
  RecurrentWeights own{weights[1], {}, {}};
  if (projects) own.projection = weights.back();
  Tensor added;
  if (bias && kind == RecurrentKind::gru) {
    added = weights[2];
    own.bias = weights[3];
  } else if (bias) {
    added = weights[2] + weights[3];
  }
  return recurrent_layer(kind, linear(rows, weights[0], added), state, cell, own, batch_sizes,
                         reverse);
}

template class RNNBase<RNNSignature>;
template class RNNBase<LSTMSignature>;

namespace {

std::string mode_of(const std::string& nonlinearity) {
  if (nonlinearity == "tanh") return "RNN_TANH";
  if (nonlinearity == "relu") return "RNN_RELU";
  throw ValueError(
      concat("Unknown nonlinearity '", nonlinearity, "'. Select from 'tanh' or 'relu'."));
}

Tensor permuted(const Tensor& state, const Tensor& order) {
  return state.defined() && order.defined() ? index_select(state, 1, order) : state;
}
// The sequences of a result lie as those of the input do.
PackedSequence like(const PackedSequence& input, const Tensor& data) {
  return {data, input.batch_sizes, input.sorted_indices, input.unsorted_indices};
}

}  // namespace

RNN::RNN(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNBase(Common{mode_of(options.nonlinearity), in, hidden, options.num_layers, options.bias,
                     options.batch_first, options.dropout, options.bidirectional, 0, options.device,
                     options.dtype}),
      nonlinearity(options.nonlinearity) {}

std::tuple<Tensor, Tensor> RNN::forward(const Tensor& input, const Tensor& hx,
                                        const Tensor& batch_sizes) {
  const auto [out, state] = run("RNN", input, hx, {}, batch_sizes);
  return {out, std::get<0>(state)};
}
std::tuple<PackedSequence, Tensor> RNN::packed(const PackedSequence& given, const Tensor& hx) {
  const PackedSequence input = given;  // see Note [Arguments of one's own]
  const detail::Guard guard(*this, "packed() was running");
  const Tensor sorted = permuted(hx, input.sorted_indices);
  guard.check();
  const auto [out, state] = (*this)(input.data, sorted, input.batch_sizes);
  return {like(input, out), permuted(state, input.unsorted_indices)};
}

GRU::GRU(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNBase(Common{"GRU", in, hidden, options.num_layers, options.bias, options.batch_first,
                     options.dropout, options.bidirectional, 0, options.device, options.dtype}) {}

std::tuple<Tensor, Tensor> GRU::forward(const Tensor& input, const Tensor& hx,
                                        const Tensor& batch_sizes) {
  const auto [out, state] = run("GRU", input, hx, {}, batch_sizes);
  return {out, std::get<0>(state)};
}
std::tuple<PackedSequence, Tensor> GRU::packed(const PackedSequence& given, const Tensor& hx) {
  const PackedSequence input = given;  // see Note [Arguments of one's own]
  const detail::Guard guard(*this, "packed() was running");
  const Tensor sorted = permuted(hx, input.sorted_indices);
  guard.check();
  const auto [out, state] = (*this)(input.data, sorted, input.batch_sizes);
  return {like(input, out), permuted(state, input.unsorted_indices)};
}

LSTM::LSTM(std::int64_t in, std::int64_t hidden, const Options& options)
    : RNNBase(Common{"LSTM", in, hidden, options.num_layers, options.bias, options.batch_first,
                     options.dropout, options.bidirectional, options.proj_size, options.device,
                     options.dtype}) {}

std::tuple<Tensor, LSTMState> LSTM::forward(const Tensor& input, const LSTMState& hx,
                                            const Tensor& batch_sizes) {
  return run("LSTM", input, std::get<0>(hx), std::get<1>(hx), batch_sizes);
}
std::tuple<PackedSequence, LSTMState> LSTM::packed(const PackedSequence& given,
                                                   const LSTMState& given_hx) {
  // See Note [Arguments of one's own].
  const PackedSequence input = given;
  const LSTMState hx = given_hx;
  const detail::Guard guard(*this, "packed() was running");
  const LSTMState sorted{permuted(std::get<0>(hx), input.sorted_indices),
                         permuted(std::get<1>(hx), input.sorted_indices)};
  guard.check();
  const auto [out, state] = (*this)(input.data, sorted, input.batch_sizes);
  return {like(input, out),
          {permuted(std::get<0>(state), input.unsorted_indices),
           permuted(std::get<1>(state), input.unsorted_indices)}};
}

}  // namespace tenon::nn
