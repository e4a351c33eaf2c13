// What layers say of an input that does not fit: both shapes, or dtypes, or devices, and which
// layer it was.
#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

struct Bad {
  std::string what;  // the layer, as its text begins
  std::function<void()> run;
  std::vector<std::string> mentions;
};

// A layer that is given one tensor after another.
template <class M>
struct Of {
  std::string what;
  std::shared_ptr<M> layer;
  std::vector<Bad>& list;

  Of& with(const Tensor& input, std::vector<std::string> mentions) {
    list.push_back({what, [l = layer, input] { (*l)(input); }, std::move(mentions)});
    return *this;
  }
  Of& with(const Shape& shape, std::vector<std::string> mentions) {
    return with(ones(shape), std::move(mentions));
  }
};

template <class M, class... A>
Of<M> layer(std::vector<Bad>& list, const char* what, A&&... arguments) {
  return {what, std::make_shared<M>(std::forward<A>(arguments)...), list};
}

Tensor doubles(const Shape& shape) { return ones(shape, {.dtype = float64}); }
Tensor nowhere(const Shape& shape) { return ones(shape, {.device = Device("meta")}); }

std::vector<Bad> cases() {
  std::vector<Bad> list;
  const std::vector<std::string> dtypes{"torch.float64", "torch.float32"}, devices{"meta", "cpu"};

  layer<Linear>(list, "Linear", 3, 5)
      .with({2, 4}, {"mat1 and mat2 shapes cannot be multiplied (2x4 and 3x5)", "[2, 4]", "[5, 3]"})
      .with({6, 2, 4}, {"mat1 and mat2 shapes cannot be multiplied (12x4 and 3x5)", "[6, 2, 4]"})
      .with(doubles({2, 3}), dtypes)
      .with(doubles({2, 3}), {"mat1 and mat2 must have the same dtype, but got Double and Float"})
      .with(nowhere({2, 3}), devices);
  layer<Conv1d>(list, "Conv1d", 3, 4, 3)
      .with({8}, {"[8]", "conv1d"})
      .with({2, 5, 8}, {"[2, 5, 8]", "[4, 3, 3]", "5 channels"})
      .with({2, 3, 2}, {"2", "3"})
      .with(doubles({2, 3, 8}), dtypes)
      .with(nowhere({2, 3, 8}), devices);
  layer<Conv2d>(list, "Conv2d", 3, 4, 3)
      .with({3, 8}, {"[3, 8]", "conv2d"})
      .with({2, 5, 8, 8}, {"[2, 5, 8, 8]", "[4, 3, 3, 3]"})
      .with({2, 3, 2, 2}, {"2 x 2", "3 x 3"})
      .with(doubles({2, 3, 8, 8}), dtypes)
      .with(nowhere({2, 3, 8, 8}), devices);
  layer<Conv2d>(list, "Conv2d", 3, 4, 3, ConvOptions{.padding = 1, .padding_mode = "circular"})
      .with({3, 8}, {"[3, 8]", "conv2d"})
      .with({2, 5, 8, 8}, {"[4, 3, 3, 3]", "5 channels"});
  layer<Conv3d>(list, "Conv3d", 3, 4, 3)
      .with({3, 8, 8}, {"[3, 8, 8]"})
      .with({1, 5, 8, 8, 8}, {"[1, 5, 8, 8, 8]", "[4, 3, 3, 3, 3]"});
  const auto transposed = std::make_shared<ConvTranspose2d>(3, 4, 3);
  for (const auto& [input, mentions] : std::vector<std::pair<Tensor, std::vector<std::string>>>{
           {ones({3, 8}), {"[3, 8]"}},
           {ones({2, 5, 8, 8}), {"[2, 5, 8, 8]", "[3, 4, 3, 3]"}},
           {doubles({2, 3, 8, 8}), dtypes},
           {nowhere({2, 3, 8, 8}), devices}}) {
    list.push_back(
        {"ConvTranspose2d", [transposed, x = input] { (*transposed)(x, {}); }, mentions});
  }
  layer<BatchNorm1d>(list, "BatchNorm1d", 3)
      .with({3}, {"1D"})
      .with({2, 4}, {"[2, 4]"})
      .with({1, 3}, {"[1, 3]"})
      .with(nowhere({2, 3}), devices);
  layer<BatchNorm2d>(list, "BatchNorm2d", 3)
      .with({2, 3}, {"4D", "2D"})
      .with({2, 4, 5, 5}, {"[2, 4, 5, 5]"});
  layer<BatchNorm3d>(list, "BatchNorm3d", 3).with({2, 3, 4, 4}, {"5D", "4D"});
  layer<InstanceNorm2d>(list, "InstanceNorm2d", 3)
      .with({2, 3}, {"[2, 3]"})
      .with({2, 3, 1, 1}, {"[2, 3, 1, 1]"});
  layer<LayerNorm>(list, "LayerNorm", Dims{4, 5})
      .with({2, 4, 6}, {"[2, 4, 6]", "[4, 5]"})
      .with({5}, {"[5]", "[4, 5]"})
      .with(nowhere({2, 4, 5}), devices);
  layer<RMSNorm>(list, "RMSNorm", 4).with({2, 5}, {"[2, 5]", "[4]"});
  layer<GroupNorm>(list, "GroupNorm", 2, 4)
      .with({2, 6, 3}, {"[2, 6, 3]"})
      .with({2, 5, 3}, {"[2, 5, 3]"});
  layer<LocalResponseNorm>(list, "LocalResponseNorm", 2).with({4}, {"[4]"});
  layer<Embedding>(list, "Embedding", 5, 3)
      .with({2}, {"torch.float32",
                  "Expected tensor for argument #1 'indices' to have one of the following scalar "
                  "types: Long, Int; but got torch.FloatTensor instead (while checking arguments "
                  "for embedding)"})
      .with(tensor({1, 5}), {"index out of range in self", "5"})
      .with(zeros({2}, {.dtype = int64, .device = Device("meta")}), devices);
  layer<MaxPool1d>(list, "MaxPool1d", 2).with({8}, {"[8]"});
  layer<MaxPool2d>(list, "MaxPool2d", 2).with({3, 8}, {"[3, 8]"}).with({3, 1, 1}, {"3x1x1"});
  layer<AvgPool2d>(list, "AvgPool2d", 3).with({3, 8}, {"[3, 8]"}).with({3, 2, 2}, {"3x2x2"});
  layer<AdaptiveAvgPool2d>(list, "AdaptiveAvgPool2d", 3).with({8}, {"[8]"});
  layer<AdaptiveMaxPool2d>(list, "AdaptiveMaxPool2d", 3).with({8}, {"[8]"});
  layer<PReLU>(list, "PReLU", 4).with({2, 5}, {"4", "5"});
  layer<GLU>(list, "GLU").with({2, 5}, {"5"});
  layer<Softmax>(list, "Softmax", 3).with({2, 5}, {"3", "[-2, 1]"});
  layer<PixelShuffle>(list, "PixelShuffle", 2).with({1, 3, 2, 2}, {"[1, 3, 2, 2]"});
  layer<ReflectionPad2d>(list, "ReflectionPad2d", 3).with({1, 2, 2}, {"[1, 2, 2]"});
  layer<Upsample>(list, "Upsample", UpsampleOptions{.scale_factor = 2.0, .mode = "bilinear"})
      .with({1, 2, 3}, {"[1, 2, 3]"});
  layer<Unflatten>(list, "Unflatten", 1, Shape{2, 3}).with({2, 7}, {"7", "[2, 3]"});
  layer<Unfold>(list, "Unfold", 3).with({3, 8}, {"[3, 8]"});

  const auto both = [&](const char* what, auto criterion, const Tensor& input, const Tensor& target,
                        std::vector<std::string> mentions) {
    list.push_back({what, [=] { (*criterion)(input, target); }, std::move(mentions)});
  };
  both("Bilinear", std::make_shared<Bilinear>(3, 4, 5), ones({2, 3}), ones({2, 5}),
       {"[2, 5]", "[5, 3, 4]"});
  both("CrossEntropyLoss", std::make_shared<CrossEntropyLoss>(), ones({3, 5}), tensor({0, 1, 2, 3}),
       {"[3, 5]", "[4]"});
  both("NLLLoss", std::make_shared<NLLLoss>(), ones({3, 5}), tensor({0, 1, 7}), {"7", "5"});
  both("MSELoss", std::make_shared<MSELoss>(), ones({2, 3}), ones({4, 3}), {"[2, 3]", "[4, 3]"});
  both("BCELoss", std::make_shared<BCELoss>(), ones({2}), ones({3}), {"[2]", "[3]"});
  both("BCEWithLogitsLoss", std::make_shared<BCEWithLogitsLoss>(), ones({2}), ones({3}),
       {"[2]", "[3]"});

  const auto lstm = std::make_shared<LSTM>(4, 5);
  list.push_back({"LSTM", [lstm] { (*lstm)(ones({2, 3, 6})); }, {"6", "4"}});
  list.push_back({"LSTM", [lstm] { (*lstm)(ones({2})); }, {"1"}});
  const auto gru = std::make_shared<GRU>(4, 5);
  list.push_back({"GRU", [gru] { (*gru)(ones({2, 3, 6})); }, {"6", "4"}});
  const auto attention = std::make_shared<MultiheadAttention>(8, 2);
  const Tensor narrow = ones({2, 3, 6});
  list.push_back({"MultiheadAttention", [=] { (*attention)(narrow, narrow, narrow); }, {"6", "8"}});
  return list;
}

