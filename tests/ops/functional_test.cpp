#include "tenon/ops/functional.h"

#include <cmath>
#include <limits>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

Tensor on_meta(const Tensor& t) { return t.to(Device::meta()); }

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  const Tensor x = tensor({{1., 2.}, {3., 4.}}), weight = tensor({{1., 0.}, {0., 1.}, {1., 1.}});
  EXPECT_TRUE(equal(linear(x, weight), tensor({{1., 2., 3.}, {3., 4., 7.}})));
  EXPECT_TRUE(equal(linear(x, weight, tensor({10., 20., 30.})),
                    tensor({{11., 22., 33.}, {13., 24., 37.}})));
  EXPECT_TRUE(equal(linear(x, weight, tensor(1.)), tensor({{2., 3., 4.}, {4., 5., 8.}})));
}

TEST(Linear, AnyNumberOfDimensionsStandBeforeTheFeatures) {
  const Tensor weight = tensor({{1., 2.}, {3., 4.}, {5., 6.}}), bias = tensor({1., 2., 3.});
  EXPECT_TRUE(equal(linear(tensor({1., 1.}), weight, bias), tensor({4., 9., 14.})));
  const Tensor deep = arange(24.).view({2, 3, 2, 2}), result = linear(deep, weight, bias);
  EXPECT_EQ(result.shape(), Shape({2, 3, 2, 3}));
  EXPECT_TRUE(equal(result[1][2][1], linear(deep[1][2][1], weight, bias)));
}

TEST(Linear, AWeightOfOneDimensionGivesOneNumberEach) {
  const Tensor weight = tensor({1., 2.});
  EXPECT_TRUE(equal(linear(tensor({{1., 1.}, {2., 3.}}), weight, tensor(0.5)), tensor({3.5, 8.5})));
  EXPECT_TRUE(equal(linear(tensor({3., 4.}), weight), tensor(11.)));
}

TEST(Linear, BatchesAndFeaturesMayBeNone) {
  EXPECT_EQ(linear(zeros({0, 4}), zeros({3, 4}), zeros({3})).shape(), Shape({0, 3}));
  EXPECT_EQ(linear(zeros({2, 0, 4}), zeros({3, 4})).shape(), Shape({2, 0, 3}));
  EXPECT_TRUE(equal(linear(zeros({2, 0}), zeros({3, 0}), ones({3})), ones({2, 3})));
  EXPECT_EQ(linear(zeros({2, 4}), zeros({0, 4}), zeros({0})).shape(), Shape({2, 0}));
}

TEST(Linear, SaysWhatBothAreWhenTheyDoNotFit) {
  expect_error<ShapeError>([] { linear(zeros({2, 5}), zeros({3, 4})); },
                           "linear: input of shape [2, 5] has 5 features but weight of shape "
                           "[3, 4] expects 4");
  expect_error<ShapeError>([] { linear(zeros({2, 4}), zeros({3, 4}), zeros({5})); },
                           "bias of shape [5]", "[2, 3]");
  // It would make the result larger.
  expect_error<ShapeError>([] { linear(zeros({1, 4}), zeros({3, 4}), zeros({6, 3})); },
                           "bias of shape [6, 3]", "[1, 3]");
  expect_error<ShapeError>([] { linear(zeros({4}), zeros({4}), zeros({4})); }, "bias of shape [4]");
  expect_error<ShapeError>([] { linear(zeros({}), zeros({3, 4})); }, "at least 1D", "0D and 2D");
  expect_error<ShapeError>([] { linear(zeros({2, 4}), zeros({2, 3, 4})); }, "weight of shape",
                           "[2, 3, 4]", "(out, in)");
  expect_error<DTypeError>([] { linear(zeros({2, 4}), zeros({3, 4}, {.dtype = float64})); },
                           "input is of dtype torch.float32", "weight of torch.float64", "to()");
  expect_error<DTypeError>(
      [] { linear(zeros({2, 4}), zeros({3, 4}), zeros({3}, {.dtype = bfloat16})); },
      "bias of torch.bfloat16");
  expect_error<DeviceError>([] { linear(on_meta(zeros({2, 4})), zeros({3, 4})); }, "meta", "cpu");
  expect_error<DeviceError>([] { linear(zeros({2, 4}), zeros({3, 4}), on_meta(zeros({3}))); },
                            "meta", "cpu");
  expect_error<Error>([] { linear(Tensor(), zeros({3, 4})); }, "linear", "undefined");
}

