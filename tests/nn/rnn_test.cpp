// Recurrent layers beside PyTorch's: values, gradients, names, first values, text, errors.
#include "tenon/nn/rnn.h"

#include <limits>

#include "nn/names.h"
#include "nn/recorded_layers.h"
#include "support/gradcheck.h"
#include "support/sha256.h"
#include "tenon/amp.h"
#include "tenon/nn/rnn_cells.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RecordedLayers, RecurrentOnes) {
  nn::LSTM lstm(4, 5, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  check("lstm", lstm, [&](const auto& inputs) { return std::get<0>(lstm(inputs[0])); });
  nn::GRU gru(4, 5);
  check("gru", gru, [&](const auto& inputs) { return std::get<0>(gru(inputs[0])); });
  nn::RNN rnn(4, 5);
  check("rnn", rnn, [&](const auto& inputs) { return std::get<0>(rnn(inputs[0])); });
}

// The formula of tests/record/recurrent.py.
Tensor made(const Shape& shape, double seed, DType dtype) {
  return (sin(arange(shape.numel(), {.dtype = float64}) * 0.37 + seed) * 0.8)
      .reshape(shape)
      .to(dtype);
}

class RecordedRecurrent : public testing::TestWithParam<DType> {
 protected:
  const StateDict recorded = recorded::value("nn/cases/recurrent");
  const DType dtype = GetParam();

  void expect_near(const Tensor& actual, const std::string& key) const {
    ASSERT_TRUE(recorded.contains(key)) << key;
    EXPECT_EQ(actual.dtype(), dtype) << key;
    const double tolerance = dtype == float64 ? 1e-12 : dtype == float32 ? 3e-6 : 0.05;
    tenon::expect_near(actual, recorded.at(key).as_tensor(), key, tolerance, 0.1);
  }
  static std::vector<Tensor> flat(const Tensor& one) { return {one}; }
  static std::vector<Tensor> flat(const PackedSequence& one) { return {one.data}; }
  template <class... T>
  static std::vector<Tensor> flat(const std::tuple<T...>& parts) {
    std::vector<Tensor> all;
    std::apply(
        [&](const auto&... part) {
          const auto add = [&](const std::vector<Tensor>& more) {
            all.insert(all.end(), more.begin(), more.end());
          };
          (add(flat(part)), ...);
        },
        parts);
    return all;
  }

  // Where the layer has a state it is given that of the formula; lengths pack the input.
  template <class M>
  void check(const std::string& name, M&& layer, const Shape& shape, const Shape& h_shape = {},
             const Shape& c_shape = {}, const std::vector<std::int64_t>& lengths = {}) const {
    layer.to(dtype);
    int number = 0;
    for (const Tensor& parameter : layer.parameters()) {
      const NoGradScope unrecorded;
      parameter.copy_(made(parameter.shape(), number++, dtype));
    }
    const Tensor x = made(shape, 20, dtype).requires_grad_();
    Tensor h, c;
    if (!h_shape.empty()) {
      h = made(h_shape, 21, dtype).requires_grad_();
      if (!c_shape.empty()) c = made(c_shape, 22, dtype).requires_grad_();
    }
    const auto call = [&](const auto& input) {
      if constexpr (std::is_same_v<std::remove_cvref_t<M>, LSTM> ||
                    std::is_same_v<std::remove_cvref_t<M>, LSTMCell>) {
        return h.defined() ? flat(layer(input, {h, c})) : flat(layer(input));
      } else {
        return h.defined() ? flat(layer(input, h)) : flat(layer(input));
      }
    };
    manual_seed(3);
    std::vector<Tensor> results;
    if constexpr (requires { layer.batch_first; }) {
      results = lengths.empty() ? call(x)
                                : call(pack_padded_sequence(x, lengths, {.enforce_sorted = false}));
    } else {
      results = call(x);
    }
    Tensor total = zeros({}, {.dtype = dtype});
    for (std::size_t i = 0; i < results.size(); ++i) {
      expect_near(results[i], name + ".out" + std::to_string(i));
      total = total +
              (results[i] * made(results[i].shape(), 30.0 + static_cast<double>(i), dtype)).sum();
    }
    EXPECT_FALSE(recorded.contains(name + ".out" + std::to_string(results.size())));
    total.backward();
    expect_near(x.grad(), name + ".gin");
    if (h.defined()) expect_near(h.grad(), name + ".gh");
    if (c.defined()) expect_near(c.grad(), name + ".gc");
    for (const auto& [key, parameter] : layer.named_parameters())
      expect_near(parameter.grad(), name + ".g." + key);
  }
};

