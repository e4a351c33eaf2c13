// Whole networks beside what PyTorch calculated with them.
#include "networks/gpt2.h"
#include "networks/llama.h"
#include "networks/resnet.h"
#include "support/matchers.h"
#include "support/near.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

const std::string kFixtures = TENON_SOURCE_DIR "/tests/nn/fixtures/";
const std::string kRecorded = TENON_SOURCE_DIR "/tests/io/fixtures/torch-2.11/";

class Net final : public Callable<Tensor(const Tensor&, const Tensor&)> {
 public:
  static constexpr std::int64_t w = 8;
  Child<Conv2d> conv1{this, "conv1", 3, w, 3, {.padding = 1, .bias = false}};
  Child<BatchNorm2d> bn1{this, "bn1", w};
  Child<Conv2d> conv2{this, "conv2", w, 2 * w, 3, {.stride = 2, .groups = 2}};
  Child<GroupNorm> gn{this, "gn", 4, 2 * w};
  Child<AdaptiveAvgPool2d> pool{this, "pool", 1};
  Child<Dropout> drop{this, "drop", 0.1};
  Child<LayerNorm> ln{this, "ln", 2 * w};
  Child<Embedding> emb{this, "emb", 11, 2 * w, {.padding_idx = 0}};
  Child<Sequential> head{this, "head", make<Linear>(2 * w, 10), make<GELU>(), make<Linear>(10, 5)};
  Buffer steps{this, "steps", tensor(3)};
  Buffer tmp{this, "tmp", ones({2}), {.persistent = false}};
  Parameter none{this, "none", Tensor()};

 protected:
  Tensor forward(const Tensor& input, const Tensor& idx) override {
    Tensor x = relu(bn1(conv1(input)));
    x = silu(gn(conv2(x)));
    x = pool(x).flatten(1);
    return head(ln(drop(x) + emb(idx)));
  }
};

TEST(Models, HaveTheFirstValuesOfPyTorchForTheSameSeed) {
  manual_seed(12);
  Net net;
  const StateDict expected = load(kRecorded + "net_init.pth");
  const StateDict actual = net.state_dict();
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, value] : expected)
    EXPECT_TRUE(equal(actual.at(name).as_tensor(), value.as_tensor())) << name;
}

// The arithmetic of torch.optim.SGD with momentum, Nesterov's way, and weight decay.
struct Sgd {
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-2;
  std::vector<Tensor> buffers;

  void step(const std::vector<Tensor>& parameters) {
    const NoGradScope unrecorded;
    buffers.resize(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& p = parameters[i];
      Tensor d = p.grad() + weight_decay * p;
      buffers[i] = buffers[i].defined() ? momentum * buffers[i] + d : d.clone();
      d = d + momentum * buffers[i];
      p.sub_(lr * d);
    }
  }
};

TEST(Models, AreTrainedAsPyTorchTrainsThem) {
  Net net;
  net.load_state_dict(load(kRecorded + "net_init.pth"));
  net.drop->p = 0;
  const StateDict io = load(kRecorded + "net_io.pth"), grads = load(kRecorded + "net_grads.pth");
  const Tensor x = io.at("x").as_tensor(), idx = io.at("idx").as_tensor(),
               y = io.at("y").as_tensor();
  constexpr double kLosses[] = {1.720792293548584, 1.6113637685775757, 1.49061918258667,
                                1.3417234420776367, 1.1697534322738647};
  Sgd sgd;
  for (int step = 0; step < 5; ++step) {
    net.zero_grad();
    const Tensor loss = cross_entropy(net(x, idx), y);
    loss.backward();
    EXPECT_NEAR(loss.item<double>(), kLosses[step], 1e-5) << step;
    if (step == 0) {
      for (const auto& [name, grad] : grads)
        expect_near(net.get_parameter(name).grad(), grad.as_tensor(), name);
    }
    sgd.step(net.parameters());
  }
  const StateDict trained = load(kRecorded + "net_trained.pth");
  const StateDict state = net.state_dict();
  for (const auto& [name, value] : trained)
    expect_near(state.at(name).as_tensor(), value.as_tensor(), name);
  net.eval();
  expect_near(net(x, idx), io.at("out").as_tensor(), "out");
}

// Built without memory, loaded from a mapped file, run.
template <class Network>
Tensor run_from_file(const std::string& file, const Tensor& input, std::shared_ptr<Network> net) {
  const StateDict state = load(file, {.mmap = true});
  const StateDict own = net->state_dict();
  EXPECT_EQ(own.size(), state.size());
  for (std::size_t i = 0; auto& [name, value] : state) {
    EXPECT_EQ(own.begin()[static_cast<std::ptrdiff_t>(i++)].first, name);
    EXPECT_EQ(own.at(name).as_tensor().shape(), value.as_tensor().shape()) << name;
  }
  EXPECT_TRUE(net->load_state_dict(state, {.assign = true}).missing_keys.empty());
  net->eval();
  const InferenceModeScope inference;
  return (*net)(input);
}

TEST(Models, ResNetFromAMappedFileGivesWhatPyTorchGives) {
  const StateDict io = load(kFixtures + "resnet8_io.pth");
  const auto net = with_device("meta", [] {
    return make<resnet::ResNet>(std::array<int, 4>{1, 1, 1, 0}, std::int64_t{10});
  });
  expect_near(run_from_file(kFixtures + "resnet8.pth", io.at("x").as_tensor(), net),
              io.at("y").as_tensor(), "resnet8");
}

gpt2::Config tiny() {
  return {.vocab_size = 500, .n_positions = 64, .n_embd = 48, .n_layer = 3, .n_head = 4};
}
constexpr const char* kTiny = TENON_SOURCE_DIR "/examples/checkpoints/gpt2_tiny.pth";

TEST(Models, Gpt2FromAMappedFileGivesWhatPyTorchGives) {
  const StateDict io = load(kFixtures + "gpt2_tiny_io.pth");
  const auto net = with_device("meta", [] { return make<gpt2::LMHeadModel>(tiny()); });
  expect_near(run_from_file(kTiny, io.at("x").as_tensor(), net), io.at("y").as_tensor(), "gpt2");
}

TEST(Models, AKeyValueCacheChangesNothingButTheWork) {
  const StateDict io = load(kFixtures + "gpt2_tiny_io.pth");
  const Tensor x = io.at("x").as_tensor(), y = io.at("y").as_tensor();
  gpt2::LMHeadModel net(tiny());
  net.load_state_dict(load(kTiny));
  net.eval();
  const InferenceModeScope inference;
  gpt2::KeyValueCache cache(net.config, 1);
  // Five tokens, one at a time three times, and the rest.
  std::vector<Tensor> parts{net(x.narrow(1, 0, 5), &cache)};
  for (std::int64_t i = 5; i < 8; ++i) parts.push_back(net(x.narrow(1, i, 1), &cache));
  parts.push_back(net(x.narrow(1, 8, x.size(1) - 8), &cache));
  EXPECT_EQ(cache.length, x.size(1));
  expect_near(cat(parts, 1), y, "gpt2");
}

}  // namespace
}  // namespace tenon::nn
