#include "tenon/ops/embedding_bag.h"

#include "ops/known_numbers.h"
#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

Tensor words() { return tensor({0, 2, 5, 2, 1, 1, 4, 3}); }
Tensor starts() { return tensor({0, 3, 3, 6}); }

TEST(EmbeddingBag, IsWhatPyTorchGives) {
  struct Case {
    EmbeddingBagFunctionOptions options;
    double sum, grad;
  };
  const Case cases[] = {
      {{.mode = "sum"}, -0.46875, 7.375},
      {{.mode = "mean"}, -0.11067708333333326, 2.8125},
      {{.mode = "max"}, 4.515625, 2.09375},
      {{.mode = "sum", .padding_idx = 2}, -1.8125, 6.125},
      {{.mode = "mean", .padding_idx = 2}, -0.90625, 3.0625},
      {{.mode = "max", .padding_idx = -4}, 1.9765625, 2.75},
      {{.scale_grad_by_freq = true, .mode = "mean"}, -0.11067708333333326, 2.1145833333333335},
      {{.scale_grad_by_freq = true, .mode = "sum"}, -0.46875, 5.28125},
      {{.mode = "sum", .include_last_offset = true}, -0.7421875, 5.25},
      {{.mode = "max", .include_last_offset = true}, 2.6796875, 1.34375},
      {{.mode = "mean", .include_last_offset = true}, -0.24739583333333331, 1.75},
  };
  for (Case c : cases) {
    SCOPED_TRACE(c.options.mode);
    c.options.offsets = starts();
    const Tensor weight = known_numbers({6, 3}).requires_grad_();
    const Tensor used = c.options.include_last_offset ? words().narrow(0, 0, 6) : words();
    const Tensor bags = embedding_bag(used, weight, c.options);
    EXPECT_EQ(bags.grad_fn()->name(), "EmbeddingBagBackward0");
    ASSERT_EQ(bags.shape(), Shape({c.options.include_last_offset ? 3 : 4, 3}));
    expect_weighted_sum(bags, c.sum);
    bags.backward({.gradient = known_gradient(bags.shape())});
    expect_weighted_sum(weight.grad(), c.grad);
    c.options.offsets = starts().to(int32);
    EXPECT_TRUE(equal(embedding_bag(used.to(int32), weight, c.options), bags));
    c.options.offsets = starts().to(Device::meta());
    EXPECT_EQ(embedding_bag(used.to(Device::meta()), weight.detach().to(Device::meta()), c.options)
                  .shape(),
              bags.shape());
  }
}

TEST(EmbeddingBag, LeavesOutWhatComesAfterTheLastEnd) {
  const Tensor weight = known_numbers({6, 3});
  const EmbeddingBagFunctionOptions options{
      .offsets = starts(), .mode = "sum", .include_last_offset = true};
  EXPECT_TRUE(equal(embedding_bag(words(), weight, options),
                    embedding_bag(words().narrow(0, 0, 6), weight, options)));
}

TEST(EmbeddingBag, RowsOfAMatrixAreBagsToo) {
  const Tensor weight = known_numbers({6, 3});
  const Tensor bags = embedding_bag(words().view({4, 2}), weight);
  expect_weighted_sum(bags, -0.37109375);
  EXPECT_TRUE(equal(embedding_bag(zeros({0, 2}, {.dtype = int64}), weight), zeros({0, 3})));
  EXPECT_TRUE(equal(embedding_bag(zeros({2, 0}, {.dtype = int64}), weight), zeros({2, 3})));
}

TEST(EmbeddingBag, EachRowMayHaveAFactor) {
  const Tensor weight = known_numbers({6, 3}).requires_grad_(),
               factors = known_numbers({8}, 3).requires_grad_();
  const Tensor bags = embedding_bag(
      words(), weight,
      {.offsets = starts(), .mode = "sum", .per_sample_weights = factors, .padding_idx = 1});
  expect_weighted_sum(bags, -6.02783203125);
  bags.backward({.gradient = known_gradient(bags.shape())});
  expect_weighted_sum(weight.grad(), -0.951171875);
  expect_weighted_sum(factors.grad(), -1.3828125);
}