TEST_P(RecordedRecurrent, LayersGiveWhatPyTorchsDo) {
  check("rnn", RNN(3, 4), {5, 2, 3});
  check("rnn_relu", RNN(3, 4, {.num_layers = 2, .nonlinearity = "relu"}), {5, 2, 3}, {2, 2, 4});
  check("rnn_both", RNN(3, 4, {.bias = false, .bidirectional = true}), {5, 2, 3}, {2, 2, 4});
  check("lstm", LSTM(3, 4, 2), {5, 2, 3}, {2, 2, 4}, {2, 2, 4});
  check("lstm_plain", LSTM(3, 4, {.bias = false}), {5, 2, 3});
  check("lstm_both", LSTM(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true}),
        {2, 5, 3}, {4, 2, 4}, {4, 2, 4});
  check("lstm_projected", LSTM(3, 4, 2, {.bidirectional = true, .proj_size = 2}), {5, 2, 3},
        {4, 2, 2}, {4, 2, 4});
  check("lstm_unbatched", LSTM(3, 4, {.batch_first = true}), {5, 3}, {1, 4}, {1, 4});
  check("gru", GRU(3, 4, {.num_layers = 2}), {5, 2, 3}, {2, 2, 4});
  check("gru_both", GRU(3, 4, {.bias = false, .batch_first = true, .bidirectional = true}),
        {2, 5, 3});
  check("gru_unbatched", GRU(3, 4, {.bidirectional = true}), {5, 3}, {2, 4});
}

TEST_P(RecordedRecurrent, LayersTakePackedSequences) {
  check("rnn_packed", RNN(3, 4, {.bidirectional = true}), {5, 4, 3}, {2, 4, 4}, {}, {5, 3, 3, 1});
  check("lstm_packed", LSTM(3, 4, {.num_layers = 2, .bidirectional = true}), {5, 4, 3}, {4, 4, 4},
        {4, 4, 4}, {2, 5, 1, 4});
  check("lstm_packed_projected", LSTM(3, 4, {.bidirectional = true, .proj_size = 3}), {5, 3, 3},
        {2, 3, 3}, {2, 3, 4}, {5, 2, 4});
  check("gru_packed", GRU(3, 4, 2, {.bidirectional = true}), {5, 4, 3}, {4, 4, 4}, {},
        {2, 5, 5, 4});
  check("gru_packed_zero", GRU(3, 4), {5, 4, 3}, {}, {}, {2, 5, 5, 4});
}

TEST_P(RecordedRecurrent, CellsGiveWhatPyTorchsDo) {
  check("rnn_cell", RNNCell(3, 4), {2, 3}, {2, 4});
  check("rnn_cell_relu", RNNCell(3, 4, {.bias = false, .nonlinearity = "relu"}), {3}, {4});
  check("lstm_cell", LSTMCell(3, 4), {2, 3}, {2, 4}, {2, 4});
  check("lstm_cell_plain", LSTMCell(3, 4, {.bias = false}), {3});
  check("gru_cell", GRUCell(3, 4), {2, 3}, {2, 4});
  check("gru_cell_plain", GRUCell(3, 4, {.bias = false}), {3});
}

