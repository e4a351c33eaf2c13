// BatchNorm and InstanceNorm: beside values that PyTorch wrote down, running statistics, state
// dicts of all ages, text and errors.
#include "nn/names.h"
#include "nn/recorded_layers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RecordedLayers, BatchNorm) {
  nn::BatchNorm1d one(5);
  check("bn1d", one);
  nn::BatchNorm2d two(5, {.momentum = 0.3});
  check("bn2d", two);
  nn::BatchNorm3d three(3);
  check("bn3d", three);
}

TEST_F(RecordedLayers, BatchNormWithOtherOptions) {
  nn::BatchNorm1d cumulative(5, {.momentum = std::nullopt});
  check("bn_cum", cumulative);
  nn::BatchNorm1d plain(5, {.affine = false});
  check("bn_noaffine", plain);
}

TEST_F(RecordedLayers, InstanceNorm) {
  nn::InstanceNorm2d images(4, {.affine = true});
  check("in2d", images);
  nn::InstanceNorm1d tracking(4, {.affine = true, .track_running_stats = true});
  check("in1d_track", tracking);
}

TEST(BatchNorm, SaysWhatItIs) {
  EXPECT_EQ(BatchNorm1d(5).repr(),
            "BatchNorm1d(5, eps=1e-05, momentum=0.1, affine=True, bias=True, "
            "track_running_stats=True)");
  EXPECT_EQ(BatchNorm2d(3, {.momentum = std::nullopt, .track_running_stats = false, .bias = false})
                .repr(),
            "BatchNorm2d(3, eps=1e-05, momentum=None, affine=True, bias=False, "
            "track_running_stats=False)");
  EXPECT_EQ(BatchNorm3d(3, {.eps = 1e-3, .affine = false}).repr(),
            "BatchNorm3d(3, eps=0.001, momentum=0.1, affine=False, bias=False, "
            "track_running_stats=True)");
  EXPECT_EQ(InstanceNorm2d(3).repr(),
            "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, "
            "track_running_stats=False)");
}

TEST(BatchNorm, HasPyTorchsKeysAndFirstValues) {
  const BatchNorm2d layer(3);
  EXPECT_THAT(names(layer.state_dict()),
              ElementsAre("weight", "bias", "running_mean", "running_var", "num_batches_tracked"));
  EXPECT_TRUE(equal(layer.weight, ones({3})));
  EXPECT_TRUE(equal(layer.bias, zeros({3})));
  EXPECT_TRUE(equal(layer.running_mean, zeros({3})));
  EXPECT_TRUE(equal(layer.running_var, ones({3})));
  EXPECT_EQ(layer.num_batches_tracked->dtype(), int64);
  EXPECT_EQ(layer.num_batches_tracked->shape(), Shape());
  EXPECT_EQ(layer.version(), 2);
  EXPECT_THAT(names(BatchNorm2d(3, {.track_running_stats = false, .bias = false}).state_dict()),
              ElementsAre("weight"));
  EXPECT_TRUE(InstanceNorm1d(3).state_dict().empty());
  const BatchNorm1d half(3, {.dtype = bfloat16});
  EXPECT_EQ(half.running_var->dtype(), bfloat16);
  EXPECT_EQ(half.num_batches_tracked->dtype(), int64);
  const BatchNorm1d meta(3, {.device = Device("meta")});
  EXPECT_TRUE(meta.weight->is_meta());
  EXPECT_TRUE(meta.num_batches_tracked->is_meta());
}

TEST(BatchNorm, CountsBatchesAndForgetsThem) {
  BatchNorm1d layer(2);
  const Tensor x = tensor({{1.F, 2.F}, {3.F, 6.F}});
  layer(x);
  layer(x);
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 2);
  EXPECT_TRUE(allclose(layer.running_mean, tensor({0.38F, 0.76F})));
  EXPECT_TRUE(allclose(layer.running_var, tensor({1.19F, 2.33F})));
  layer.eval();
  const Tensor before = layer.running_mean->clone();
  layer(x);
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 2);
  EXPECT_TRUE(equal(layer.running_mean, before));
  layer.reset_running_stats();
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 0);
  EXPECT_TRUE(equal(layer.running_var, ones({2})));
  {
    const NoGradScope unrecorded;
    layer.weight->fill_(5);
  }
  layer.reset_parameters();
  EXPECT_TRUE(equal(layer.weight, ones({2})));
}

TEST(BatchNorm, AveragesAllBatchesWithoutMomentum) {
  BatchNorm1d layer(1, {.momentum = std::nullopt});
  layer(tensor({{1.F}, {3.F}}));
  layer(tensor({{5.F}, {7.F}}));
  EXPECT_TRUE(allclose(layer.running_mean, tensor({4.F})));
  EXPECT_TRUE(allclose(layer.running_var, tensor({2.F})));
}

TEST(BatchNorm, UsesTheBatchWhereNothingIsTracked) {
  BatchNorm1d layer(2, {.track_running_stats = false});
  const Tensor x = tensor({{1.F, 2.F}, {3.F, 6.F}});
  const Tensor trained = layer(x);
  EXPECT_TRUE(equal(layer.eval()(x), trained));
}

TEST(BatchNorm, LeavesStatisticsAloneForAnEmptyBatch) {
  BatchNorm1d layer(2);
  EXPECT_EQ(layer(zeros({0, 2})).shape(), Shape({0, 2}));
  EXPECT_TRUE(equal(layer.running_var, ones({2})));
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 1);
}

