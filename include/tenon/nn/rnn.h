// Recurrent layers, and single steps of them.
//
//   nn::LSTM lstm(64, 128, {.num_layers = 2, .batch_first = true});
//   auto [out, state] = lstm(x);                // state is (h, c)
//   auto [next, after] = lstm(y, state);        // or lstm(y, {h, c})
//
// The input is (T, N, input_size), or (N, T, input_size) with batch_first, or (T, input_size), or a
// PackedSequence; results look as it does. Hidden states are (layers * directions, N, hidden_size),
// zero if not given. The input's part of all steps is one product.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/packed_sequence.h"

namespace tenon::nn {

struct RNNOptions {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // of what each layer but the last gives
  bool bidirectional = false;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct LSTMOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::int64_t proj_size = 0;  // what h is projected to, if anything
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct GRUOptions {
  std::int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

template <class P>
concept Packed = std::same_as<std::remove_cvref_t<P>, PackedSequence>;

// h and c.
using LSTMState = std::tuple<Tensor, Tensor>;

// What they have in common. Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 and,
// projected, weight_hr_l0; then those of the other direction, with _reverse, and of other layers.
template <class Signature>
class TENON_API RNNBase : public Callable<Signature> {
 public:
  // Draws new values, as the constructor does.
  void reset_parameters();
  // There is nothing to do: weights are used where they are.
  void flatten_parameters() {}
  // Those of each layer and direction.
  std::vector<std::vector<Tensor>> all_weights() const;
  std::string extra_repr() const override;

  std::string mode;  // "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"
  std::int64_t input_size, hidden_size, num_layers;
  bool bias, batch_first;
  double dropout;
  bool bidirectional;
  std::int64_t proj_size;

 protected:
  struct Common {
    std::string mode;
    std::int64_t input_size, hidden_size, num_layers;
    bool bias, batch_first;
    double dropout;
    bool bidirectional;
    std::int64_t proj_size;
    std::optional<Device> device;
    std::optional<DType> dtype;
  };
  // ValueError for sizes below one, or a dropout outside [0, 1].
  explicit RNNBase(const Common& common);
  RNNBase(const RNNBase&) = default;

  // The layers, with c if they have it; batch_sizes of what is packed.
  std::tuple<Tensor, LSTMState> run(const char* name, const Tensor& input, const Tensor& h,
                                    const Tensor& c, const Tensor& batch_sizes);
};

using RNNSignature = std::tuple<Tensor, Tensor>(const Tensor& input, const Tensor& hx,
                                                const Tensor& batch_sizes);
using LSTMSignature = std::tuple<Tensor, LSTMState>(const Tensor& input, const LSTMState& hx,
                                                    const Tensor& batch_sizes);
extern template class TENON_API RNNBase<RNNSignature>;
extern template class TENON_API RNNBase<LSTMSignature>;

// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or its positive part instead.
class TENON_API RNN : public RNNBase<RNNSignature> {
 public:
  using Options = RNNOptions;
  RNN(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  template <std::integral I>
  RNN(std::int64_t input_size_, std::int64_t hidden_size_, I num_layers_, Options options = {})
      : RNN(input_size_, hidden_size_, (options.num_layers = num_layers_, options)) {}

  using Callable::operator();
  // Of sequences that are packed. Hooks are given their data and batch sizes.
  template <Packed P>
  std::tuple<PackedSequence, Tensor> operator()(P&& input, const Tensor& hx = {}) {
    return packed(input, hx);
  }

  std::string nonlinearity;

 protected:
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx,
                                     const Tensor& batch_sizes) override;

 private:
  std::tuple<PackedSequence, Tensor> packed(const PackedSequence& input, const Tensor& hx);
};

class TENON_API LSTM : public RNNBase<LSTMSignature> {
 public:
  using Options = LSTMOptions;
  LSTM(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  template <std::integral I>
  LSTM(std::int64_t input_size_, std::int64_t hidden_size_, I num_layers_, Options options = {})
      : LSTM(input_size_, hidden_size_, (options.num_layers = num_layers_, options)) {}

  using Callable::operator();
  std::tuple<Tensor, LSTMState> operator()(const Tensor& input, const LSTMState& hx) {
    return (*this)(input, hx, Tensor());
  }
  template <Packed P>
  std::tuple<PackedSequence, LSTMState> operator()(P&& input, const LSTMState& hx = {}) {
    return packed(input, hx);
  }

 protected:
  std::tuple<Tensor, LSTMState> forward(const Tensor& input, const LSTMState& hx,
                                        const Tensor& batch_sizes) override;

 private:
  std::tuple<PackedSequence, LSTMState> packed(const PackedSequence& input, const LSTMState& hx);
};

class TENON_API GRU : public RNNBase<RNNSignature> {
 public:
  using Options = GRUOptions;
  GRU(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  template <std::integral I>
  GRU(std::int64_t input_size_, std::int64_t hidden_size_, I num_layers_, Options options = {})
      : GRU(input_size_, hidden_size_, (options.num_layers = num_layers_, options)) {}

  using Callable::operator();
  template <Packed P>
  std::tuple<PackedSequence, Tensor> operator()(P&& input, const Tensor& hx = {}) {
    return packed(input, hx);
  }

 protected:
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx,
                                     const Tensor& batch_sizes) override;

 private:
  std::tuple<PackedSequence, Tensor> packed(const PackedSequence& input, const Tensor& hx);
};

}  // namespace tenon::nn
