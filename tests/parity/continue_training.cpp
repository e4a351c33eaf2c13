// Goes on with a run of training that PyTorch began, and gives it back (tests/interop/training.py).
//
//   continue_training IN.pth OUT.pth
//
// IN has a run: model, optimizer, scheduler, random numbers and step; the classes of optimizer and
// scheduler; what ReduceLROnPlateau is to be given; and how far the run is to go. OUT has the run,
// and losses.
#include <cmath>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace {

using namespace tenon;

// The network of tests/interop/training.py.
class Net final : public nn::Layer {
 public:
  nn::Child<nn::Conv2d> conv{this, "conv", 2, 6, 3, {.padding = 1, .bias = false}};
  nn::Child<nn::BatchNorm2d> bn{this, "bn", 6};
  nn::Child<nn::Linear> hidden{this, "hidden", 6 * 3 * 3, 16};
  nn::Child<nn::LayerNorm> ln{this, "ln", 16};
  nn::Child<nn::Dropout> dropout{this, "dropout", 0.0};
  nn::Child<nn::Linear> head{this, "head", 16, 4};

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor h = max_pool2d(relu(bn(conv(x))), 2).flatten(1);
    return head(dropout(gelu(ln(hidden(h)))));
  }
};

std::unique_ptr<optim::Optimizer> make(const std::string& name, std::vector<Tensor> parameters) {
  if (name == "SGD") return std::make_unique<optim::SGD>(std::move(parameters));
  if (name == "Adam") return std::make_unique<optim::Adam>(std::move(parameters));
  if (name == "AdamW") return std::make_unique<optim::AdamW>(std::move(parameters));
  if (name == "Adagrad") return std::make_unique<optim::Adagrad>(std::move(parameters));
  if (name == "RMSprop") return std::make_unique<optim::RMSprop>(std::move(parameters));
  throw ValueError("there is no optimizer " + name);
}

using Scheduler = std::shared_ptr<optim::lr_scheduler::LRScheduler>;

// One of the class that is described. Its arguments are what it loads, but for functions.
Scheduler make_scheduler(optim::Optimizer& o, const Value& described) {
  using namespace optim::lr_scheduler;
  if (described.is_none()) return nullptr;
  const std::string name = described.find("class")->as_string();
  std::vector<SchedulerPart> parts;
  if (const Value* all = described.find("parts")) {
    for (const Value& part : all->items()) parts.emplace_back(make_scheduler(o, part));
    if (name == "ChainedScheduler") return std::make_shared<ChainedScheduler>(std::move(parts));
    std::vector<std::int64_t> milestones;
    for (const Value& one : described.find("milestones")->items())
      milestones.push_back(one.as_int());
    return std::make_shared<SequentialLR>(o, std::move(parts), std::move(milestones));
  }
  if (name == "StepLR") return std::make_shared<StepLR>(o, 1);
  if (name == "MultiStepLR") return std::make_shared<MultiStepLR>(o, std::vector<std::int64_t>{1});
  if (name == "ConstantLR") return std::make_shared<ConstantLR>(o);
  if (name == "LinearLR") return std::make_shared<LinearLR>(o);
  if (name == "ExponentialLR") return std::make_shared<ExponentialLR>(o, 0.1);
  if (name == "PolynomialLR") return std::make_shared<PolynomialLR>(o);
  if (name == "CosineAnnealingLR") return std::make_shared<CosineAnnealingLR>(o, 1);
  if (name == "CosineAnnealingWarmRestarts")
    return std::make_shared<CosineAnnealingWarmRestarts>(o, 1);
  if (name == "OneCycleLR")
    return std::make_shared<OneCycleLR>(o, 0.1, OneCycleLROptions{.total_steps = 99});
  if (name == "CyclicLR") return std::make_shared<CyclicLR>(o, 0.1, 0.2);
  if (name == "ReduceLROnPlateau") return std::make_shared<ReduceLROnPlateau>(o);
  if (name == "LambdaLR") {
    return std::make_shared<LambdaLR>(
        o, [](std::int64_t epoch) { return std::pow(0.97, static_cast<double>(epoch)); });
  }
  if (name == "MultiplicativeLR") {
    return std::make_shared<MultiplicativeLR>(
        o, [](std::int64_t epoch) { return 1 - 1 / (10 + static_cast<double>(epoch)); });
  }
  throw ValueError("there is no scheduler " + name);
}

void run(const std::string& in, const std::string& out) {
  const Value given = load(in);
  const auto at = [&](const char* key) { return *given.find(key); };
  Net net;
  net.dropout->p = at("p").as_real();
  const auto optimizer = make(at("class").as_string(), net.parameters());
  const Scheduler scheduler = make_scheduler(*optimizer, at("schedule"));
  net.load_state_dict(at("model"));
  optimizer->load_state_dict(at("optimizer"));
  if (scheduler) scheduler->load_state_dict(at("scheduler"));
  set_rng_state(at("random").as_tensor());
  std::vector<Value> losses;
  std::int64_t step = at("step").as_int();
  for (; step < at("to").as_int(); ++step) {
    const Tensor y = randint(0, 4, {16});
    const Tensor x = randn({16, 2, 6, 6}) + 0.5 * y.view({-1, 1, 1, 1});
    optimizer->zero_grad();
    const Tensor loss = cross_entropy(net(x), y);
    loss.backward();
    nn::utils::clip_grad_norm_(net.parameters(), 5.0);
    optimizer->step();
    if (auto* plateau = dynamic_cast<optim::lr_scheduler::ReduceLROnPlateau*>(scheduler.get())) {
      plateau->step(at("metrics").items()[static_cast<std::size_t>(step)].as_real());
    } else if (scheduler) {
      scheduler->step();
    }
    losses.emplace_back(loss.item<double>());
  }
  save(Value::dict({{"model", net.state_dict()},
                    {"optimizer", optimizer->state_dict()},
                    {"scheduler", scheduler ? scheduler->state_dict() : Value()},
                    {"random", get_rng_state()},
                    {"step", step},
                    {"losses", Value::list(std::move(losses))}}),
       out);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw ValueError("usage: continue_training IN.pth OUT.pth");
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
