// An input of the wrong number of dimensions is one kind of error, whichever layer it is given to.
#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

struct Layer {
  std::string name;
  std::function<void(const Tensor&)> call;
  std::vector<std::size_t> wrong;  // numbers of dimensions that it does not take
};

template <class M>
Layer one(const char* name, std::shared_ptr<M> module, std::vector<std::size_t> wrong) {
  return {name, [=](const Tensor& x) { (*module)(x); }, std::move(wrong)};
}
template <class M>
Layer two(const char* name, std::shared_ptr<M> module, std::vector<std::size_t> wrong) {
  return {name, [=](const Tensor& x) { (*module)(x, {}); }, std::move(wrong)};
}

void add_convolutions(std::vector<Layer>& all) {
  const ConvOptions circular{.padding = 1, .padding_mode = "circular"};
  all.push_back(one("Conv1d", make<Conv1d>(3, 3, 1), {0, 1, 4}));
  all.push_back(one("Conv2d", make<Conv2d>(3, 3, 1), {0, 1, 2, 5}));
  all.push_back(one("Conv2d, circular", make<Conv2d>(3, 3, 1, circular), {0, 1, 2, 5}));
  all.push_back(one("Conv3d", make<Conv3d>(3, 3, 1), {0, 1, 2, 3, 6}));
  all.push_back(two("ConvTranspose1d", make<ConvTranspose1d>(3, 3, 1), {0, 1, 4}));
  all.push_back(two("ConvTranspose2d", make<ConvTranspose2d>(3, 3, 1), {0, 1, 2, 5}));
  all.push_back(two("ConvTranspose3d", make<ConvTranspose3d>(3, 3, 1), {0, 1, 2, 3, 6}));
  all.push_back(one("LazyConv1d", make<LazyConv1d>(3, 1), {0, 1, 4}));
  all.push_back(one("LazyConv2d", make<LazyConv2d>(3, 1), {0, 1, 2, 5}));
  all.push_back(one("LazyConv3d", make<LazyConv3d>(3, 1), {0, 1, 2, 3, 6}));
  all.push_back(two("LazyConvTranspose2d", make<LazyConvTranspose2d>(3, 1), {0, 1, 2, 5}));
  all.push_back(one("Unfold", make<Unfold>(2), {0, 1, 2, 5}));
  all.push_back(one("Fold", make<Fold>(Dims{3, 3}, 1), {0, 1, 4}));
}

void add_norms(std::vector<Layer>& all) {
  all.push_back(one("BatchNorm1d", make<BatchNorm1d>(3), {0, 1, 4}));
  all.push_back(one("BatchNorm2d", make<BatchNorm2d>(3), {0, 1, 2, 3, 5}));
  all.push_back(one("BatchNorm3d", make<BatchNorm3d>(3), {0, 1, 2, 3, 4, 6}));
  all.push_back(one("InstanceNorm1d", make<InstanceNorm1d>(3), {0, 1, 4}));
  all.push_back(one("InstanceNorm2d", make<InstanceNorm2d>(3), {0, 1, 2, 5}));
  all.push_back(one("InstanceNorm3d", make<InstanceNorm3d>(3), {0, 1, 2, 3, 6}));
  all.push_back(one("LazyBatchNorm1d", make<LazyBatchNorm1d>(), {0, 1, 4}));
  all.push_back(one("LazyBatchNorm2d", make<LazyBatchNorm2d>(), {0, 1, 2, 3, 5}));
  all.push_back(one("LazyInstanceNorm2d", make<LazyInstanceNorm2d>(), {0, 1, 2, 5}));
  all.push_back(one("LayerNorm", make<LayerNorm>(Dims{3, 3}), {0, 1}));
  all.push_back(one("RMSNorm", make<RMSNorm>(Dims{3, 3}), {0, 1}));
  all.push_back(one("GroupNorm", make<GroupNorm>(1, 3), {0, 1}));
  all.push_back(one("LocalResponseNorm", make<LocalResponseNorm>(2), {0, 1, 2}));
}