TEST(EmbeddingBag, HasGradientsThatDifferencesConfirm) {
  manual_seed(4);
  using Args = const std::vector<Tensor>&;
  const Tensor weight = randn({6, 2}, {.dtype = float64}).requires_grad_(),
               factors = randn({8}, {.dtype = float64}).requires_grad_();
  for (const char* mode : {"sum", "mean", "max"}) {
    expect_gradients(
        [&](Args a) { return embedding_bag(words(), a[0], {.offsets = starts(), .mode = mode}); },
        {weight});
  }
  expect_gradients(
      [&](Args a) {
        return embedding_bag(words(), a[0],
                             {.offsets = starts(), .mode = "sum", .per_sample_weights = a[1]});
      },
      {weight, factors});
}

TEST(EmbeddingBag, ShortensTheRowsItUses) {
  const Tensor weight = tensor({{3.F, 4.F}, {0.3F, 0.4F}, {6.F, 8.F}});
  embedding_bag(tensor({{0, 1}}), weight, {.max_norm = 1.0});
  EXPECT_TRUE(allclose(weight, tensor({{0.6F, 0.8F}, {0.3F, 0.4F}, {6.F, 8.F}})));
}

TEST(EmbeddingBag, SumsHalvesInSinglePrecision) {
  const Tensor weight = known_numbers({6, 3}).to(bfloat16);
  EXPECT_TRUE(equal(embedding_bag(words().view({2, 4}), weight),
                    embedding_bag(words().view({2, 4}), weight.to(float32)).to(bfloat16)));
}

TEST(EmbeddingBag, IsOfTensorsOnOneDeviceThatCanBeRead) {
  const Tensor weight = zeros({4, 2}), input = tensor({0, 1, 2}), offsets = tensor({0, 2});
  const Device meta = Device::meta();
  expect_error<DeviceError>([&] { embedding_bag(input, weight, {.offsets = offsets.to(meta)}); },
                            "meta");
  expect_error<DeviceError>(
      [&] { embedding_bag(input.to(meta), weight.to(meta), {.offsets = offsets}); }, "meta");
  expect_error<DeviceError>(
      [&] {
        embedding_bag(
            input, weight,
            {.offsets = offsets, .mode = "sum", .per_sample_weights = ones({3}).to(meta)});
      },
      "meta");
  expect_error<NotImplementedError>(
      [&] { embedding_bag(input, weight, {.offsets = make_tensor<ScaledTensor>(offsets, 2.0)}); },
      "embedding_bag");
}

TEST(EmbeddingBag, SaysWhatDoesNotFit) {
  const Tensor weight = zeros({4, 2});
  const auto bag = [&](const Tensor& input, const EmbeddingBagFunctionOptions& options) {
    return embedding_bag(input, weight, options);
  };
  expect_error<ValueError>([&] { bag(tensor({{0}}), {.offsets = tensor({0})}); }, "input is 2D");
  expect_error<ValueError>([&] { bag(tensor({0}), {}); }, "offsets has to be a 1D Tensor");
  expect_error<ValueError>([&] { bag(tensor({0, 1}), {.offsets = tensor({1})}); },
                           "offsets[0] has to be 0", "got 1");
  expect_error<ValueError>([&] { bag(tensor({0, 1}), {.offsets = tensor({0, 3})}); },
                           "input's length 2", "offsets[-1] of 3");
  expect_error<IndexError>([&] { bag(tensor({0, 9}), {.offsets = tensor({0})}); }, "9", "4 rows");
  expect_error<ValueError>([&] { bag(tensor({{0}}), {.mode = "median"}); }, "sum, mean or max");
  expect_error<NotImplementedError>(
      [&] { bag(tensor({{0}}), {.per_sample_weights = ones({1, 1})}); }, "mode='sum'");
  expect_error<ShapeError>(
      [&] { bag(tensor({{0}}), {.mode = "sum", .per_sample_weights = ones({2})}); }, "[2]",
      "[1, 1]");
  expect_error<ValueError>([&] { bag(tensor({{0}}), {.scale_grad_by_freq = true, .mode = "max"}); },
                           "frequency");
  expect_error<NotImplementedError>([&] { bag(tensor({{0}}), {.sparse = true}); }, "sparse");
  expect_error<DTypeError>([&] { bag(tensor({{0.}}), {}); }, "int64");
}

}  // namespace
}  // namespace tenon