// What is drawn depends on the dtype, as it does there.
TEST_P(RecordedRecurrent, LayersDrawDropoutAsPyTorchDoes) {
  if (dtype == float64)
    check("lstm_dropout", LSTM(3, 4, {.num_layers = 3, .dropout = 0.5}), {5, 2, 3});
}

INSTANTIATE_TEST_SUITE_P(Recurrent, RecordedRecurrent,
                         testing::Values(float64, float32, bfloat16, float16));

TEST(Recurrent, HasTheGradientsThatDifferencesSay) {
  LSTM lstm(2, 3, {.num_layers = 2, .bidirectional = true, .proj_size = 2, .dtype = float64});
  GRU gru(2, 3, {.bidirectional = true, .dtype = float64});
  const auto with_parameters = [](Module& layer, std::vector<Tensor> inputs) {
    for (const Tensor& parameter : layer.parameters()) inputs.push_back(parameter);
    return inputs;
  };
  const std::vector<std::int64_t> lengths{2, 4, 1};
  expect_gradient(
      [&](const std::vector<Tensor>& at) {
        const auto packed = pack_padded_sequence(at[0], lengths, {.enforce_sorted = false});
        const auto [out, state] = lstm(packed, {at[1], at[2]});
        return cat({out.data.reshape({-1}), std::get<0>(state).reshape({-1}),
                    std::get<1>(state).reshape({-1})});
      },
      with_parameters(lstm, {made({4, 3, 2}, 0, float64).requires_grad_(),
                             made({4, 3, 2}, 1, float64).requires_grad_(),
                             made({4, 3, 3}, 2, float64).requires_grad_()}));
  expect_gradient(
      [&](const std::vector<Tensor>& at) {
        const auto [out, state] = gru(at[0].transpose(0, 1), at[1]);
        return cat({out.reshape({-1}), state.reshape({-1})});
      },
      with_parameters(gru, {made({3, 4, 2}, 0, float64).requires_grad_(),
                            made({2, 3, 3}, 1, float64).requires_grad_()}));
}

TEST(Recurrent, CanBeRunBackwardsTwice) {
  const std::vector<std::int64_t> lengths{1, 3};
  const auto twice = [&](auto&& layer, const std::vector<Shape>& states) {
    std::vector<Tensor> inputs{made({3, 2, 2}, 0, float64).requires_grad_()};
    for (const Shape& shape : states)
      inputs.push_back(made(shape, static_cast<double>(inputs.size()), float64).requires_grad_());
    for (const Tensor& parameter : layer.parameters()) inputs.push_back(parameter);
    expect_gradients(
        [&](const std::vector<Tensor>& at) {
          const auto packed = pack_padded_sequence(at[0], lengths, {.enforce_sorted = false});
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(layer)>, LSTM>) {
            const auto [out, state] = layer(packed, {at[1], at[2]});
            return cat({out.data.reshape({-1}), std::get<0>(state).reshape({-1}),
                        std::get<1>(state).reshape({-1})});
          } else {
            const auto [out, state] = layer(packed, at[1]);
            return cat({out.data.reshape({-1}), state.reshape({-1})});
          }
        },
        inputs, {.atol = 1e-5});
  };
  manual_seed(1);
  twice(LSTM(2, 3, {.bidirectional = true, .proj_size = 2, .dtype = float64}),
        {{2, 2, 2}, {2, 2, 3}});
  twice(LSTM(2, 2, {.num_layers = 2, .dtype = float64}), {{2, 2, 2}, {2, 2, 2}});
  twice(GRU(2, 3, {.bidirectional = true, .dtype = float64}), {{2, 2, 3}});
  twice(RNN(2, 3, {.bidirectional = true, .dtype = float64}), {{2, 2, 3}});
  twice(RNN(2, 2, {.nonlinearity = "relu", .dtype = float64}), {{1, 2, 2}});
}

