// Single steps of recurrent layers: an input (N, input_size) and a state (N, hidden_size), both
// with or without N, give the next state. A state that is not given is zero.
//
//   nn::LSTMCell cell(10, 20);
//   auto [h, c] = cell(x);
//   std::tie(h, c) = cell(y, {h, c});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/rnn.h"

namespace tenon::nn {

struct RNNCellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";  // or "relu"
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct GatedCellOptions {
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

template <class Signature>
class TENON_API RNNCellBase : public Callable<Signature> {
 public:
  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t input_size, hidden_size;
  bool bias;
  Parameter weight_ih{this, "weight_ih"};
  Parameter weight_hh{this, "weight_hh"};
  Parameter bias_ih{this, "bias_ih"};
  Parameter bias_hh{this, "bias_hh"};

 protected:
  RNNCellBase(std::int64_t in, std::int64_t hidden, std::int64_t gates,
              const GatedCellOptions& options);
  RNNCellBase(const RNNCellBase&) = default;

  LSTMState step(const char* name, const std::string& mode, const Tensor& input, const Tensor& h,
                 const Tensor& c);
};

using RNNCellSignature = Tensor(const Tensor& input, const Tensor& hx);
using LSTMCellSignature = LSTMState(const Tensor& input, const LSTMState& hx);
extern template class TENON_API RNNCellBase<RNNCellSignature>;
extern template class TENON_API RNNCellBase<LSTMCellSignature>;

class TENON_API RNNCell : public RNNCellBase<RNNCellSignature> {
 public:
  using Options = RNNCellOptions;
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});

  std::string extra_repr() const override;

  std::string nonlinearity;

 protected:
  Tensor forward(const Tensor& input, const Tensor& hx) override;
};

class TENON_API LSTMCell : public RNNCellBase<LSTMCellSignature> {
 public:
  using Options = GatedCellOptions;
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});

 protected:
  LSTMState forward(const Tensor& input, const LSTMState& hx) override;
};

class TENON_API GRUCell : public RNNCellBase<RNNCellSignature> {
 public:
  using Options = GatedCellOptions;
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});

 protected:
  Tensor forward(const Tensor& input, const Tensor& hx) override;
};

}  // namespace tenon::nn