TEST(Linear, RecordsWhereItComesFrom) {
  const Tensor weight = ones({3, 4}).requires_grad_(), bias = ones({3}).requires_grad_();
  EXPECT_TRUE(linear(zeros({2, 4}), weight, bias).requires_grad());
  EXPECT_TRUE(linear(zeros({2, 4}), weight.detach(), bias).requires_grad());
  const NoGradScope scope;
  const Tensor y = linear(zeros({2, 4}), weight, bias);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(y.version(), 0);
  EXPECT_FALSE(y.is_view());
}

TEST(Bilinear, EveryOutputHasAMatrixBetweenTheInputs) {
  manual_seed(3);
  const Tensor a = randn({2, 5, 3}), b = randn({2, 5, 4}), weight = randn({6, 3, 4}),
               bias = randn({6});
  const Tensor y = bilinear(a, b, weight, bias);
  ASSERT_EQ(y.shape(), Shape({2, 5, 6}));
  const Tensor one = (weight[4] * outer(a[1][3], b[1][3])).sum() + bias[4];
  EXPECT_NEAR(y[1][3][4].item<double>(), one.item<double>(), 1e-5);
  EXPECT_TRUE(allclose(bilinear(a[0][0], b[0][0], weight), y[0][0] - bias, {.atol = 1e-6}));
  EXPECT_EQ(bilinear(zeros({0, 3}), zeros({0, 4}), weight, bias).shape(), Shape({0, 6}));
}

TEST(Bilinear, SaysWhatBothAreWhenTheyDoNotFit) {
  const Tensor weight = zeros({6, 3, 4});
  expect_error<ShapeError>([&] { bilinear(zeros({2, 5}), zeros({2, 4}), weight); },
                           "input1 of shape [2, 5] has 5 features", "[6, 3, 4] expects 3");
  expect_error<ShapeError>([&] { bilinear(zeros({2, 3}), zeros({2, 5}), weight); },
                           "input2 of shape [2, 5] has 5 features", "[6, 3, 4] expects 4");
  expect_error<ShapeError>([&] { bilinear(zeros({2, 3}), zeros({4}), weight); }, "[2, 3]", "[4]");
  expect_error<ShapeError>([&] { bilinear(zeros({2, 3}), zeros({7, 4}), weight); }, "[2, 3]",
                           "[7, 4]", "all dimensions but the last");
  expect_error<ShapeError>([&] { bilinear(zeros({2, 3}), zeros({2, 4}), zeros({3, 4})); },
                           "weight of shape [3, 4]", "(out, in1, in2)");
  expect_error<DTypeError>(
      [&] { bilinear(zeros({2, 3}), zeros({2, 4}, {.dtype = float64}), weight); }, "torch.float32",
      "torch.float64");
  expect_error<ShapeError>([&] { bilinear(zeros({2, 3}), zeros({2, 4}), weight, zeros({5})); },
                           "bias of shape [5]", "[2, 6]");
}

TEST(Embedding, GivesRowsByNumber) {
  const Tensor table = arange(12.).view({4, 3});
  const Tensor rows = embedding(tensor({{3, 0}, {1, 1}}), table);
  EXPECT_EQ(rows.shape(), Shape({2, 2, 3}));
  EXPECT_TRUE(equal(rows[0][0], table[3]));
  EXPECT_TRUE(equal(rows[1][1], table[1]));
  EXPECT_FALSE(rows.is_view());
  EXPECT_TRUE(equal(embedding(tensor(2), table), table[2]));
  EXPECT_TRUE(equal(embedding(tensor({2}, {.dtype = int32}), table), table.narrow(0, 2, 1)));
  EXPECT_EQ(embedding(zeros({0, 2}, {.dtype = int64}), table).shape(), Shape({0, 2, 3}));
  // The padding row is like any other until there are gradients.
  EXPECT_TRUE(equal(embedding(tensor({0}), table, {.padding_idx = 0})[0], table[0]));
  EXPECT_TRUE(embedding(tensor({0}), ones({2, 2}).requires_grad_()).requires_grad());
}

