// What goes through optimizers, their schedulers, graphs and lists of tensors, and runs user code
// on the way.
#include "torture_company.h"

namespace tenon::nn {
namespace {

using namespace optim;

const void* the_optimizer(Torture& t) { return t.company->optimizer.get(); }
const void* the_scheduler(Torture& t) { return t.company->scheduler.get(); }
const void* the_scaler(Torture& t) { return t.company->scaler.get(); }

template <class O>
void add_optimizer(std::vector<CompanyWalk>& walks, const char* kind) {
  const auto add = [&](const char* name, std::function<void(Torture&)> run, int least = 3) {
    static std::vector<std::unique_ptr<std::string>> names;
    names.push_back(std::make_unique<std::string>(std::string(kind) + ": " + name));
    walks.push_back({names.back()->c_str(), kOptimizer,
                     [](Torture& t) {
                       give_optimizer<O>(*t.company);
                       t.company->tensors =
                           std::make_unique<std::vector<Tensor>>(1, make_parameter(flat_chatty(1)));
                       t.company->given->closure = [] {
                         happen();
                         return full({}, 1.0);
                       };
                     },
                     std::move(run), least, the_optimizer});
  };
  add("step", [](Torture& t) { t.company->optimizer->step(); });
  add("load_state_dict",
      [](Torture& t) { t.company->optimizer->load_state_dict(*t.company->saved); });
  if (std::string(kind) != "Adam") return;
  add("step with a closure",
      [](Torture& t) { (void)t.company->optimizer->step(t.company->given->closure); });
  add("zero_grad", [](Torture& t) { t.company->optimizer->zero_grad({.set_to_none = false}); });
  add("state_dict", [](Torture& t) { (void)t.company->optimizer->state_dict(); });
  add("repr", [](Torture& t) { (void)t.company->optimizer->repr(); }, 1);
  add(
      "add_param_group",
      [](Torture& t) {
        const Tensor twice = t.company->tensors->front();
        t.company->optimizer->add_param_group(ParamGroup(Params{twice, twice}, {}));
      },
      1);
}

double scheduled(double /*number*/) {
  happen();
  return 0.5;
}

template <class Make>
void add_scheduler(std::vector<CompanyWalk>& walks, const char* name, Make make, int least,
                   bool epochs = true) {
  const auto prepare = [make](Torture& t) {
    give_optimizer<SGD>(*t.company);
    t.company->scheduler = make(*t.company->optimizer);
    t.company->scheduled = std::make_unique<Value>(t.company->scheduler->state_dict());
    t.company->optimizer->step();
  };
  // (Whoever owns it may let go of it.)
  const auto with = [&](std::function<void(lr_scheduler::LRScheduler&, Company&)> act, int calls) {
    walks.push_back({name, kOptimizer, prepare,
                     [act](Torture& t) { act(*t.company->scheduler, *t.company); }, calls,
                     the_scheduler});
  };
  with([](auto& one, Company&) { one.step(); }, least);
  if (epochs) {
    with([](auto& one, Company&) { one.step(3); }, 1);
    with([](auto& one, Company&) { (void)one.get_lr(); }, 1);
  }
  walks.push_back({name, kOptimizer, prepare,
                   [make](Torture& t) { t.company->scheduler = make(*t.company->optimizer); },
                   least});
}

void add_schedulers(std::vector<CompanyWalk>& walks) {
  using namespace lr_scheduler;
  const auto lambda = [](Optimizer& optimizer) {
    return std::make_shared<LambdaLR>(
        optimizer, [](auto epoch) { return scheduled(static_cast<double>(epoch)); });
  };
  const auto product = [](Optimizer& optimizer) {
    return std::make_shared<MultiplicativeLR>(
        optimizer, [](auto epoch) { return scheduled(static_cast<double>(epoch)); });
  };
  add_scheduler(walks, "LambdaLR", lambda, 2);
  add_scheduler(
      walks, "CyclicLR",
      [](Optimizer& optimizer) {
        return std::make_shared<CyclicLR>(
            optimizer, 0.1, 0.2, CyclicLROptions{.scale_fn = scheduled, .cycle_momentum = false});
      },
      1);
  add_scheduler(
      walks, "SequentialLR",
      [=](Optimizer& optimizer) {
        const auto first = lambda(optimizer);
        const auto second = product(optimizer);
        return std::make_shared<SequentialLR>(optimizer, std::vector<SchedulerPart>{first, second},
                                              Dims{1});
      },
      1, false);
  add_scheduler(
      walks, "ChainedScheduler",
      [=](Optimizer& optimizer) {
        const auto first = lambda(optimizer);
        const auto second = product(optimizer);
        return std::make_shared<ChainedScheduler>(std::vector<SchedulerPart>{first, second});
      },
      2, false);
  walks.push_back({"ReduceLROnPlateau", kOptimizer,
                   [](Torture& t) {
                     give_optimizer<SGD>(*t.company);
                     t.company->scheduler =
                         std::make_shared<ReduceLROnPlateau>(*t.company->optimizer);
                   },
                   [](Torture& t) {
                     auto& one = dynamic_cast<ReduceLROnPlateau&>(*t.company->scheduler);
                     one.step(make_tensor<FlatChatty>(full({1}, 1.0)));
                   },
                   1, the_scheduler});
}

void add_scaler(std::vector<CompanyWalk>& walks) {
  const auto prepare = [](Torture& t) {
    give_optimizer<SGD>(*t.company);
    t.company->tensors = std::make_unique<std::vector<Tensor>>(
        std::vector<Tensor>{flat_chatty(1), full({3}, 1.0), flat_chatty(2)});
    t.company->scaler = std::make_unique<amp::GradScaler>(amp::GradScalerOptions{.device = "cpu"});
    (void)t.company->scaler->scale(ones({}));
  };
  const unsigned about = kOptimizer | kGraph;
  walks.push_back({"scale", about, prepare,
                   [](Torture& t) { (void)t.company->scaler->scale(*t.company->tensors); }, 2,
                   the_scaler});
  walks.push_back({"unscale_", about, prepare,
                   [](Torture& t) { t.company->scaler->unscale_(*t.company->optimizer); }, 3,
                   the_scaler});
  walks.push_back({"step of a scaler", about, prepare,
                   [](Torture& t) { t.company->scaler->step(*t.company->optimizer); }, 3,
                   the_scaler});
}

void add_graphs(std::vector<CompanyWalk>& walks) {
  const auto prepare = [](Torture& t) { give_graph(*t.company); };
  walks.push_back({"backward", kGraph, prepare, [](Torture& t) { t.company->loss->backward(); }});
  walks.push_back({"backward with inputs", kGraph, prepare,
                   [](Torture& t) { t.company->loss->backward({.inputs = *t.company->tensors}); }});
  walks.push_back({"grad", kGraph, prepare, [](Torture& t) {
                     (void)autograd::grad({*t.company->loss}, *t.company->tensors);
                   }});
  // (Into leaves it would be a circle, as in PyTorch.)
  walks.push_back({"grad that is recorded", kGraph, prepare, [](Torture& t) {
                     (void)autograd::grad({*t.company->loss}, *t.company->tensors,
                                          {.create_graph = true});
                   }});
  walks.push_back({"backward of several", kGraph,
                   [](Torture& t) {
                     give_graph(*t.company);
                     auto& all = *t.company->tensors;
                     all.erase(all.begin(), all.begin() + 2);
                   },
                   [](Torture& t) {
                     const Tensor ones = full({3}, 1.0);
                     autograd::backward(*t.company->tensors, {.grad_tensors = {ones, ones}});
                   }});
}

void add_lists(std::vector<CompanyWalk>& walks) {
  using List = std::vector<Tensor>;
  const auto add = [&](const char* name, void (*run)(const List&), int least = 1) {
    walks.push_back({name, kGraph,
                     [](Torture& t) {
                       t.company->tensors = std::make_unique<List>(
                           List{full({3}, 1.0), flat_chatty(2), full({3}, 3.0), flat_chatty(4)});
                     },
                     [run](Torture& t) { run(*t.company->tensors); }, least});
  };
  add("cat", [](const List& all) { (void)cat(all); });
  add("stack", [](const List& all) { (void)stack(all); });
  add("hstack", [](const List& all) { (void)hstack(all); });
  add("vstack", [](const List& all) { (void)vstack(all); });
  add("meshgrid", [](const List& all) { (void)meshgrid(all, {.indexing = "ij"}); });
  add("broadcast_tensors", [](const List& all) { (void)broadcast_tensors(all); });
  add("einsum", [](const List& all) { (void)einsum("i,i,i,i->", all); });
  add("pad_sequence", [](const List& all) { (void)pad_sequence(all); });
  add("get_total_norm", [](const List& all) { (void)utils::get_total_norm(all); });
  const auto with_grads = [&](const char* name, void (*run)(const List&)) {
    walks.push_back(
        {name, kGraph,
         [](Torture& t) { t.company->tensors = std::make_unique<List>(chatty_parameters()); },
         [run](Torture& t) { run(*t.company->tensors); }});
  };
  with_grads("clip_grad_norm_", [](const List& all) { (void)utils::clip_grad_norm_(all, 0.01); });
  with_grads("clip_grad_value_", [](const List& all) { utils::clip_grad_value_(all, 0.01); });
  with_grads("clip_grads_with_norm_",
             [](const List& all) { utils::clip_grads_with_norm_(all, 0.01, flat_chatty(1)[0]); });
}

}  // namespace

std::vector<CompanyWalk> optimizer_walks() {
  std::vector<CompanyWalk> walks;
  add_optimizer<Adam>(walks, "Adam");
  add_optimizer<SGD>(walks, "SGD");
  add_optimizer<Adagrad>(walks, "Adagrad");
  add_optimizer<RMSprop>(walks, "RMSprop");
  add_schedulers(walks);
  add_scaler(walks);
  return walks;
}

std::vector<CompanyWalk> graph_walks() {
  std::vector<CompanyWalk> walks;
  add_graphs(walks);
  add_lists(walks);
  return walks;
}

}  // namespace tenon::nn