std::string digest(const Tensor& tensor) {
  return sha256(std::as_bytes(std::span(tensor.detach().contiguous().data<float>(),
                                        static_cast<std::size_t>(tensor.numel()))));
}

TEST(Recurrent, HasTheFirstValuesOfPyTorch) {
  const std::vector<std::tuple<const char*, const char*, const char*>> recorded{
      {"weight_ih_l0", "745d38e75ada3a2571c490a7fcb09f360e9e9be40196591c919e9348302b2a0d",
       "d2bdc79d4fb4d61fc4a97b0307a9d8cc2d2facfd6a89bbf47098e5ad372c4755"},
      {"weight_hh_l0", "2755f56277d38cd1a7ad56ba0a49433e34a57bc70acecfaec06aacec71e4be6a",
       "c236b3c7f7edb8741958b096c40a6ffcb5c0d4848697de6abc4b433cad7c3900"},
      {"bias_ih_l0", "714671042d75104cdb17f4e267598d6f79787473c6f3b95ebf5d499f95ee40a5",
       "c784811a480304ecb49f64d098a4f12a7b99fde23eda77e88fdae9dcdd7007cf"},
      {"bias_hh_l0", "9164875782f5aa07e3490b915f87d5d64429654c9a888b8d40c222fe532e7918",
       "5a4ee31662df50e4220c685ca367a062dcb028af821a51f0776b678e0f4ba2c2"},
      {"weight_ih_l1", "4a5ba0ac413d56cd8d3b6d5925ef5824fec819d77dce44d5c37523d2c862b8e5",
       "3353b3f68962032d86208ef42de158f79cd1208be7e88d67a00e64f09bcc452d"},
      {"weight_hh_l1", "98b12fd6bd0bff02f673c3414463ef088ad6743b25162ec940e04bd11e6b7508",
       "549c898aec995e08828d64a36a85fd824a0b687b78720d35c443e647dd9e20a7"},
      {"bias_ih_l1", "25465c5c1a08802abc2cee117809fe5d50f7659b1055d0933eaf5f73edcc3805",
       "e34ad4da29627a89ce618ba06f455be469ea79c2b551bccf37b6dd7d85a26964"},
      {"bias_hh_l1", "355dd0ed66eaba5af575fe8c3b75a1b7ffc0c8e38bc1fe883588ea6911d0eb0b",
       "c4f144d5b0b5b222f7dd81dd444af5666049b6cfe88b2f783f6e19d4e5e79474"}};
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{11}}) {
    manual_seed(seed);
    const auto lstm = make<LSTM>(5, 6, 2);
    EXPECT_EQ(lstm->state_dict().size(), recorded.size());
    for (const auto& [name, at_0, at_11] : recorded)
      EXPECT_EQ(digest(lstm->get_parameter(name)), seed == 0 ? at_0 : at_11) << name;
  }
}

TEST(Recurrent, HasTheNamesOfPyTorch) {
  EXPECT_THAT(
      names(
          LSTM(2, 3, {.num_layers = 2, .bidirectional = true, .proj_size = 1}).named_parameters()),
      ElementsAre("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0",
                  "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse",
                  "bias_hh_l0_reverse", "weight_hr_l0_reverse", "weight_ih_l1", "weight_hh_l1",
                  "bias_ih_l1", "bias_hh_l1", "weight_hr_l1", "weight_ih_l1_reverse",
                  "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse",
                  "weight_hr_l1_reverse"));
  EXPECT_THAT(names(GRU(2, 3, {.bias = false}).named_parameters()),
              ElementsAre("weight_ih_l0", "weight_hh_l0"));
  EXPECT_THAT(names(GRUCell(2, 3).named_parameters()),
              ElementsAre("weight_ih", "weight_hh", "bias_ih", "bias_hh"));
  EXPECT_THAT(names(LSTMCell(2, 3, {.bias = false}).named_parameters()),
              ElementsAre("weight_ih", "weight_hh"));
}