TEST(Embedding, ScalesTheRowsItUsesToTheNormThatIsAllowed) {
  const Tensor table = tensor({{3., 4.}, {0.3, 0.4}, {30., 40.}});
  const Tensor rows = embedding(tensor({0, 1, 0}), table, {.max_norm = 1});
  EXPECT_TRUE(allclose(table, tensor({{0.6, 0.8}, {0.3, 0.4}, {30., 40.}})));
  EXPECT_TRUE(equal(rows[0], table[0]));
  embedding(tensor({2}), table, {.max_norm = 7, .norm_type = 1});
  EXPECT_TRUE(allclose(table[2], tensor({3., 4.})));
  // A parameter is written to although it is a leaf that requires grad.
  const Tensor weight = nn::make_parameter(tensor({{3., 4.}}));
  EXPECT_TRUE(embedding(tensor({0}), weight, {.max_norm = 1}).requires_grad());
  EXPECT_TRUE(weight.is_leaf());
  EXPECT_NEAR(weight.detach()[0][1].item<double>(), 0.8, 1e-6);
}

TEST(Embedding, RefusesRowsThatAreNotThereBeforeAnythingIsChanged) {
  const Tensor table = full({4, 3}, 9.);
  expect_error<IndexError>([&] { embedding(tensor({{0, 1}, {7, 2}}), table, {.max_norm = 1}); },
                           "index 7", "4 rows", "[1, 0]");
  EXPECT_TRUE(equal(table, full({4, 3}, 9.)));
  expect_error<IndexError>([&] { embedding(tensor({-1}), table); }, "index -1", "4 rows");
  expect_error<DTypeError>([&] { embedding(tensor({1.}), table); }, "torch.float32", "to(int64)");
  expect_error<ShapeError>([&] { embedding(tensor({1}), table[0]); }, "'weight' must be 2-D",
                           "[3]");
  expect_error<ValueError>([&] { embedding(tensor({1}), table, {.padding_idx = 4}); },
                           "Padding_idx must be within num_embeddings", "4 rows");
  expect_error<ValueError>([&] { embedding(tensor({1}), table, {.padding_idx = -5}); }, "-5");
  EXPECT_NO_THROW(embedding(tensor({1}), table, {.padding_idx = -4}));
  expect_error<NotImplementedError>([&] { embedding(tensor({1}), table, {.sparse = true}); },
                                    "sparse");
  expect_error<DeviceError>([&] { embedding(on_meta(tensor({1})), table); }, "meta", "cpu");
}

TEST(Dropout, KeepsSomeElementsAndScalesThem) {
  manual_seed(5);
  const Tensor x = ones({1000}), y = dropout(x, {.p = 0.2});
  EXPECT_TRUE(equal(x, ones({1000})));
  EXPECT_TRUE(all((y == 0) | (y == 1.25)).item<bool>());
  const auto kept = sum(y != 0).item<std::int64_t>();
  EXPECT_GT(kept, 740);
  EXPECT_LT(kept, 860);
  // The mask is the one that bernoulli_ draws.
  manual_seed(5);
  EXPECT_TRUE(equal(y, empty({1000}).bernoulli_(0.8) * 1.25));
}

TEST(Dropout, ReturnsTheInputItselfWhereNothingIsLeftOut) {
  const Tensor x = randn({3});
  const Tensor before = get_rng_state();
  EXPECT_TRUE(dropout(x, {.training = false}).is(x));
  EXPECT_TRUE(dropout(x, {.p = 0}).is(x));
  const Tensor none = zeros({0, 3});
  EXPECT_TRUE(dropout(none).is(none));
  EXPECT_TRUE(equal(get_rng_state(), before));
}