void add_pools(std::vector<Layer>& all) {
  all.push_back(one("MaxPool1d", make<MaxPool1d>(1), {0, 1, 4}));
  all.push_back(one("MaxPool2d", make<MaxPool2d>(1), {0, 1, 2, 5}));
  all.push_back(one("MaxPool3d", make<MaxPool3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("AvgPool1d", make<AvgPool1d>(1), {0, 1, 4}));
  all.push_back(one("AvgPool2d", make<AvgPool2d>(1), {0, 1, 2, 5}));
  all.push_back(one("AvgPool3d", make<AvgPool3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("LPPool1d", make<LPPool1d>(2, 1), {0, 1, 4}));
  all.push_back(one("LPPool2d", make<LPPool2d>(2, 1), {0, 1, 2, 5}));
  all.push_back(one("LPPool3d", make<LPPool3d>(2, 1), {0, 1, 2, 3, 6}));
  all.push_back(one("AdaptiveAvgPool1d", make<AdaptiveAvgPool1d>(1), {0, 1, 4}));
  all.push_back(one("AdaptiveAvgPool2d", make<AdaptiveAvgPool2d>(1), {0, 1, 2, 5}));
  all.push_back(one("AdaptiveAvgPool3d", make<AdaptiveAvgPool3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("AdaptiveMaxPool1d", make<AdaptiveMaxPool1d>(1), {0, 1, 4}));
  all.push_back(one("AdaptiveMaxPool2d", make<AdaptiveMaxPool2d>(1), {0, 1, 2, 5}));
  all.push_back(one("AdaptiveMaxPool3d", make<AdaptiveMaxPool3d>(1), {0, 1, 2, 3, 6}));
  const auto unpool = make<MaxUnpool2d>(1);
  all.push_back({"MaxUnpool2d",
                 [=](const Tensor& x) { (*unpool)(x, zeros_like(x, {.dtype = int64}), {}); },
                 {0, 1, 2, 5}});
}

void add_images(std::vector<Layer>& all) {
  all.push_back(one("ReflectionPad1d", make<ReflectionPad1d>(1), {0, 1, 4}));
  all.push_back(one("ReflectionPad2d", make<ReflectionPad2d>(1), {0, 1, 2, 5}));
  all.push_back(one("ReflectionPad3d", make<ReflectionPad3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("ReplicationPad1d", make<ReplicationPad1d>(1), {0, 1, 4}));
  all.push_back(one("ReplicationPad2d", make<ReplicationPad2d>(1), {0, 1, 2, 5}));
  all.push_back(one("ReplicationPad3d", make<ReplicationPad3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("CircularPad1d", make<CircularPad1d>(1), {0, 1, 4}));
  all.push_back(one("CircularPad2d", make<CircularPad2d>(1), {0, 1, 2, 5}));
  all.push_back(one("CircularPad3d", make<CircularPad3d>(1), {0, 1, 2, 3, 6}));
  all.push_back(one("ConstantPad2d", make<ConstantPad2d>(1, 0), {0, 1}));
  all.push_back(one("ZeroPad3d", make<ZeroPad3d>(1), {0, 1, 2}));
  all.push_back(one("PixelShuffle", make<PixelShuffle>(1), {0, 1, 2}));
  all.push_back(one("PixelUnshuffle", make<PixelUnshuffle>(1), {0, 1, 2}));
  all.push_back(one("ChannelShuffle", make<ChannelShuffle>(1), {0, 1, 2}));
  const UpsampleOptions bilinear{.scale_factor = 2.0, .mode = "bilinear"};
  all.push_back(
      one("Upsample", make<Upsample>(UpsampleOptions{.scale_factor = 2.0}), {0, 1, 2, 6}));
  all.push_back(one("Upsample, bilinear", make<Upsample>(bilinear), {0, 1, 2, 3, 5}));
  all.push_back(one("Upsample to a size", make<Upsample>(UpsampleOptions{.size = Dims{4, 4}}),
                    {0, 1, 2, 3, 5}));
  all.push_back(one("Dropout1d", make<Dropout1d>(), {0, 1, 4}));
  all.push_back(one("Dropout2d", make<Dropout2d>(), {0, 1}));
  all.push_back(one("Dropout3d", make<Dropout3d>(), {0}));
  all.push_back(one("FeatureAlphaDropout", make<FeatureAlphaDropout>(), {0, 1}));
  all.push_back(one("Softmax2d", make<Softmax2d>(), {0, 1, 2, 5}));
}

void add_sequences(std::vector<Layer>& all) {
  all.push_back(one("Linear", make<Linear>(3, 2), {0}));
  all.push_back(one("LazyLinear", make<LazyLinear>(2), {0}));
  const auto bilinear = make<Bilinear>(3, 3, 2);
  all.push_back({"Bilinear", [=](const Tensor& x) { (*bilinear)(x, ones({3, 3})); }, {0, 1, 3}});
  all.push_back(one("RNN", make<RNN>(3, 2), {0, 1, 4}));
  all.push_back(one("LSTM", make<LSTM>(3, 2), {0, 1, 4}));
  all.push_back(one("GRU", make<GRU>(3, 2), {0, 1, 4}));
  all.push_back(one("RNNCell", make<RNNCell>(3, 2), {0, 3}));
  all.push_back(one("LSTMCell", make<LSTMCell>(3, 2), {0, 3}));
  all.push_back(one("GRUCell", make<GRUCell>(3, 2), {0, 3}));
  const auto attention = make<MultiheadAttention>(3, 1);
  all.push_back({"MultiheadAttention", [=](const Tensor& x) { (*attention)(x, x, x); }, {0, 1, 4}});
  all.push_back(one("TransformerEncoderLayer", make<TransformerEncoderLayer>(3, 1), {0, 1, 4}));
  const auto decoder = make<TransformerDecoderLayer>(3, 1);
  all.push_back({"TransformerDecoderLayer", [=](const Tensor& x) { (*decoder)(x, x); }, {0, 1, 4}});
  const auto bag = make<EmbeddingBag>(5, 3);
  all.push_back({"EmbeddingBag",
                 [=](const Tensor& x) { (*bag)(zeros(x.shape(), {.dtype = int64}), {}, {}); },
                 {0, 3}});
  all.push_back(
      {"offsets of an EmbeddingBag",
       [=](const Tensor& x) { (*bag)(tensor({1, 2}), zeros(x.shape(), {.dtype = int64}), {}); },
       {0, 2}});
}

TEST(WrongRank, IsAShapeErrorInEveryLayer) {
  std::vector<Layer> all;
  add_convolutions(all);
  add_norms(all);
  add_pools(all);
  add_images(all);
  add_sequences(all);
  for (const Layer& layer : all) {
    for (const std::size_t dims : layer.wrong) {
      SCOPED_TRACE(layer.name + " of " + std::to_string(dims) + " dimensions");
      const Tensor input = ones(Shape(Dims::filled(dims, 3)));
      EXPECT_NE(message_of<ShapeError>([&] { layer.call(input); }), "");
    }
  }
}

}  // namespace
}  // namespace tenon::nn