TEST(Recurrent, SaysWhatItIs) {
  EXPECT_EQ(
      RNN(3, 4, {.num_layers = 2, .nonlinearity = "relu", .bias = false, .dropout = 0.5}).repr(),
      "RNN(3, 4, num_layers=2, bias=False, dropout=0.5)");
  EXPECT_EQ(
      LSTM(3, 4, 3, {.bias = false, .batch_first = true, .bidirectional = true, .proj_size = 2})
          .repr(),
      "LSTM(3, 4, proj_size=2, num_layers=3, bias=False, batch_first=True, bidirectional=True)");
  EXPECT_EQ(GRU(4, 5).repr(), "GRU(4, 5)");
  EXPECT_EQ(RNNCell(3, 4, {.bias = false, .nonlinearity = "relu"}).repr(),
            "RNNCell(3, 4, bias=False, nonlinearity=relu)");
  EXPECT_EQ(LSTMCell(3, 4).repr(), "LSTMCell(3, 4)");
}

TEST(Recurrent, TakesItsStateAsItComes) {
  LSTM lstm(3, 4);
  const Tensor x = made({2, 1, 3}, 0, float32);
  auto [first, state] = lstm(x);
  auto [second, after] = lstm(x, state);
  const auto [h, c] = state;
  const auto [again, same] = lstm(x, {h, c});
  EXPECT_TRUE(equal(second, again));
  EXPECT_FALSE(equal(first, second));
  // Two halves are the whole.
  const Tensor longer = cat({x, x});
  EXPECT_TRUE(equal(std::get<0>(lstm(longer)).narrow(0, 2, 2), second));
  LSTMCell cell(3, 4);
  auto [h1, c1] = cell(x[0]);
  std::tie(h1, c1) = cell(x[1], {h1, c1});
  EXPECT_EQ(h1.shape(), Shape({1, 4}));
}

TEST(Recurrent, CanBeClonedAndConverted) {
  GRU gru(3, 4, {.bidirectional = true});
  const auto copy = clone(gru);
  const Tensor x = made({5, 2, 3}, 0, float32);
  EXPECT_TRUE(equal(std::get<0>(gru(x)), std::get<0>((*copy)(x))));
  EXPECT_EQ(copy->repr(), gru.repr());
  copy->double_();
  EXPECT_TRUE(allclose(std::get<0>((*copy)(x.to(float64))).to(float32), std::get<0>(gru(x)),
                       {.rtol = 1e-5, .atol = 1e-6}));
}

TEST(Recurrent, WorksOnMetaAndWithoutSequences) {
  const Tensor before = default_generator().get_state();
  LSTM lstm(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true, .device = "meta"});
  EXPECT_TRUE(equal(before, default_generator().get_state()));
  const auto [out, state] = lstm(empty({2, 5, 3}, {.device = "meta"}));
  EXPECT_TRUE(out.is_meta());
  EXPECT_EQ(out.shape(), Shape({2, 5, 8}));
  EXPECT_EQ(std::get<1>(state).shape(), Shape({4, 2, 4}));
  GRU gru(3, 4);
  const auto [none, h] = gru(zeros({2, 0, 3}));
  EXPECT_EQ(none.shape(), Shape({2, 0, 4}));
  EXPECT_EQ(h.shape(), Shape({1, 0, 4}));
  none.sum().backward();
  EXPECT_TRUE(equal(gru.get_parameter("weight_hh_l0").grad(), zeros({12, 4})));
}

TEST(Recurrent, IsTheSameOnAnyNumberOfThreads) {
  manual_seed(2);
  LSTM lstm(40, 300, {.bidirectional = true});
  const Tensor x = made({4, 60, 40}, 0, float32);
  const int before = get_num_threads();
  std::vector<Tensor> outs, grads;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    lstm.zero_grad();
    outs.push_back(std::get<0>(lstm(x)));
    outs.back().sum().backward();
    grads.push_back(lstm.get_parameter("weight_hh_l0_reverse").grad());
  }
  set_num_threads(before);
  EXPECT_TRUE(equal(outs[0], outs[1]) && equal(outs[0], outs[2]));
  EXPECT_TRUE(equal(grads[0], grads[1]) && equal(grads[0], grads[2]));
}

