// What is in a module, as lists, by paths and as text, and what changes all of it.
#include "tenon/nn/module.h"

#include <sstream>

#include "nn/names.h"
#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Plain : public Module {};

class Leaf : public Layer {
 public:
  Parameter weight{this, "weight", ones({2})};
  Buffer mean{this, "mean", zeros({2})};

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

// A module under two names, a parameter under two names, a null child, and two levels.
class Shared : public Module {
 public:
  Shared() {
    tied = first->weight;
    second = first;
    inner->register_module("leaf", first.share());
    inner->register_module("own", make<Leaf>());
  }
  Parameter scale{this, "scale", ones({1})};
  Parameter tied{this, "tied"};
  Child<Leaf> first{this, "first"};
  Child<Leaf> null{this, "null", nullptr};
  Child<Leaf> second{this, "second", nullptr};
  Child<Plain> inner{this, "inner"};
};

TEST(Module, NamesAParameterOnceUnlessAskedForAll) {
  const Shared shared;
  EXPECT_THAT(names(shared.named_parameters()), ElementsAre("scale", "tied", "inner.own.weight"));
  EXPECT_EQ(shared.parameters().size(), 3U);
  EXPECT_THAT(names(shared.named_parameters({.remove_duplicate = false})),
              ElementsAre("scale", "tied", "first.weight", "second.weight", "inner.leaf.weight",
                          "inner.own.weight"));
  EXPECT_THAT(names(shared.named_parameters({.recurse = false})), ElementsAre("scale", "tied"));
  EXPECT_EQ(shared.parameters(false).size(), 2U);
  EXPECT_THAT(names(shared.named_parameters({.prefix = "net", .recurse = false})),
              ElementsAre("net.scale", "net.tied"));
  EXPECT_THAT(names(shared.named_parameters({.prefix = "net"})),
              ElementsAre("net.scale", "net.tied", "net.inner.own.weight"));
  EXPECT_TRUE(shared.named_parameters()[1].second.is(shared.first->weight));
}

TEST(Module, NamesAParameterOfOneModuleOnceThoughItHasTwoNamesThere) {
  Leaf leaf;
  leaf.register_parameter("again", leaf.weight);
  EXPECT_THAT(names(leaf.named_parameters()), ElementsAre("weight"));
  EXPECT_THAT(names(leaf.named_parameters({.recurse = false, .remove_duplicate = false})),
              ElementsAre("weight", "again"));
}

TEST(Module, NamesBuffersLikeParameters) {
  Shared shared;
  EXPECT_THAT(names(shared.named_buffers()), ElementsAre("first.mean", "inner.own.mean"));
  EXPECT_THAT(names(shared.named_buffers({.remove_duplicate = false})),
              ElementsAre("first.mean", "second.mean", "inner.leaf.mean", "inner.own.mean"));
  EXPECT_THAT(shared.named_buffers({.recurse = false}), IsEmpty());
  EXPECT_EQ(shared.buffers().size(), 2U);
  shared.first->mean = Tensor();
  EXPECT_THAT(names(shared.named_buffers({.prefix = "x"})), ElementsAre("x.inner.own.mean"));
}

TEST(Module, NamesModulesParentsFirst) {
  const Shared shared;
  EXPECT_THAT(names(shared.named_modules()), ElementsAre("", "first", "inner", "inner.own"));
  EXPECT_THAT(names(shared.named_modules({.prefix = "net"})),
              ElementsAre("net", "net.first", "net.inner", "net.inner.own"));
  EXPECT_THAT(names(shared.named_modules({.remove_duplicate = false})),
              ElementsAre("", "first", "second", "inner", "inner.leaf", "inner.own"));
  EXPECT_THAT(names(shared.named_children()), ElementsAre("first", "inner"));
  EXPECT_THAT(shared.children(), ElementsAre(shared.first.get(), shared.inner.get()));
  EXPECT_THAT(shared.modules(), ElementsAre(&shared, shared.first.get(), shared.inner.get(),
                                            &shared.get_submodule("inner.own")));
}

TEST(Module, IsFoundByAPath) {
  const Shared shared;
  EXPECT_EQ(&shared.get_submodule(""), &shared);
  EXPECT_EQ(&shared.get_submodule("inner.leaf"), shared.first.get());
  EXPECT_TRUE(shared.get_parameter("inner.leaf.weight").is(shared.tied));
  EXPECT_TRUE(shared.get_parameter("scale").is(shared.scale));
  EXPECT_TRUE(shared.get_buffer("first.mean").is(shared.first->mean));
  EXPECT_EQ(shared.get_submodule("first").as<Leaf>(), shared.first.get());
  EXPECT_EQ(shared.get_submodule("first").as<Linear>(), nullptr);
}

TEST(Module, SaysWhereAPathEnds) {
  const Shared shared;
  const auto module = [&](const char* path) {
    return message_of<IndexError>([&] { shared.get_submodule(path); });
  };
  EXPECT_EQ(module("nothing"), "Shared has no attribute `nothing`");
  EXPECT_EQ(module("inner.nothing.more"), "Plain has no attribute `nothing`");
  EXPECT_EQ(module("scale"), "`scale` is not an nn.Module");
  EXPECT_EQ(module("first.weight.data"), "`weight` is not an nn.Module");
  EXPECT_EQ(module("null"), "`null` is not an nn.Module");
  EXPECT_EQ(module("null.weight"), "`null` is not an nn.Module");
  EXPECT_EQ(module("."), "Shared has no attribute ``");
  EXPECT_EQ(module("inner..own"), "Plain has no attribute ``");
  EXPECT_EQ(module("inner."), "Plain has no attribute ``");
  const auto parameter = [&](const char* path) {
    return message_of<IndexError>([&] { shared.get_parameter(path); });
  };
  EXPECT_EQ(parameter("first.scale"), "Leaf has no attribute `scale`");
  EXPECT_EQ(parameter("first.mean"), "`mean` is not an nn.Parameter");
  EXPECT_EQ(parameter("first"), "`first` is not an nn.Parameter");
  EXPECT_EQ(parameter("nothing.weight"), "Shared has no attribute `nothing`");
  EXPECT_EQ(parameter(""), "Shared has no attribute ``");
  const auto buffer = [&](const char* path) {
    return message_of<IndexError>([&] { shared.get_buffer(path); });
  };
  EXPECT_EQ(buffer("first.nothing"), "Leaf has no attribute `nothing`");
  EXPECT_EQ(buffer("first.weight"), "`weight` is not a buffer");
  EXPECT_EQ(buffer("inner"), "`inner` is not a buffer");
  EXPECT_EQ(buffer("nothing.mean"), "Shared has no attribute `nothing`");
}

TEST(Module, IsPutWhereAPathLeads) {
  Shared shared;
  const auto leaf = make<Leaf>();
  shared.set_submodule("inner.own", leaf);
  EXPECT_EQ(&shared.get_submodule("inner.own"), leaf.get());
  shared.set_submodule("inner.new", leaf);
  EXPECT_THAT(names(shared.inner->named_children()), ElementsAre("leaf", "own"));
  shared.set_submodule("null", leaf, true);
  EXPECT_EQ(shared.null.get(), leaf.get());
  EXPECT_EQ(message_of<IndexError>([&] { shared.set_submodule("inner.more", leaf, true); }),
            "Plain has no attribute `more`");
  EXPECT_EQ(message_of<IndexError>([&] { shared.set_submodule("missing.more", leaf); }),
            "Shared has no attribute `missing`");
  EXPECT_EQ(message_of<IndexError>([&] { shared.set_submodule("first.weight", leaf); }),
            "`weight` is not an nn.Module");
  EXPECT_EQ(message_of<ValueError>([&] { shared.set_submodule("", leaf); }),
            "Cannot set the submodule without a target name!");
  expect_error<ValueError>([&] { shared.set_submodule("first", nullptr); }, "under \"first\"");
  expect_error<ValueError>([&] { shared.set_submodule("inner.", leaf); }, "can't be empty");
}

TEST(Module, NeverContainsItself) {
  const auto root = make<Plain>(), middle = make<Plain>(), leaf = make<Plain>();
  root->register_module("middle", middle);
  middle->register_module("leaf", leaf);
  EXPECT_EQ(message_of<ValueError>([&] { root->register_module("self", root); }),
            "cannot put a Plain into the Plain under 'self': it contains that module itself, and "
            "modules in a circle never end");
  expect_error<ValueError>([&] { leaf->register_module("root", root); }, "circle");
  expect_error<ValueError>([&] { leaf->register_module("middle", middle); }, "circle");
  expect_error<ValueError>([&] { root->set_submodule("middle.leaf.root", root); }, "circle");
  EXPECT_THAT(names(root->named_modules()), ElementsAre("", "middle", "middle.leaf"));

  const auto list = make<ModuleList<>>();
  const auto dict = make<ModuleDict<>>();
  list->append(dict);
  expect_error<ValueError>([&] { dict->set("list", list); }, "circle");
  expect_error<ValueError>([&] { list->append(list); }, "circle");
  expect_error<ValueError>([&] { list->insert(0, list); }, "circle");
  expect_error<ValueError>([&] { list->set(0, list); }, "circle");
  EXPECT_EQ(list->size(), 1U);
  EXPECT_EQ(dict->size(), 0U);
  // A module that left may come back the other way round.
  list->pop();
  dict->set("list", list);
  EXPECT_THAT(names(dict->named_modules()), ElementsAre("", "list"));
}

TEST(Module, IsAppliedToChildrenFirst) {
  Shared shared;
  std::vector<std::string> order;
  EXPECT_EQ(&shared.apply([&](Module& module) { order.push_back(module.type_name()); }), &shared);
  EXPECT_THAT(order, ElementsAre("Leaf", "Leaf", "Leaf", "Leaf", "Plain", "Shared"));
}

TEST(Module, MayBeChangedWhileItIsApplied) {
  Plain plain;
  for (int i = 0; i < 3; ++i) plain.register_module(std::to_string(i), make<Leaf>());
  std::size_t seen = 0;
  plain.apply([&](Module& module) {
    if (&module == &plain || ++seen > 1) return;
    plain.remove("1");
    plain.remove("2");
    for (int i = 3; i < 9; ++i) plain.register_module(std::to_string(i), make<Leaf>());
  });
  EXPECT_EQ(seen, 3U);
  EXPECT_EQ(plain.children().size(), 7U);
}

TEST(Module, TrainsAndEvaluatesWithAllThatIsInIt) {
  Shared shared;
  EXPECT_TRUE(shared.training());
  EXPECT_EQ(&shared.eval(), &shared);
  for (const Module* module : shared.modules()) EXPECT_FALSE(module->training());
  shared.first->train();
  EXPECT_TRUE(shared.second->training());
  EXPECT_FALSE(shared.training());
  shared.train();
  for (const Module* module : shared.modules()) EXPECT_TRUE(module->training());
}

TEST(Module, RequiresGradWithAllItsParametersOrNone) {
  Shared shared;
  shared.requires_grad_(false);
  for (const Tensor& parameter : shared.parameters()) EXPECT_FALSE(parameter.requires_grad());
  EXPECT_EQ(&shared.requires_grad_(), &shared);
  for (const Tensor& parameter : shared.parameters()) EXPECT_TRUE(parameter.requires_grad());
  for (const Tensor& buffer : shared.buffers()) EXPECT_FALSE(buffer.requires_grad());
  shared.requires_grad_(false);
  shared.inner->register_parameter("whole", make_parameter(tensor({1, 2}), false));
  EXPECT_EQ(message_of<DTypeError>([&] { shared.requires_grad_(); }),
            "only Tensors of floating point dtype can require gradients, but the parameter "
            "\"inner.whole\" is of dtype torch.int64");
  for (const Tensor& parameter : shared.parameters()) EXPECT_FALSE(parameter.requires_grad());
  shared.requires_grad_(false);
}

TEST(Module, ForgetsGradientsOrMakesThemZero) {
  Shared shared;
  const Tensor grad = ones({2});
  shared.tied->set_grad(grad);
  shared.zero_grad({.set_to_none = false});
  EXPECT_TRUE(shared.first->weight->grad().is(grad));
  EXPECT_TRUE(equal(grad, zeros({2})));
  EXPECT_FALSE(shared.scale->grad().defined());
  shared.zero_grad();
  EXPECT_FALSE(shared.tied->grad().defined());
  // A gradient with a history is cut off from it.
  const Tensor x = ones({2}).requires_grad_();
  const Tensor calculated = x * 3.0;
  shared.tied->set_grad(calculated);
  shared.zero_grad({.set_to_none = false});
  EXPECT_FALSE(shared.tied->grad().requires_grad());
  EXPECT_TRUE(equal(shared.tied->grad(), zeros({2})));
}

TEST(Module, SaysWhichTensorsAreStillOnMeta) {
  auto shared = with_device("meta", [] { return make<Shared>(); });
  EXPECT_THAT(shared->meta_tensors(),
              ElementsAre("scale", "tied", "first.weight", "second.weight", "inner.leaf.weight",
                          "inner.own.weight", "first.mean", "second.mean", "inner.leaf.mean",
                          "inner.own.mean"));
  shared->to_empty(Device::cpu());
  EXPECT_THAT(shared->meta_tensors(), IsEmpty());
  EXPECT_TRUE(shared->tied.get().is(shared->first->weight));
}

TEST(Module, IsMadeWithoutValuesWhenAskedTo) {
  const auto linear = skip_init<Linear>(Device::cpu(), 3, 4);
  EXPECT_EQ(linear->weight->device(), Device::cpu());
  EXPECT_EQ(linear->repr(), "Linear(in_features=3, out_features=4, bias=True)");
  EXPECT_TRUE(linear->weight->requires_grad());
  EXPECT_FALSE(skip_init<Linear>(Device::cpu(), 3, 4, {.bias = false})->bias.defined());
  const Generator before = default_generator().clone_state();
  skip_init<Linear>(Device::cpu(), 3, 4);
  EXPECT_TRUE(equal(before.get_state(), default_generator().get_state()));
}

TEST(Module, IsCalledAsSoonAsItEvaluates) {
  Linear linear(3, 4);
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(equal(linear.eval()(x), linear(x)));
  EXPECT_FALSE(linear.training());
}

TEST(Module, CannotBeCalledWithoutAForward) {
  Plain plain;
  EXPECT_THAT(message_of<NotImplementedError>([&] { plain.invoke(ones({1})); }),
              HasSubstr("Module [Plain] is missing the required \"forward\" function"));
  expect_error<NotImplementedError>([&] { plain.invoke(Arguments{}); }, "[Plain]");
}

TEST(Module, MayTakeArgumentsInItsOwnWay) {
  class Own : public Module {
   public:
    using Module::invoke;
    std::any invoke(Arguments args) override { return std::any_cast<Tensor>(args.at(0)) + 1.0; }
  };
  Own own;
  EXPECT_EQ(own.invoke(ones({})).item<double>(), 2);
  class Counts : public Module {
   public:
    using Module::invoke;
    std::any invoke(Arguments args) override { return args.size(); }
  };
  Counts counts;
  EXPECT_EQ(std::any_cast<std::size_t>(counts.invoke(Arguments(1, 2.0, "3"))), 3U);
  expect_error<TypeError>([&] { counts.invoke(ones({})); }, "a Counts cannot be called");
}

template <class T>
class Generic : public Module {
 public:
  struct Nested : Module {};
};

TEST(ModuleText, HasTheNameOfTheClassAlone) {
  EXPECT_EQ(Plain().repr(), "Plain()");
  EXPECT_EQ(Generic<std::vector<int>>().repr(), "Generic()");
  EXPECT_EQ(Generic<int>::Nested().repr(), "Nested()");
  class Local : public Module {};
  EXPECT_EQ(Local().type_name(), "Local");
  class Named : public Module {
    std::string type_name() const override { return "SomethingElse"; }
  };
  EXPECT_EQ(Named().repr(), "SomethingElse()");
  const auto lambda = [] {
    class Inside : public Module {};
    return Inside().type_name();
  };
  EXPECT_EQ(lambda(), "Inside");
}

class Extra : public Module {
 public:
  explicit Extra(std::string lines) : text(std::move(lines)) {}
  std::string extra_repr() const override { return text; }
  std::string text;
};

TEST(ModuleText, PutsItsOwnLinesBeforeItsChildren) {
  EXPECT_EQ(Extra("one").repr(), "Extra(one)");
  EXPECT_EQ(Extra("one\ntwo").repr(), "Extra(\n  one\n  two\n)");
  EXPECT_EQ(Extra("one\n\ntwo").repr(), "Extra(\n  one\n  \n  two\n)");
  Extra extra("one");
  extra.register_module("a", make<Identity>());
  extra.register_module("b", std::shared_ptr<Module>());
  extra.register_module("c", make<ParameterList>(std::vector{ones({1})}));
  EXPECT_EQ(extra.repr(),
            "Extra(\n"
            "  one\n"
            "  (a): Identity()\n"
            "  (b): None\n"
            "  (c): ParameterList(  (0): Parameter containing: [torch.float32 of size 1])\n"
            ")");
  std::ostringstream out;
  out << extra;
  EXPECT_EQ(out.str(), extra.repr());
}

TEST(ModuleText, LeavesBlankLinesOfWhatIsInsideEmpty) {
  Plain plain;
  plain.register_module("a", make<Extra>("one\n\ntwo"));
  plain.register_module("l",
                        make<ModuleList<>>(make<Extra>("one\n\ntwo"), make<Extra>("one\n\ntwo")));
  EXPECT_EQ(plain.repr(),
            "Plain(\n"
            "  (a): Extra(\n"
            "    one\n"
            "\n"
            "    two\n"
            "  )\n"
            "  (l): ModuleList(\n"
            "    (0-1): 2 x Extra(\n"
            "      one\n"
            "\n"
            "      two\n"
            "    )\n"
            "  )\n"
            ")");
}

TEST(ModuleText, NestsAsDeepAsItIs) {
  const ModuleDict<> dict{
      {"x", make<Linear>(1, 2)},
      {"y",
       make<Sequential>(make<Dropout>(), make<ModuleList<>>(make<Identity>(), make<Identity>(),
                                                            make<Flatten>(), make<Identity>()))}};
  EXPECT_EQ(dict.repr(),
            "ModuleDict(\n"
            "  (x): Linear(in_features=1, out_features=2, bias=True)\n"
            "  (y): Sequential(\n"
            "    (0): Dropout(p=0.5, inplace=False)\n"
            "    (1): ModuleList(\n"
            "      (0-1): 2 x Identity()\n"
            "      (2): Flatten(start_dim=1, end_dim=-1)\n"
            "      (3): Identity()\n"
            "    )\n"
            "  )\n"
            ")");
}

TEST(Module, TrainAsksEachClass) {
  class Frozen final : public Layer {
   public:
    Module& train(bool /*mode*/ = true) override { return Layer::train(false); }

   protected:
    Tensor forward(const Tensor& x) override { return x; }
  };
  Sequential net(make<Linear>(1, 1), make<Frozen>());
  net.train();
  EXPECT_TRUE(net[0].training());
  EXPECT_FALSE(net[1].training());
}

TEST(Module, IsInvokedWithASlotAsWithItsTensor) {
  const Linear layer(2, 3);
  Identity same;
  Module& module = same;
  EXPECT_TRUE(module.invoke(layer.weight).is(*layer.weight));
}

}  // namespace
}  // namespace tenon::nn