TEST(BatchNorm, RunsOnMeta) {
  BatchNorm2d layer(3, {.momentum = std::nullopt, .device = Device("meta")});
  EXPECT_EQ(layer(empty({2, 3, 4, 4}, {.device = Device("meta")})).shape(), Shape({2, 3, 4, 4}));
}

TEST(BatchNorm, SaysWhatDoesNotFit) {
  EXPECT_THAT(message_of<ValueError>([] { BatchNorm1d(5)(ones({1, 5})); }),
              HasSubstr("Expected more than 1 value per channel when training, got input size "
                        "torch.Size([1, 5])"));
  EXPECT_THAT(message_of<ShapeError>([] { BatchNorm2d(5)(ones({2, 5, 3})); }),
              HasSubstr("expected 4D input (got 3D input)"));
  EXPECT_THAT(message_of<ShapeError>([] { BatchNorm3d(5)(ones({2, 5, 3})); }),
              HasSubstr("expected 5D input (got 3D input)"));
  EXPECT_THAT(message_of<ShapeError>([] { BatchNorm1d(5)(ones({5})); }),
              HasSubstr("expected 2D or 3D input (got 1D input)"));
  expect_error<ShapeError>([] { BatchNorm1d(5)(ones({2, 4})); },
                           "running_mean should contain 4 elements not 5", "[5]", "[2, 4]");
  expect_error<ShapeError>([] { InstanceNorm1d(5)(ones({5})); },
                           "expected 2D or 3D input (got 1D input)");
  expect_error<ShapeError>([] { InstanceNorm2d(5, {.affine = true})(ones({2, 4, 3, 3})); },
                           "expected input's size at dim=1 to match num_features (5), but got: 4");
}

TEST(InstanceNorm, TakesOneItemWithoutABatch) {
  InstanceNorm2d layer(3, {.affine = true});
  const Tensor x = arange(36.0).sin().view({3, 3, 4}).to(float32);
  EXPECT_TRUE(equal(layer(x), layer(x.unsqueeze(0)).squeeze(0)));
  InstanceNorm1d lines(3);
  EXPECT_EQ(lines(ones({3, 4})).shape(), Shape({3, 4}));
}

TEST(InstanceNorm, WarnsOfAnotherNumberOfChannels) {
  std::vector<std::string> said;
  const auto before = set_warning_handler([&](const std::string& text) { said.push_back(text); });
  EXPECT_EQ(InstanceNorm1d(5)(ones({2, 4, 3})).shape(), Shape({2, 4, 3}));
  set_warning_handler(before);
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0], HasSubstr("input's size at dim=1 does not match num_features"));
}

// Files from before num_batches_tracked was there.
TEST(BatchNorm, LoadsOldStateDicts) {
  StateDict old;
  for (const char* key : {"weight", "bias", "running_mean", "running_var"})
    old.set(key, full({2}, 3.0));
  BatchNorm1d layer(2);
  layer.num_batches_tracked->fill_(7);
  EXPECT_TRUE(layer.load_state_dict(old).empty());
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 7);
  EXPECT_TRUE(equal(layer.running_var, full({2}, 3.0)));
  EXPECT_TRUE(layer.load_state_dict(old, {.assign = true}).empty());
  EXPECT_EQ(layer.num_batches_tracked->item<int>(), 7);

  BatchNorm1d meta(2, {.device = Device("meta")});
  EXPECT_TRUE(meta.load_state_dict(old, {.assign = true}).empty());
  EXPECT_EQ(meta.num_batches_tracked->item<int>(), 0);
  EXPECT_FALSE(meta.weight->is_meta());

  // One that says it is of today must have it.
  StateDict today = BatchNorm1d(2).state_dict();
  today.erase("num_batches_tracked");
  EXPECT_THAT(message_of<LoadError>([&] { layer.load_state_dict(today); }),
              HasSubstr("Missing key(s) in state_dict: \"num_batches_tracked\""));
}

TEST(InstanceNorm, RefusesStatisticsOfOldStateDictsThatItDoesNotTrack) {
  StateDict old;
  old.set("0.running_mean", zeros({2}));
  old.set("0.running_var", ones({2}));
  Sequential layers(make<InstanceNorm1d>(2));
  const std::string message = message_of<LoadError>([&] { layers.load_state_dict(old); });
  EXPECT_THAT(
      message,
      HasSubstr("Unexpected running stats buffer(s) \"0.running_mean\" and \"0.running_var\" "
                "for InstanceNorm1d with track_running_stats=False."));
  EXPECT_THAT(message, testing::Not(HasSubstr("Unexpected key(s)")));
  Sequential tracking(make<InstanceNorm1d>(2, {.track_running_stats = true}));
  EXPECT_TRUE(tracking.load_state_dict(old).empty());
}

TEST(BatchNorm, IsCloned) {
  BatchNorm2d layer(3, {.momentum = 0.3});
  const auto copy = nn::clone(layer);
  EXPECT_EQ(copy->repr(), layer.repr());
  copy->running_mean->fill_(4);
  EXPECT_TRUE(equal(layer.running_mean, zeros({3})));
  EXPECT_EQ((*copy)(ones({2, 3, 2, 2})).shape(), Shape({2, 3, 2, 2}));
}

}  // namespace
}  // namespace tenon::nn