TEST(Recurrent, RunsHooksForPackedSequencesToo) {
  GRU gru(3, 4);
  int calls = 0;
  gru.register_forward_hook([&](Module&, const auto&, auto&) { ++calls; });
  gru(zeros({2, 1, 3}));
  gru(pack_sequence({zeros({2, 3}), zeros({1, 3})}));
  EXPECT_EQ(calls, 2);
}

TEST(Recurrent, SaysWhatDoesNotFit) {
  LSTM lstm(3, 4);
  GRU gru(3, 4);
  expect_error<ShapeError>([&] { lstm(zeros({2, 2, 5})); }, "Expected 3, got 5", "(in LSTM(3, 4))");
  expect_error<ShapeError>([&] { lstm(zeros({2, 2, 3, 5})); },
                           "LSTM: Expected input to be 2D or 3D, got 4D instead");
  expect_error<DTypeError>([&] { lstm(zeros({2, 2, 3}, {.dtype = float64})); },
                           "RNN input dtype (torch.float64) does not match weight dtype");
  expect_error<ShapeError>([&] { lstm(zeros({2, 2, 3}), {zeros({1, 3, 4}), zeros({1, 2, 4})}); },
                           "Expected hidden[0] size (1, 2, 4), got [1, 3, 4]");
  expect_error<ShapeError>([&] { lstm(zeros({2, 2, 3}), {zeros({1, 2, 4}), zeros({2, 4})}); },
                           "hx and cx should also be 3-D but got (3-D, 2-D) tensors");
  expect_error<ValueError>([&] { lstm(zeros({2, 2, 3}), {zeros({1, 2, 4}), Tensor()}); }, "both");
  expect_error<ShapeError>([&] { gru(zeros({2, 3}), zeros({1, 2, 4})); },
                           "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor");
  expect_error<ShapeError>([&] { gru(zeros({0, 2, 3})); }, "larger than 0");
  expect_error<DTypeError>([&] { gru(zeros({2, 2, 3}), zeros({1, 2, 4}, {.dtype = float64})); },
                           "not the same dtype");
  expect_error<DeviceError>([&] { gru(zeros({2, 2, 3}, {.device = "meta"})); }, "meta");
  expect_error<ValueError>([] { RNN(3, 4, {.nonlinearity = "selu"}); },
                           "Unknown nonlinearity 'selu'. Select from 'tanh' or 'relu'.");
  expect_error<ValueError>([] { GRU(3, 4, {.dropout = 2}); }, "range [0, 1]");
  expect_error<ValueError>([] { GRU(0, 4); }, "input_size must be greater than zero");
  expect_error<ValueError>([] { LSTM(3, 4, {.proj_size = 4}); }, "smaller than hidden_size");
  LSTMCell cell(3, 4);
  expect_error<ShapeError>([&] { cell(zeros({2, 5})); }, "got 5 expected 3");
  expect_error<ShapeError>([&] { cell(zeros({2, 3}), {zeros({3, 4}), zeros({2, 4})}); },
                           "Input batch size 2 doesn't match hidden0 batch size 3");
  expect_error<ShapeError>([&] { cell(zeros({2, 3}), {zeros({2, 5}), zeros({2, 4})}); },
                           "hidden0 has inconsistent hidden_size: got 5, expected 4");
}

