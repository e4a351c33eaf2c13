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

// Five steps of each optimizer that PyTorch 2.11 recorded, from its first values: losses and
// gradients on the way, and what becomes of the network and of the optimizer.
class Training : public testing::Test {
 protected:
  Training() : io(load(kRecorded + "net_io.pth")) {
    net.load_state_dict(load(kRecorded + "net_init.pth"));
    net.drop->p = 0;
  }
  double step(optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net(io.tensor("x"), io.tensor("idx")), io.tensor("y"));
    loss.backward();
    optimizer.step();
    return loss.item<double>();
  }
  void expect_trained(optim::Optimizer& optimizer, const std::string& model,
                      const std::string& state_file) const {
    const StateDict trained = load(kRecorded + model), state = net.state_dict();
    for (const auto& [name, value] : trained)
      expect_near(state.tensor(name), value.as_tensor(), name);
    const Value kept = optimizer.state_dict(), recorded = load(kRecorded + state_file);
    ASSERT_EQ(kept.find("state")->entries().size(), recorded.find("state")->entries().size());
    for (const auto& [index, entry] : recorded.find("state")->entries()) {
      for (const auto& [name, value] : entry.entries()) {
        expect_near(kept.find("state")->find(index)->find(name)->as_tensor(), value.as_tensor(),
                    index.repr() + " " + name.as_string());
      }
    }
    EXPECT_EQ(kept.find("param_groups")->repr(), recorded.find("param_groups")->repr());
  }

  StateDict io;
  Net net;
};

TEST_F(Training, WithSGDIsThatOfPyTorch) {
  optim::SGD optimizer(net.parameters(),
                       {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-2, .nesterov = true});
  constexpr double kLosses[] = {1.720792293548584, 1.6113637685775757, 1.49061918258667,
                                1.3417234420776367, 1.1697534322738647};
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(step(optimizer), kLosses[i], 1e-5) << i;
    if (i != 0) continue;
    for (const auto& [name, grad] : StateDict(load(kRecorded + "net_grads.pth")))
      expect_near(net.get_parameter(name).grad(), grad.as_tensor(), name);
  }
  expect_trained(optimizer, "net_trained.pth", "net_sgd.pth");
  net.eval();
  expect_near(net(io.tensor("x"), io.tensor("idx")), io.tensor("out"), "out");
}

TEST_F(Training, WithAdamIsThatOfPyTorch) {
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2, .amsgrad = true});
  for (int i = 0; i < 5; ++i) step(optimizer);
  expect_trained(optimizer, "net_adam_trained.pth", "net_adam.pth");
}

TEST_F(Training, WithAdamWIsThatOfPyTorch) {
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-2, .weight_decay = 0.05});
  for (int i = 0; i < 5; ++i) step(optimizer);
  expect_trained(optimizer, "net_adamw_trained.pth", "net_adamw.pth");
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