TEST(Dropout, OfEverythingMultipliesByZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor before = get_rng_state(), y = dropout(tensor({1., -2., inf}), {.p = 1});
  EXPECT_EQ(y[0].item<double>(), 0);
  EXPECT_TRUE(std::signbit(y[1].item<double>()));
  EXPECT_TRUE(std::isnan(y[2].item<double>()));
  EXPECT_TRUE(equal(get_rng_state(), before));
}

TEST(Dropout, InPlaceWritesIntoTheInput) {
  const Tensor x = ones({100});
  EXPECT_TRUE(dropout(x, {.inplace = true}).is(x));
  EXPECT_TRUE(all((x == 0) | (x == 2)).item<bool>());
  EXPECT_TRUE(dropout(x, {.p = 1, .inplace = true}).is(x));
  EXPECT_TRUE(equal(x, zeros({100})));
}

TEST(Dropout, KeepsTheOrderInMemoryAndTheHistory) {
  EXPECT_EQ(dropout(ones({3, 4}).t()).stride(), Dims({1, 4}));
  EXPECT_TRUE(dropout(ones({3}).requires_grad_()).requires_grad());
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double p : {-0.1, 1.5})
    expect_error<ValueError>([&] { dropout(ones({2}), {.p = p, .training = false}); },
                             "dropout probability has to be between 0 and 1, but got ");
  expect_error<ValueError>([] { dropout(ones({2}), {.p = std::nan("")}); }, "but got nan");
  expect_error<Error>([] { dropout(arange(3)); }, "Long");
}

TEST(Functional, OnMetaEverythingHasItsShapeAndNothingIsDrawn) {
  const Tensor before = get_rng_state();
  const auto meta = [](const Shape& shape, DType dtype = float32) {
    return empty(shape, {.dtype = dtype, .device = Device::meta()});
  };
  EXPECT_EQ(linear(meta({2, 7, 4}), meta({3, 4}), meta({3})).shape(), Shape({2, 7, 3}));
  EXPECT_EQ(linear(meta({4}), meta({4}), meta({})).shape(), Shape({}));
  EXPECT_EQ(bilinear(meta({2, 3}), meta({2, 4}), meta({6, 3, 4}), meta({6})).shape(),
            Shape({2, 6}));
  EXPECT_EQ(embedding(meta({2, 5}, int64), meta({9, 4}), {.max_norm = 1}).shape(),
            Shape({2, 5, 4}));
  EXPECT_EQ(dropout(meta({5})).shape(), Shape({5}));
  expect_error<ShapeError>([&] { linear(meta({2, 5}), meta({3, 4})); },
                           "input of shape [2, 5] has 5 features");
  EXPECT_TRUE(equal(get_rng_state(), before));
}

// A layer's weight that knows how a linear layer is calculated with it, and nothing else.
class OnesWeight final : public Wrapper<OnesWeight> {
 public:
  explicit OnesWeight(const Tensor& inside) : Wrapper(inside) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (const auto* arguments = call.as<op::linear>()) {
      const auto& [input, weight, bias] = *arguments;
      const Tensor each = input.sum(-1, {.keepdim = true});
      return bias ? each + *bias : each;
    }
    return std::nullopt;
  }
};

TEST(Functional, AUserDefinedTensorTakesOverTheWhole) {
  const Tensor weight = make_tensor<OnesWeight>(zeros({1, 2}));
  EXPECT_TRUE(equal(linear(tensor({{1., 2.}}), weight), tensor({{3.}})));
  EXPECT_TRUE(equal(linear(tensor({{1., 2.}}), weight, tensor({10.})), tensor({{13.}})));
}

TEST(Functional, AUserDefinedTensorThatDoesNotSeesWhatItIsMadeOf) {
  std::vector<std::string> log;
  const Tensor weight = make_tensor<LoggingTensor>(ones({3, 2}), log);
  const Tensor y = linear(ones({4, 2}), weight, ones({3}));
  ASSERT_NE(y.as<LoggingTensor>(), nullptr);
  EXPECT_TRUE(equal(y.as<LoggingTensor>()->elem, full({4, 3}, 3.)));
  EXPECT_EQ(log.front(), "linear");
}

}  // namespace
}  // namespace tenon