TEST(PackedSequences, AreThoseOfPyTorch) {
  const Tensor x = arange(12, {.dtype = float32}).reshape({4, 3});
  const PackedSequence packed = pack_padded_sequence(x, {2, 4, 2}, {.enforce_sorted = false});
  EXPECT_TRUE(equal(packed.data, tensor({1.F, 0.F, 2.F, 4.F, 3.F, 5.F, 7.F, 10.F})));
  EXPECT_TRUE(equal(packed.batch_sizes, tensor({3, 3, 1, 1})));
  EXPECT_TRUE(equal(packed.sorted_indices, tensor({1, 0, 2})));
  EXPECT_TRUE(equal(packed.unsorted_indices, tensor({1, 0, 2})));
  const PackedSequence sorted = pack_padded_sequence(x, tensor({3, 2, 1}));
  EXPECT_TRUE(equal(sorted.data, tensor({0.F, 1.F, 2.F, 3.F, 4.F, 6.F})));
  EXPECT_FALSE(sorted.sorted_indices.defined());

  const auto [padded, lengths] =
      pad_packed_sequence(pack_padded_sequence(x, {2, 4, 3}, {.enforce_sorted = false}),
                          {.padding_value = -1, .total_length = 6});
  EXPECT_TRUE(equal(padded, tensor({{0.F, 1.F, 2.F},
                                    {3.F, 4.F, 5.F},
                                    {-1.F, 7.F, 8.F},
                                    {-1.F, 10.F, -1.F},
                                    {-1.F, -1.F, -1.F},
                                    {-1.F, -1.F, -1.F}})));
  EXPECT_TRUE(equal(lengths, tensor({2, 4, 3})));
  EXPECT_TRUE(equal(pad_sequence({tensor({1, 2}), tensor({3, 4, 5})}, {.padding_side = "left"}),
                    tensor({{0, 3}, {1, 4}, {2, 5}})));
  EXPECT_TRUE(equal(
      pad_sequence({tensor({1, 2}), tensor({3, 4, 5})}, {.batch_first = true, .padding_value = 9}),
      tensor({{1, 2, 9}, {3, 4, 5}})));
  const auto parts = unpack_sequence(
      pack_sequence({tensor({1}), tensor({2, 3}), tensor({4, 5, 6})}, {.enforce_sorted = false}));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_TRUE(equal(parts[0], tensor({1})));
  EXPECT_TRUE(equal(parts[1], tensor({2, 3})));
  EXPECT_TRUE(equal(parts[2], tensor({4, 5, 6})));
}

TEST(PackedSequences, PassGradients) {
  expect_gradients(
      [](const std::vector<Tensor>& at) {
        const auto packed =
            pack_padded_sequence(at[0], {2, 3}, {.batch_first = true, .enforce_sorted = false});
        return std::get<0>(pad_packed_sequence(packed, {.padding_value = 2, .total_length = 4}));
      },
      {made({2, 3, 2}, 0, float64).requires_grad_()});
}

TEST(PackedSequences, SayWhatDoesNotFit) {
  const Tensor x = zeros({4, 3});
  expect_error<ValueError>([&] { pack_padded_sequence(x, {4, 2, 3}); },
                           "sorted in decreasing order", "{.enforce_sorted = false}");
  expect_error<ShapeError>([&] { pack_padded_sequence(x, {4, 2}); }, "but got 2 (batch_size=3)");
  expect_error<ValueError>([&] { pack_padded_sequence(x, {4, 2, 0}); }, "greater than 0");
  expect_error<ShapeError>([&] { pack_padded_sequence(x, {5, 2, 1}); }, "a length of 5");
  expect_error<ShapeError>([&] { pack_padded_sequence(x, tensor({{3, 2, 1}})); }, "1D");
  expect_error<ShapeError>([&] { pack_padded_sequence(zeros({4}), {4}); }, "2 dimensions");
  expect_error<ValueError>(
      [&] { pad_packed_sequence(pack_padded_sequence(x, {4, 4, 4}), {.total_length = 3}); },
      "total_length=3 and max sequence length being 4");
  expect_error<ValueError>([] { pad_sequence({}); }, "empty list");
  expect_error<ShapeError>([&] { pad_sequence({x, zeros({4, 2})}); }, "[4, 3] and [4, 2]");
  expect_error<ValueError>([&] { pad_sequence({x}, {.padding_side = "lef"}); }, "left or right");
}

