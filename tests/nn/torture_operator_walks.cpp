// Operators of the user's own, whose Rules are user code, and dicts of modules and parameters,
// whose destructors and deleters are.
#include "tenon/extend/custom_op.h"
#include "torture_company.h"

namespace tenon::nn {
namespace {

struct torture_sum {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo torture_sum::info{"torture_sum", torture_sum::kind};
struct torture_parts {
  using Signature = std::vector<Tensor>(std::span<const Tensor> tensors,
                                        const std::optional<Tensor>& other, std::string_view note);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo torture_parts::info{"torture_parts", torture_parts::kind};
struct torture_add_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
constinit OpInfo torture_add_::info{"torture_add_", torture_add_::kind};
struct torture_view {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
constinit OpInfo torture_view::info{"torture_view", torture_view::kind};
struct torture_count {
  using Signature = double(const Tensor& self);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};
constinit OpInfo torture_count::info{"torture_count", torture_count::kind};
struct torture_twice {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
constinit OpInfo torture_twice::info{"torture_twice", torture_twice::kind};

class TortureNode final : public Node {
 public:
  std::string name() const override { return "TortureSumBackward"; }
  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    happen();
    return {grads[0], grads[0]};
  }
};

}  // namespace
}  // namespace tenon::nn

namespace tenon {

using nn::happen;

template <>
struct Rule<nn::torture_sum> {
  static Layout infer(const Tensor& self, const Tensor& /*other*/) {
    happen();
    return Layout::packed_like(self.layout());
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    happen();
    out.copy_(self);
    happen();
    out.add_(other);
  }
  static Ref<Node> node(const Tensor& /*self*/, const Tensor& /*other*/) {
    happen();
    return make_ref<nn::TortureNode>();
  }
  static void keep_result(Node& /*node*/, const Tensor& /*result*/) { happen(); }
};
template <>
struct Rule<nn::torture_parts> {
  static constexpr std::string_view gradient = no_gradient;
  static std::vector<Layout> infer(std::span<const Tensor> tensors,
                                   const std::optional<Tensor>& /*other*/,
                                   std::string_view /*note*/) {
    happen();
    std::vector<Layout> all;
    for (const Tensor& tensor : tensors) all.push_back(Layout::packed_like(tensor.layout()));
    return all;
  }
  static void cpu(std::vector<Tensor>& out, std::span<const Tensor> tensors,
                  const std::optional<Tensor>& other, std::string_view note) {
    happen();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].copy_(tensors[i]);
      happen();
      if (other) out[i].add_(*other, {.alpha = static_cast<double>(note.size())});
    }
  }
};
template <>
struct Rule<nn::torture_add_> {
  static constexpr std::string_view gradient = "TortureAddBackward";
  static void check(const Tensor& /*self*/, const Tensor& /*other*/) { happen(); }
  static void cpu(const Tensor& self, const Tensor& other) {
    happen();
    self.add_(other);
    happen();
  }
};
template <>
struct Rule<nn::torture_view> {
  static constexpr std::string_view gradient = "TortureViewBackward";
  static Layout view(const Tensor& self) {
    happen();
    return self.layout();
  }
};
template <>
struct Rule<nn::torture_count> {
  static double run(const Tensor& self) {
    happen();
    return static_cast<double>(self.numel());
  }
};
template <>
struct Rule<nn::torture_twice> {
  static Tensor compose(const Tensor& self, const Tensor& other) {
    happen();
    const Tensor sum = self + other;
    happen();
    return sum + self;
  }
};

}  // namespace tenon

namespace tenon::nn {
namespace {

using List = std::vector<Tensor>;

void add_operators(std::vector<CompanyWalk>& walks, const char* name, bool recorded, bool chatty) {
  const auto add = [&](void (*run)(const List&, const std::string&), int least) {
    walks.push_back({name, kGraph,
                     [=](Torture& t) {
                       const Tensor first = ones({3}).requires_grad_(recorded);
                       t.company->tensors = std::make_unique<List>(
                           List{recorded ? first * 2.0 : first, full({3}, 2.0), full({3}, 3.0)});
                       if (chatty) t.company->tensors->at(1) = flat_chatty(2);
                       t.company->given->path = std::string(40, 'x');
                     },
                     [run](Torture& t) { run(*t.company->tensors, t.company->given->path); },
                     chatty ? 1 : least});
  };
  add([](const List& all, const auto&) { (void)call<torture_sum>(all[0], all[1]); }, 3);
  add([](const List& all, const auto& note) { (void)call<torture_parts>(all, all[1], note); }, 3);
  add([](const List& all, const auto&) { (void)call<torture_add_>(all[0], all[1]); }, 3);
  add([](const List& all, const auto&) { (void)call<torture_view>(all[1]); }, 1);
  add([](const List& all, const auto&) { (void)call<torture_count>(all[1]); }, 1);
  add([](const List& all, const auto&) { (void)call<torture_twice>(all[0], all[1]); }, 2);
}

// Calls it when it goes, where nothing may be thrown.
class DyingPart final : public Layer {
 public:
  Parameter weight{this, "weight", full({2}, 1.5)};
  ~DyingPart() override {
    try {
      happen();
    } catch (...) {
    }
  }

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

void give_dicts(Torture& t) {
  Company& company = *t.company;
  company.modules = std::make_unique<ModuleDict<>>();
  company.parameters = std::make_unique<ParameterDict>();
  company.row = std::make_unique<Sequential>();
  for (const char* name : {"a", "b", "c", "d"}) {
    company.modules->set(name, make<DyingPart>());
    company.parameters->set(name, borrowed_parameter());
    company.row->append(make<DyingPart>());
  }
}

}  // namespace

std::vector<CompanyWalk> operator_walks() {
  std::vector<CompanyWalk> walks;
  add_operators(walks, "an own operator", false, false);
  add_operators(walks, "an own operator that is recorded", true, false);
  add_operators(walks, "an own operator of user-defined tensors", false, true);
  add_operators(walks, "an own operator of user-defined tensors that is recorded", true, true);
  walks.push_back({"backward of an own operator", kGraph,
                   [](Torture& t) {
                     const Tensor x = ones({3}).requires_grad_(), y = call<torture_sum>(x, x);
                     t.company->tensors = std::make_unique<List>(List{x, y});
                     t.company->loss = std::make_unique<Tensor>(y.sum());
                   },
                   [](Torture& t) { t.company->loss->backward(); }, 1});
  return walks;
}

std::vector<CompanyWalk> dict_walks() {
  std::vector<CompanyWalk> walks;
  const auto of_modules = [](Torture& t) -> const void* { return t.company->modules.get(); };
  const auto of_parameters = [](Torture& t) -> const void* { return t.company->parameters.get(); };
  const auto add = [&](const char* name, void (*run)(Company&), int least,
                       std::function<const void*(Torture&)> subject = {}) {
    walks.push_back({name, kDicts, give_dicts, [run](Torture& t) { run(*t.company); }, least,
                     std::move(subject)});
  };
  add("clear of a ModuleDict", [](Company& one) { one.modules->clear(); }, 4, of_modules);
  add("pop of a ModuleDict", [](Company& one) { one.modules->pop("b"); }, 1);
  add("set of a ModuleDict", [](Company& one) { one.modules->set("b", make<DyingPart>()); }, 1);
  add("remove from a ModuleDict", [](Company& one) { one.modules->remove("b"); }, 1);
  add(
      "update of a ModuleDict",
      [](Company& one) {
        ModuleDict<> other;
        for (const char* name : {"b", "c", "e"}) other.set(name, make<ReLU>());
        one.modules->update(other);
      },
      2, of_modules);
  add("clear of a ParameterDict", [](Company& one) { one.parameters->clear(); }, 4, of_parameters);
  add("pop of a ParameterDict", [](Company& one) { one.parameters->pop("b"); }, 1);
  add("set of a ParameterDict", [](Company& one) { one.parameters->set("b", ones({2})); }, 1);
  add(
      "update of a ParameterDict",
      [](Company& one) {
        ParameterDict other;
        for (const char* name : {"b", "c", "e"}) other.set(name, ones({2}));
        one.parameters->update(other);
      },
      2, of_parameters);
  add("pop of a Sequential", [](Company& one) { one.row->pop(1); }, 1);
  add("set of a Sequential", [](Company& one) { one.row->set(1, make<ReLU>()); }, 1);
  return walks;
}

}  // namespace tenon::nn
