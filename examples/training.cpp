// Trains a small convolutional network on pictures it draws itself, saves the run in the middle,
// and goes on with it in a new network, with a new optimizer and a new schedule: the losses are the
// same to the bit.
// Then another network, in mixed precision.
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

constexpr std::int64_t kSize = 12, kBatch = 32;
constexpr int kSteps = 120;

// Pictures of stripes, of one of three directions, under noise; and which direction.
std::pair<Tensor, Tensor> pictures(std::int64_t n) {
  const Tensor row = arange(kSize).unsqueeze(1), column = arange(kSize).unsqueeze(0);
  const std::vector<Tensor> stripes{(row + zeros_like(column)) % 4 < 2,
                                    (column + zeros_like(row)) % 4 < 2, (row + column) % 4 < 2};
  const Tensor kinds = stack(stripes).to(float32) - 0.5;
  const Tensor which = randint(0, 3, {n});
  return {(kinds.index_select(0, which) + 0.5 * randn({n, kSize, kSize})).unsqueeze(1), which};
}

// [network]
class Net final : public nn::Layer {
 public:
  nn::Child<nn::Conv2d> conv1{this, "conv1", 1, 8, 3};
  nn::Child<nn::BatchNorm2d> norm{this, "norm", 8};
  nn::Child<nn::Conv2d> conv2{this, "conv2", 8, 16, 3};
  nn::Child<nn::Dropout> dropout{this, "dropout", 0.2};
  nn::Child<nn::Linear> head{this, "head", 16 * 2 * 2, 3};

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor h = max_pool2d(relu(norm(conv1(x))), 2);
    h = max_pool2d(relu(conv2(h)), 2, {.stride = 1});
    return head(dropout(h.flatten(1)));
  }
};
// [network]

// [step]
double train(Net& net, optim::Optimizer& optimizer) {
  const auto [x, y] = pictures(kBatch);
  optimizer.zero_grad();
  const Tensor loss = cross_entropy(net(x), y);
  loss.backward();
  nn::utils::clip_grad_norm_(net.parameters(), 1.0);
  optimizer.step();
  return loss.item<double>();
}
// [step]

// [mixed]
double train_mixed(Net& net, optim::Optimizer& optimizer, amp::GradScaler& scaler) {
  const auto [x, y] = pictures(kBatch);
  optimizer.zero_grad();
  Tensor loss;
  {
    const AutocastScope autocast("cpu", {.dtype = bfloat16});
    loss = cross_entropy(net(x), y);
  }
  scaler.scale(loss).backward();
  scaler.unscale_(optimizer);
  nn::utils::clip_grad_norm_(net.parameters(), 1.0);
  scaler.step(optimizer);
  scaler.update();
  return loss.item<double>();
}
// [mixed]

double accuracy(Net& net) {
  const auto [x, y] = pictures(500);
  const InferenceModeScope inference;
  net.eval();
  const Tensor right = net(x).argmax(1) == y;
  net.train();
  return right.to(float32).mean().item<double>();
}

}  // namespace

int main() {
  const std::string file = std::filesystem::temp_directory_path() / "tenon_training.pth";
  manual_seed(1);
  Net net;
  optim::AdamW optimizer(net.parameters(), {.lr = 3e-3, .weight_decay = 1e-2});
  optim::lr_scheduler::CosineAnnealingLR scheduler(optimizer, 2 * kSteps);
  std::vector<double> losses;
  for (int step = 1; step <= kSteps; ++step) {
    losses.push_back(train(net, optimizer));
    scheduler.step();
    if (step % 20 == 0)
      std::cout << "step " << step << " of " << kSteps << ": loss " << std::fixed
                << std::setprecision(3) << losses.back() << "\n";
    if (step == kSteps / 2) {
      // [save]
      save(Value::dict({{"model", net.state_dict()},
                        {"optimizer", optimizer.state_dict()},
                        {"scheduler", scheduler.state_dict()},
                        {"random", get_rng_state()},
                        {"step", step}}),
           file);
      // [save]
    }
  }
  std::cout << "accuracy " << std::setprecision(1) << 100 * accuracy(net) << "%\n";

  // [resume]
  Net resumed;
  optim::AdamW other(resumed.parameters());
  optim::lr_scheduler::CosineAnnealingLR schedule(other, 2 * kSteps);
  const Value run = load(file);
  resumed.load_state_dict(*run.find("model"));
  other.load_state_dict(*run.find("optimizer"));
  schedule.load_state_dict(*run.find("scheduler"));
  set_rng_state(run.find("random")->as_tensor());
  // [resume]
  bool same = true;
  for (auto step = static_cast<int>(run.find("step")->as_int()); step < kSteps; ++step) {
    same &= train(resumed, other) == losses[static_cast<std::size_t>(step)];
    schedule.step();
  }
  std::cout << "resumed at step " << run.find("step")->as_int() << ": "
            << (same ? "the same losses" : "other losses") << "\n";
  std::filesystem::remove(file);

  Net mixed;
  optim::AdamW third(mixed.parameters(), {.lr = 3e-3, .weight_decay = 1e-2});
  amp::GradScaler scaler({.device = "cpu"});
  for (int step = 0; step < kSteps; ++step) train_mixed(mixed, third, scaler);
  const double right = accuracy(mixed);
  std::cout << "accuracy in mixed precision " << 100 * right << "%\n";
  return same && right > 0.9 ? 0 : 1;
}