TEST(PackedSequences, ThatAUserHasPutTogetherAreChecked) {
  const Tensor rows = ones({6, 1});
  LSTM lstm(1, 2);
  const auto check = [&]<class E>(const E* /*type*/, const Tensor& sizes, const char* message) {
    const PackedSequence packed{rows, sizes, {}, {}};
    expect_error<E>([&] { pad_packed_sequence(packed); }, message);
    expect_error<E>([&] { unpack_sequence(packed); }, message);
    expect_error<E>([&] { lstm(packed); }, message);
  };
  const ValueError* value = nullptr;
  const ShapeError* shape = nullptr;
  check(value, tensor({1, 5}), "not to grow, but batch_sizes[1] is 5 after 1");
  check(value, tensor({6, 0}), "greater than 0, but batch_sizes[1] is 0");
  check(value, tensor({-6, 12}), "greater than 0, but batch_sizes[0] is -6");
  check(shape, tensor({3, 2}), "the first 2 of 2 add up to 5, and its data has 6 rows");
  check(shape, tensor({4, 3, 3}), "the first 2 of 3 add up to 7, and its data has 6 rows");
  check(shape, tensor({std::numeric_limits<std::int64_t>::max(), std::int64_t{2}}),
        "the first 1 of 2 add up to 9223372036854775807");
  const PackedSequence packed{rows, tensor({4, 2}), {}, {}};
  EXPECT_EQ(std::get<0>(pad_packed_sequence(packed)).shape(), Shape({2, 4, 1}));
  EXPECT_EQ(std::get<0>(lstm(packed)).data.shape(), Shape({6, 2}));
  // So long that the number of elements does not fit.
  expect_error<Error>([&] { pad_packed_sequence(packed, {.total_length = std::int64_t{1} << 62}); },
                      "overflowed");
}

// As in PyTorch, whose LSTM has a kernel for plain batches, and none for the others.
TEST(RecurrentLayersWithAutocast, GiveTheDtypesOfPyTorch) {
  const AutocastScope autocast("cpu");
  const auto check = [](auto& net, DType given, bool packed, std::vector<DType> expected) {
    const Tensor x = randn({5, 2, 3}).to(given);
    std::vector<DType> dtypes;
    const auto note = [&](const Tensor& out, const auto& state) {
      dtypes.push_back(out.dtype());
      if constexpr (requires { std::get<1>(state); }) {
        dtypes.push_back(std::get<0>(state).dtype());
        dtypes.push_back(std::get<1>(state).dtype());
      } else {
        dtypes.push_back(state.dtype());
      }
    };
    if (packed) {
      const auto [out, state] = net(pack_padded_sequence(x, tensor({5, 3})));
      note(out.data, state);
    } else {
      const auto [out, state] = net(x);
      note(out, state);
    }
    EXPECT_EQ(dtypes, expected) << net.repr() << repr(given) << packed;
  };
  LSTM lstm(3, 4), projected(3, 4, {.proj_size = 2});
  GRU gru(3, 4);
  RNN rnn(3, 4);
  const DType f = float32, b = bfloat16;
  for (const bool packed : {false, true}) {
    check(lstm, b, packed, {b, b, b});
    check(projected, f, packed, {b, b, f});
    check(projected, b, packed, {b, b, b});
    check(gru, f, packed, {f, f});
    check(gru, b, packed, {b, b});
    check(rnn, f, packed, {b, b});
    check(rnn, b, packed, {b, b});
  }
  check(lstm, f, false, {b, b, b});
  check(lstm, f, true, {f, f, f});
}

}  // namespace
}  // namespace tenon::nn
