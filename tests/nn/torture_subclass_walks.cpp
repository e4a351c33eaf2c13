// Optimizers and schedulers of the user's own, whose overridden functions are user code, and
// options that are user-defined tensors, which are user code when they are read.
#include "torture_company.h"

namespace tenon::nn {
namespace {

using namespace optim;
using namespace optim::lr_scheduler;

const void* the_optimizer(Torture& t) { return t.company->optimizer.get(); }
const void* the_scheduler(Torture& t) { return t.company->scheduler.get(); }
const void* the_scaler(Torture& t) { return t.company->scaler.get(); }

Tensor chatty_number(double value) { return make_tensor<FlatChatty>(full({1}, value)); }

class TortureOptimizer final : public Optimizer {
 public:
  explicit TortureOptimizer(Params params)
      : Optimizer("TortureOptimizer", NamedValues(std::vector<NamedValues::Entry>{{"lr", 0.1}})) {
    std::vector<ParamGroup> groups;
    groups.emplace_back(std::move(params), NamedValues());
    add_groups(std::move(groups));
  }

 protected:
  void check(const ParamGroup& group, bool /*fresh*/) const override {
    (void)group.real("lr");
    happen();
  }
  void update(ParamGroup& group) override {
    const std::vector<Tensor> all = group.params();  // the group may go
    happen();
    for (const Tensor& parameter : all) {
      if (const Tensor grad = parameter.grad(); grad.defined())
        parameter.add_(grad, {.alpha = -0.1});
    }
    happen();
  }
  std::vector<Kept> kept(const ParamGroup& /*group*/) const override {
    happen();
    return {{.name = "mine", .optional = true}};
  }
  void complete(ParamGroup& group) const override {
    group.set_default("late", 1);
    happen();
  }
};

class TortureScheduler final : public LRScheduler {
 public:
  explicit TortureScheduler(Optimizer& optimizer) : LRScheduler("TortureScheduler", optimizer, -1) {
    initial_step();
  }

 protected:
  std::vector<double> current_lr() const override {
    std::vector<double> lrs = changed([](double lr) {
      happen();
      return lr * 0.5;
    });
    happen();
    return lrs;
  }
  std::optional<std::vector<double>> closed_form_lr() const override {
    std::vector<double> lrs = based([](double lr) { return lr * 0.5; });
    happen();
    return lrs;
  }
  void advance(std::optional<double> epoch) override {
    // Whoever lets go of what it is going to use does nothing more.
    const auto there = [] {
      return torture == nullptr ? std::pair<const void*, const void*>()
                                : std::pair(the_scheduler(*torture), the_optimizer(*torture));
    };
    const auto before = there();
    happen();
    if (there() != before) return;
    LRScheduler::advance(epoch);
    happen();
  }
  void write(const std::vector<double>& lrs) override {
    LRScheduler::write(lrs);
    happen();
  }
  void state(SchedulerState& state) override {
    LRScheduler::state(state);
    happen();
  }
  void own_state(SchedulerState& state) override {
    state.real("floor", floor_);
    happen();
  }
  void check() const override { happen(); }
  void undo() override {
    LRScheduler::undo();
    happen();
  }
  void begin() override {
    LRScheduler::begin();
    happen();
  }

