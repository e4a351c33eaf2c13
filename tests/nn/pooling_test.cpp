// Pools, folds and bags as layers.
#include "tenon/nn/pooling.h"

#include "nn/recorded_layers.h"
#include "support/sha256.h"
#include "tenon/nn/embedding_bag.h"
#include "tenon/nn/fold.h"

namespace tenon::nn {
namespace {

TEST_F(RecordedLayers, Pools) {
  MaxPool1d maxpool1(2);
  check("maxpool1", maxpool1);
  MaxPool2d maxpool2(3, {.stride = 2, .padding = 1});
  check("maxpool2", maxpool2);
  AvgPool2d avgpool2(2);
  check("avgpool2", avgpool2);
  AdaptiveAvgPool2d adavg({3, 2});
  check("adavg", adavg);
  AdaptiveMaxPool1d admax(3);
  check("admax", admax);
}

TEST(PoolLayers, SayWhatTheyAre) {
  EXPECT_EQ(MaxPool1d(3).repr(),
            "MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=False)");
  EXPECT_EQ(MaxPool2d({3, 2}, {.stride = {2, 1}}).repr(),
            "MaxPool2d(kernel_size=(3, 2), stride=(2, 1), padding=0, dilation=1, ceil_mode=False)");
  EXPECT_EQ(MaxPool2d(3, 2).repr(),
            "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False)");
  EXPECT_EQ(MaxPool3d(2, {.return_indices = true, .ceil_mode = true}).repr(),
            "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=True)");
  EXPECT_EQ(AvgPool1d(3).repr(), "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))");
  EXPECT_EQ(AvgPool2d(3, {.stride = 2}).repr(), "AvgPool2d(kernel_size=3, stride=2, padding=0)");
  EXPECT_EQ(AvgPool2d({3, 2}, {.count_include_pad = false, .divisor_override = 2}).repr(),
            "AvgPool2d(kernel_size=(3, 2), stride=(3, 2), padding=0)");
  EXPECT_EQ(AvgPool3d(2).repr(), "AvgPool3d(kernel_size=2, stride=2, padding=0)");
  EXPECT_EQ(AdaptiveAvgPool1d(5).repr(), "AdaptiveAvgPool1d(output_size=5)");
  EXPECT_EQ(AdaptiveAvgPool2d({None, 7}).repr(), "AdaptiveAvgPool2d(output_size=(None, 7))");
  EXPECT_EQ(AdaptiveAvgPool2d({std::nullopt, 7}).repr(),
            "AdaptiveAvgPool2d(output_size=(None, 7))");
  EXPECT_EQ(AdaptiveAvgPool2d(None).repr(), "AdaptiveAvgPool2d(output_size=None)");
  EXPECT_EQ(make<AdaptiveAvgPool2d>({1, 1})->repr(), "AdaptiveAvgPool2d(output_size=(1, 1))");
  EXPECT_EQ(make<AdaptiveAvgPool2d>(1)->repr(), "AdaptiveAvgPool2d(output_size=1)");
  EXPECT_EQ(AdaptiveAvgPool3d({1, 2, 3}).repr(), "AdaptiveAvgPool3d(output_size=(1, 2, 3))");
  EXPECT_EQ(AdaptiveMaxPool2d(5, {.return_indices = true}).repr(),
            "AdaptiveMaxPool2d(output_size=5)");
  EXPECT_EQ(LPPool1d(2, 3).repr(),
            "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)");
  EXPECT_EQ(LPPool2d(1.5, {3, 2}, {.stride = {2, 1}, .ceil_mode = true}).repr(),
            "LPPool2d(norm_type=1.5, kernel_size=(3, 2), stride=(2, 1), ceil_mode=True)");
  EXPECT_EQ(MaxUnpool1d(3).repr(), "MaxUnpool1d(kernel_size=(3,), stride=(3,), padding=(0,))");
  EXPECT_EQ(MaxUnpool2d({3, 2}, {.stride = {2, 1}, .padding = 1}).repr(),
            "MaxUnpool2d(kernel_size=(3, 2), stride=(2, 1), padding=(1, 1))");
  EXPECT_EQ(Unfold({3, 2}, {.dilation = 2, .padding = {1, 1}}).repr(),
            "Unfold(kernel_size=(3, 2), dilation=2, padding=(1, 1), stride=1)");
  EXPECT_EQ(Fold(4, 3, {.stride = {2, 1}}).repr(),
            "Fold(output_size=4, kernel_size=3, dilation=1, padding=0, stride=(2, 1))");
  EXPECT_EQ(EmbeddingBag(10, 3).repr(), "EmbeddingBag(10, 3, mode='mean')");
  EXPECT_EQ(EmbeddingBag(10, 3,
                         {.max_norm = 2.5,
                          .norm_type = 3.5,
                          .scale_grad_by_freq = true,
                          .mode = "sum",
                          .include_last_offset = true,
                          .padding_idx = -1})
                .repr(),
            "EmbeddingBag(10, 3, max_norm=2.5, norm_type=3.5, scale_grad_by_freq=True, mode='sum', "
            "padding_idx=9)");
}

TEST(PoolLayers, DoWhatTheFunctionsDo) {
  manual_seed(1);
  const Tensor signal = randn({2, 3, 12}), image = randn({2, 3, 12, 11}),
               volume = randn({2, 3, 6, 7, 8});
  EXPECT_TRUE(equal(MaxPool1d(3, {.stride = 2})(signal), max_pool1d(signal, 3, {.stride = 2})));
  EXPECT_TRUE(equal(MaxPool3d(2)(volume), max_pool3d(volume, 2)));
  EXPECT_TRUE(equal(AvgPool1d(3, {.padding = 1, .count_include_pad = false})(signal),
                    avg_pool1d(signal, 3, {.padding = 1, .count_include_pad = false})));
  EXPECT_TRUE(equal(AvgPool2d(3, {.ceil_mode = true, .divisor_override = 4})(image),
                    avg_pool2d(image, 3, {.ceil_mode = true, .divisor_override = 4})));
  EXPECT_TRUE(equal(AvgPool3d(2, 1)(volume), avg_pool3d(volume, 2, {.stride = 1})));
  EXPECT_TRUE(equal(AdaptiveAvgPool1d(5)(signal), adaptive_avg_pool1d(signal, 5)));
  EXPECT_TRUE(
      equal(AdaptiveAvgPool3d({2, None, 1})(volume), adaptive_avg_pool3d(volume, {2, 7, 1})));
  EXPECT_TRUE(equal(AdaptiveMaxPool2d({None, 3})(image), adaptive_max_pool2d(image, {12, 3})));
  EXPECT_TRUE(equal(AdaptiveMaxPool3d(2)(volume), adaptive_max_pool3d(volume, 2)));
  EXPECT_TRUE(equal(LPPool1d(2, 3)(signal), lp_pool1d(signal, 2, 3)));
  EXPECT_TRUE(equal(LPPool2d(2, 3)(image), lp_pool2d(image, 2, 3)));
  EXPECT_TRUE(equal(LPPool3d(2, 2)(volume), lp_pool3d(volume, 2, 2)));
  MaxPool2d pool(2, {.return_indices = true});
  const auto [values, indices] = pool.with_indices(image);
  EXPECT_TRUE(equal(values, pool(image)));
  MaxUnpool2d unpool(2);
  const auto [narrow, places_in_narrow] = pool.with_indices(image.narrow(3, 0, 10));
  EXPECT_EQ(unpool(narrow, places_in_narrow).shape(), Shape({2, 3, 12, 10}));
  EXPECT_TRUE(equal(unpool(values, indices, image.shape()),
                    max_unpool2d(values, indices, 2, {.output_size = Dims{12, 11}})));
  const auto [most, places] = AdaptiveMaxPool1d(4).with_indices(signal);
  EXPECT_EQ(places.dtype(), int64);
  EXPECT_EQ(most.shape(), Shape({2, 3, 4}));
  EXPECT_TRUE(equal(Unfold(3)(image), unfold(image, 3)));
  EXPECT_TRUE(equal(Fold({12, 11}, 3)(unfold(image, 3)), fold(unfold(image, 3), {12, 11}, 3)));
  EXPECT_TRUE(MaxPool2d(2).state_dict().empty());
}

TEST(PoolLayers, StandInNetworks) {
  Sequential net(make<MaxPool2d>(3, {.stride = 2, .padding = 1}), make<AvgPool2d>(2, 2),
                 make<AdaptiveAvgPool2d>({1, 1}), make<Flatten>());
  EXPECT_EQ(net(zeros({2, 3, 32, 32})).shape(), Shape({2, 3}));
  EXPECT_EQ(net(zeros({2, 3, 32, 32}, {.device = Device("meta")})).shape(), Shape({2, 3}));
  expect_error<ShapeError>([&] { net(zeros({3, 32})); }, "[3, 32]",
                           "(in 0: MaxPool2d(kernel_size=3");
}

TEST(EmbeddingBagLayer, BeginsAsPyTorchDoes) {
  manual_seed(0);
  const EmbeddingBag bag(13, 7, {.padding_idx = 2});
  EXPECT_EQ(sha256(std::as_bytes(std::span(bag.weight->data<float>(),
                                           static_cast<std::size_t>(bag.weight->numel())))),
            "870f6a9a616c8efb1a3f4abf0396d3196eacfd3ef839ca836845d1ec9c433d28");
  const Tensor before = default_generator().get_state();
  EXPECT_TRUE(EmbeddingBag(10, 10, {.device = Device("meta")}).weight->is_meta());
  EXPECT_TRUE(equal(before, default_generator().get_state()));
}

TEST(EmbeddingBagLayer, SumsRows) {
  const auto bag = EmbeddingBag::from_pretrained(arange(8.).view({4, 2}), {.mode = "sum"});
  EXPECT_FALSE(bag->weight->requires_grad());
  EXPECT_TRUE(equal((*bag)(tensor({{0, 1}, {2, 2}})), tensor({{2., 4.}, {8., 10.}})));
  EXPECT_TRUE(equal((*bag)(tensor({0, 1, 3}), tensor({0, 2})), tensor({{2., 4.}, {6., 7.}})));
  EXPECT_TRUE(equal((*bag)(tensor({{0, 1}}), {}, tensor({{1., 10.}})), tensor({{20., 31.}})));
  EXPECT_EQ(bag->state_dict().size(), 1U);
  EmbeddingBag trained(4, 2, {.mode = "max"});
  trained(tensor({{0, 1}})).sum().backward();
  EXPECT_EQ(trained.weight->grad().sum().item<double>(), 2);
  expect_error<ValueError>([] { EmbeddingBag(3, 2, {.padding_idx = 3}); }, "padding_idx", "3");
  expect_error<ShapeError>([] { EmbeddingBag(3, 2, {.weight = zeros({2, 2})}); }, "[2, 2]",
                           "[3, 2]");
}

// The numbers are PyTorch's.
TEST(Pools, WhatIsPooledWithItsPlacesGoesBackToThem) {
  const Tensor x = arange(1, 17, {.dtype = float32}).view({1, 1, 4, 4});
  MaxPool2d pool(2, {.stride = 2, .return_indices = true});
  MaxUnpool2d unpool(2, {.stride = 2});
  const auto [output, indices] = pool.with_indices(x);
  EXPECT_TRUE(equal(output, tensor({{{{6.0, 8.0}, {14.0, 16.0}}}})));
  EXPECT_TRUE(equal(indices, tensor({{{{5, 7}, {13, 15}}}})));
  const Tensor back = unpool(output, indices);
  EXPECT_TRUE(equal(back, tensor({{{{0.0, 0.0, 0.0, 0.0},
                                    {0.0, 6.0, 0.0, 8.0},
                                    {0.0, 0.0, 0.0, 0.0},
                                    {0.0, 14.0, 0.0, 16.0}}}})));
  EXPECT_TRUE(equal(pool(back), output));
}

}  // namespace
}  // namespace tenon::nn