TEST(BadInput, IsRefusedWithBothSidesAndTheLayer) {
  for (const Bad& bad : cases()) {
    try {
      bad.run();
      ADD_FAILURE() << bad.what << " took it, which should have mentioned " << bad.mentions[0];
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool named = text.find(" (in " + bad.what) != std::string::npos ||
                         text.find(": " + bad.what) != std::string::npos;
      EXPECT_TRUE(named) << bad.what << " is not in: " << text;
      for (const std::string& mention : bad.mentions)
        EXPECT_THAT(text, testing::HasSubstr(mention)) << bad.what;
    }
  }
}

// A batch of nothing, as PyTorch has it: a result of the shape it would have otherwise.
TEST(EmptyBatches, GoThroughLayersAndBackwards) {
  const auto goes_through = [](auto&& module, const Shape& in, const Shape& out) {
    const Tensor x = ones(in).requires_grad_();
    const Tensor y = module(x);
    EXPECT_EQ(y.shape(), out) << module.repr();
    y.sum().backward();
    EXPECT_EQ(x.grad().shape(), in) << module.repr();
    for (const auto& [name, parameter] : module.named_parameters()) {
      ASSERT_TRUE(parameter.grad().defined()) << module.repr() << name;
      EXPECT_EQ(parameter.grad().abs().sum().template item<float>(), 0) << module.repr() << name;
    }
  };
  goes_through(Linear(3, 5), {0, 3}, {0, 5});
  goes_through(Conv1d(3, 4, 3), {0, 3, 8}, {0, 4, 6});
  goes_through(Conv2d(3, 4, 3, {.stride = 2, .padding = 1}), {0, 3, 8, 8}, {0, 4, 4, 4});
  goes_through(Conv3d(3, 4, 3), {0, 3, 8, 8, 8}, {0, 4, 6, 6, 6});
  goes_through(LayerNorm(4), {0, 4}, {0, 4});
  goes_through(RMSNorm(4), {0, 4}, {0, 4});
  goes_through(GroupNorm(2, 4), {0, 4, 3}, {0, 4, 3});
  goes_through(MaxPool2d(2), {0, 3, 8, 8}, {0, 3, 4, 4});
  goes_through(AvgPool2d(2), {0, 3, 8, 8}, {0, 3, 4, 4});
  goes_through(AdaptiveAvgPool2d(1), {0, 3, 8, 8}, {0, 3, 1, 1});
  goes_through(GELU(), {0, 3}, {0, 3});
  goes_through(PReLU(3), {0, 3}, {0, 3});
  goes_through(Softmax(1), {0, 3}, {0, 3});
  goes_through(Softmax(0), {0, 3}, {0, 3});
}

}  // namespace
}  // namespace tenon::nn