 private:
  double floor_ = 1;
};

void add_own_optimizer(std::vector<CompanyWalk>& walks) {
  const auto add = [&](const char* name, void (*run)(Optimizer&, Company&)) {
    walks.push_back(
        {name, kOptimizer, [](Torture& t) { give_optimizer<TortureOptimizer>(*t.company); },
         [run](Torture& t) { run(*t.company->optimizer, *t.company); }, 1, the_optimizer});
  };
  add("step of an own optimizer", [](Optimizer& one, Company&) { one.step(); });
  add("load_state_dict of an own optimizer",
      [](Optimizer& one, Company& company) { one.load_state_dict(*company.saved); });
  add("add_param_group of an own optimizer", [](Optimizer& one, Company&) {
    one.add_param_group(ParamGroup(Params{make_parameter(full({3}, 1.0))}, {}));
  });
}

// Two groups whose numbers are user-defined.
template <class O>
void give_chatty_options(Torture& t) {
  give_optimizer<O>(*t.company);
  for (ParamGroup& group : t.company->optimizer->param_groups()) {
    for (const char* name : {"lr", "weight_decay", "momentum"}) {
      if (group.contains(name)) group[name] = chatty_number(group.real(name));
    }
  }
  t.company->saved = std::make_unique<Value>(t.company->optimizer->state_dict());
}

template <class O>
void add_chatty_options(std::vector<CompanyWalk>& walks) {
  const auto add = [&](const char* name, void (*run)(Optimizer&, Company&), int least) {
    walks.push_back({name, kOptimizer, give_chatty_options<O>,
                     [run](Torture& t) { run(*t.company->optimizer, *t.company); }, least,
                     the_optimizer});
  };
  add("step with user-defined options", [](Optimizer& one, Company&) { one.step(); }, 3);
  add(
      "load_state_dict of user-defined options",
      [](Optimizer& one, Company& company) { one.load_state_dict(*company.saved); }, 3);
  add(
      "add_param_group with user-defined options",
      [](Optimizer& one, Company&) {
        NamedValues options;
        options["lr"] = chatty_number(0.1);
        one.add_param_group(ParamGroup(Params{make_parameter(full({3}, 1.0))}, std::move(options)));
      },
      1);
  add(
      "a number that is multiplied",
      [](Optimizer& one, Company&) { one.param_groups()[1]["lr"] *= 0.5; }, 1);
}

using Make = std::function<std::shared_ptr<LRScheduler>(Optimizer&)>;
template <class S, class... A>
Make maker(const A&... args) {
  return [=](Optimizer& optimizer) { return std::make_shared<S>(optimizer, args...); };
}

// A number whose memory calls user code when it goes.
Tensor borrowed_number(double value) {
  return from_blob(new float[1]{static_cast<float>(value)}, {1}, {.deleter = [](void* memory) {
                     delete[] static_cast<float*>(memory);
                     try {
                       happen();
                     } catch (...) {
                     }
                   }});
}

// Options that a schedule reads are user-defined, or those it writes are in memory that is.
void give_options(Optimizer& optimizer, bool borrowed) {
  for (ParamGroup& group : optimizer.param_groups()) {
    for (const char* name : {"lr", "momentum", "max_lr", "max_momentum"}) {
      if (group.contains(name)) group[name] = (borrowed ? borrowed_number : chatty_number)(0.1);
    }
  }
}

void step(LRScheduler& scheduler, double metric) {
  if (auto* one = dynamic_cast<ReduceLROnPlateau*>(&scheduler)) return one->step(metric);
  scheduler.step();
}

void add_reading_schedulers(std::vector<CompanyWalk>& walks) {
  // Which reads numbers when it is made, and in a step, and writes them when it is made.
  struct Kind {
    const char* name;
    Make make;
    bool made_reads = true, step_reads = true, made_writes = true;
  };
  const Kind all[] = {
      {"StepLR", maker<StepLR>(1)},
      {"LinearLR", maker<LinearLR>()},
      {"ExponentialLR", maker<ExponentialLR>(0.5)},
      {"CosineAnnealingLR", maker<CosineAnnealingLR>(1)},
      {"CosineAnnealingWarmRestarts", maker<CosineAnnealingWarmRestarts>(1), true, false},
      {"OneCycleLR", maker<OneCycleLR>(0.1, OneCycleLROptions{.total_steps = 9})},
      {"CyclicLR", maker<CyclicLR>(0.1, 0.2), false, false},
      {"LambdaLR", maker<LambdaLR>([](auto) { return 0.5; }), true, false},
      {"MultiplicativeLR", maker<MultiplicativeLR>([](auto) { return 0.5; })},
      {"ReduceLROnPlateau", maker<ReduceLROnPlateau>(ReduceLROnPlateauOptions{.patience = 0}), true,
       true, false},
  };
  for (const Kind& kind : all) {
    for (const bool borrowed : {false, true}) {
      const Make& make = kind.make;
      if (borrowed ? kind.made_writes : kind.made_reads) {
        walks.push_back({kind.name, kOptimizer,
                         [borrowed](Torture& t) {
                           give_optimizer<SGD>(*t.company);
                           give_options(*t.company->optimizer, borrowed);
                         },
                         [make](Torture& t) { t.company->scheduler = make(*t.company->optimizer); },
                         1});
      }
      if (!borrowed && !kind.step_reads) continue;
      walks.push_back({kind.name, kOptimizer,
                       [=](Torture& t) {
                         give_optimizer<SGD>(*t.company);
                         t.company->scheduler = make(*t.company->optimizer);
                         t.company->optimizer->step();
                         step(*t.company->scheduler, 1);
                         give_options(*t.company->optimizer, borrowed);
                       },
                       [](Torture& t) { step(*t.company->scheduler, 2); }, 1, the_scheduler});
    }
  }
}

// With numbers that are user-defined.
Value chatty_schedule(const Value& state) {
  std::vector<Value::Entry> entries;
  for (const auto& [key, value] : state.entries()) {
    if (key == Value("base_lrs") || key == Value("_last_lr")) {
      std::vector<Value> numbers;
      for (const Value& one : value.items()) numbers.emplace_back(chatty_number(one.as_real()));
      entries.emplace_back(key, Value::list(std::move(numbers)));
    } else if (key == Value("_schedulers")) {
      std::vector<Value> parts;
      for (const Value& part : value.items()) parts.push_back(chatty_schedule(part));
      entries.emplace_back(key, Value::list(std::move(parts)));
    } else {
      entries.emplace_back(key, value);
    }
  }
  return Value::dict(std::move(entries));
}

void add_own_schedulers(std::vector<CompanyWalk>& walks) {
  const std::pair<const char*, Make> all[] = {
      {"an own scheduler", maker<TortureScheduler>()},
      {"SequentialLR of own schedulers",
       [](Optimizer& one) {
         const auto first = std::make_shared<TortureScheduler>(one);
         const auto second = std::make_shared<TortureScheduler>(one);
         return std::make_shared<SequentialLR>(one, std::vector<SchedulerPart>{first, second},
                                               Dims{1});
       }},
      {"ChainedScheduler of own schedulers",
       [](Optimizer& one) {
         const auto first = std::make_shared<TortureScheduler>(one);
         const auto second = std::make_shared<TortureScheduler>(one);
         return std::make_shared<ChainedScheduler>(std::vector<SchedulerPart>{first, second});
       }},
      {"LambdaLR", maker<LambdaLR>([](auto) {
         happen();
         return 0.5;
       })},
  };
  for (const auto& [name, make] : all) {
    const std::string text = name;
    const auto add = [&](std::function<void(LRScheduler&, Company&)> run, int least) {
      walks.push_back(
          {name, kOptimizer,
           [make](Torture& t) {
             give_optimizer<SGD>(*t.company);
             t.company->scheduler = make(*t.company->optimizer);
             t.company->scheduled =
                 std::make_unique<Value>(chatty_schedule(t.company->scheduler->state_dict()));
             t.company->optimizer->step();
           },
           [run](Torture& t) { run(*t.company->scheduler, *t.company); }, least, the_scheduler});
    };
    if (text != "LambdaLR") add([](auto& one, Company&) { (void)one.state_dict(); }, 2);
    add([](auto& one, Company& company) { one.load_state_dict(*company.scheduled); }, 3);
    add([](auto& one, Company&) { one.step(); }, 2);
    if (text != "an own scheduler") continue;
    add([](auto& one, Company&) { one.step(3); }, 3);
    add([](auto& one, Company&) { (void)one.get_lr(); }, 3);
    walks.push_back({name, kOptimizer, [](Torture& t) { give_optimizer<SGD>(*t.company); },
                     [make](Torture& t) { t.company->scheduler = make(*t.company->optimizer); }});
  }
}

void add_own_scale(std::vector<CompanyWalk>& walks) {
  walks.push_back(
      {"update of a scaler", kOptimizer | kGraph,
       [](Torture& t) {
         give_optimizer<SGD>(*t.company);
         t.company->tensors = std::make_unique<std::vector<Tensor>>(1, chatty_number(2));
         t.company->scaler =
             std::make_unique<amp::GradScaler>(amp::GradScalerOptions{.device = "cpu"});
         (void)t.company->scaler->scale(ones({}));
       },
       [](Torture& t) { t.company->scaler->update(t.company->tensors->front()); }, 1, the_scaler});
}

}  // namespace

std::vector<CompanyWalk> subclass_walks() {
  std::vector<CompanyWalk> walks;
  add_own_optimizer(walks);
  add_own_schedulers(walks);
  add_own_scale(walks);
  return walks;
}

std::vector<CompanyWalk> option_walks() {
  std::vector<CompanyWalk> walks;
  add_chatty_options<SGD>(walks);
  add_chatty_options<Adam>(walks);
  add_chatty_options<AdamW>(walks);
  add_chatty_options<Adagrad>(walks);
  add_chatty_options<RMSprop>(walks);
  add_reading_schedulers(walks);
  return walks;
}

}  // namespace tenon::nn
