// Runs of training that end in the middle, and are gone on with from their file.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/tenon.h"

namespace tenon::optim {
namespace {

constexpr std::int64_t kSteps = 24, kSaved = 9, kKilled = 13;

class Net final : public nn::Layer {
 public:
  nn::Child<nn::Conv2d> conv{this, "conv", 1, 4, 3};
  nn::Child<nn::BatchNorm2d> norm{this, "norm", 4};
  nn::Child<nn::Dropout> dropout{this, "dropout", 0.3};
  nn::Child<nn::Linear> head{this, "head", 16, 3};

 protected:
  Tensor forward(const Tensor& x) override { return head(dropout(relu(norm(conv(x))).flatten(1))); }
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(Params)> optimizer;
  std::function<std::unique_ptr<lr_scheduler::LRScheduler>(Optimizer&)> scheduler;
};

// Everything that goes on from one step to the next.
class TrainingRun {
 public:
  explicit TrainingRun(const Kind& kind)
      : optimizer_(kind.optimizer(net_.parameters())), scheduler_(kind.scheduler(*optimizer_)) {}

  double step() {
    const Tensor x = randn({8, 1, 4, 4});
    const Tensor y = randint(0, 3, {8});
    optimizer_->zero_grad();
    const Tensor loss = cross_entropy(net_(x), y);
    loss.backward();
    optimizer_->step();
    if (auto* plateau = dynamic_cast<lr_scheduler::ReduceLROnPlateau*>(scheduler_.get())) {
      plateau->step(loss);
    } else {
      scheduler_->step();
    }
    ++steps_;
    return loss.item<double>();
  }
  void save_to(const std::string& file, const SaveOptions& options = {}) {
    save(Value::dict({{"model", net_.state_dict()},
                      {"optimizer", optimizer_->state_dict()},
                      {"scheduler", scheduler_->state_dict()},
                      {"random", get_rng_state()},
                      {"step", steps_}}),
         file, options);
  }
  void resume(const std::string& file) {
    const Value run = load(file);
    net_.load_state_dict(*run.find("model"));
    optimizer_->load_state_dict(*run.find("optimizer"));
    scheduler_->load_state_dict(*run.find("scheduler"));
    set_rng_state(run.find("random")->as_tensor());
    steps_ = run.find("step")->as_int();
  }
  std::int64_t steps() const { return steps_; }

 private:
  Net net_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<lr_scheduler::LRScheduler> scheduler_;
  std::int64_t steps_ = 0;
};

std::vector<Kind> kinds() {
  using namespace lr_scheduler;
  return {
      {"SGD",
       [](Params p) {
         return std::make_unique<SGD>(std::move(p), SGDOptions{.lr = 0.05, .momentum = 0.9});
       },
       [](Optimizer& o) {
         return std::make_unique<CyclicLR>(o, 0.01, 0.1, CyclicLROptions{.step_size_up = 5});
       }},
      {"Adam",
       [](Params p) { return std::make_unique<Adam>(std::move(p), AdamOptions{.amsgrad = true}); },
       [](Optimizer& o) {
         return std::make_unique<OneCycleLR>(o, 0.01, OneCycleLROptions{.total_steps = 40});
       }},
      {"AdamW", [](Params p) { return std::make_unique<AdamW>(std::move(p)); },
       [](Optimizer& o) { return std::make_unique<CosineAnnealingWarmRestarts>(o, 5); }},
      {"RMSprop",
       [](Params p) {
         return std::make_unique<RMSprop>(std::move(p), RMSpropOptions{.centered = true});
       },
       [](Optimizer& o) {
         return std::make_unique<ReduceLROnPlateau>(o, ReduceLROnPlateauOptions{.patience = 1});
       }},
      {"Adagrad", [](Params p) { return std::make_unique<Adagrad>(std::move(p)); },
       [](Optimizer& o) { return std::make_unique<StepLR>(o, 4); }}};
}

std::vector<double> all_losses(const Kind& kind) {
  manual_seed(11);
  TrainingRun run(kind);
  std::vector<double> losses;
  while (run.steps() < kSteps) losses.push_back(run.step());
  return losses;
}

// The other process is gone as if the machine were, while it writes the next file.
TEST(Resume, AfterAProcessWasKilledTheLossesAreThoseOfTheWholeRun) {
  for (const Kind& kind : kinds()) {
    const std::vector<double> expected = all_losses(kind);
    const TempDir folder;
    const std::string file = folder.file("run.pth");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      manual_seed(11);
      TrainingRun run(kind);
      while (run.steps() < kSaved) run.step();
      run.save_to(file);
      while (run.steps() < kKilled) run.step();
      run.save_to(file, {.watch = {.progress = [](const auto&...) { ::raise(SIGKILL); }}});
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << kind.name;
    manual_seed(77);
    TrainingRun run(kind);
    run.step();
    run.resume(file);
    ASSERT_EQ(run.steps(), kSaved);
    for (std::int64_t step = kSaved; step < kSteps; ++step)
      ASSERT_EQ(run.step(), expected[static_cast<std::size_t>(step)]) << kind.name << " " << step;
  }
}

// What torch.get_rng_state() is, and torch.set_rng_state() takes.
TEST(Resume, TheFileHasTheGeneratorsStateAsPyTorchKeepsIt) {
  const TempDir folder;
  TrainingRun run(kinds()[0]);
  run.step();
  run.save_to(folder.file("run.pth"));
  const Value saved = load(folder.file("run.pth"));
  const Tensor random = saved.find("random")->as_tensor();
  EXPECT_EQ(random.dtype(), uint8);
  EXPECT_EQ(random.shape(), Shape({5056}));
  EXPECT_TRUE(equal(random, get_rng_state()));
}

}  // namespace
}  // namespace tenon::optim
