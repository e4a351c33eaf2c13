// Modules that hold others: names, places, editing, text.
#include "tenon/nn/containers.h"

#include "nn/names.h"
#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Linear layers told apart by their size.
std::shared_ptr<Linear> sized(std::int64_t size) { return make<Linear>(size, size); }

template <class List>
std::vector<std::int64_t> sizes(const List& list) {
  std::vector<std::int64_t> all;
  for (Module& module : list) all.push_back(module.as<Linear>()->in_features);
  return all;
}

template <class List>
class Lists : public testing::Test {};
using ListTypes = testing::Types<Sequential, ModuleList<>, ModuleList<Linear>>;
TYPED_TEST_SUITE(Lists, ListTypes);

TYPED_TEST(Lists, NumberTheirModules) {
  TypeParam list(sized(1), sized(2));
  list.append(sized(3)).append(sized(4));
  EXPECT_EQ(list.size(), 4U);
  EXPECT_FALSE(list.empty());
  EXPECT_THAT(names(list.named_children()), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(sizes(list), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(names(list.state_dict()), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias",
                                                    "2.weight", "2.bias", "3.weight", "3.bias"));
  EXPECT_TRUE(TypeParam().empty());
}

TYPED_TEST(Lists, CountPlacesFromBothEnds) {
  TypeParam list(sized(1), sized(2), sized(3));
  EXPECT_EQ(&list[0], list.share(-3).get());
  EXPECT_EQ(&list[2], list.share(-1).get());
  EXPECT_EQ(message_of<IndexError>([&] { list[3]; }),
            "index 3 is out of range: there are 3 entries");
  EXPECT_EQ(message_of<IndexError>([&] { list.share(-4); }),
            "index -4 is out of range: there are 3 entries");
  TypeParam one(sized(1));
  EXPECT_EQ(message_of<IndexError>([&] { one[1]; }), "index 1 is out of range: there are 1 entry");
  expect_error<IndexError>([&] { TypeParam()[0]; }, "there are 0 entries");
  expect_error<IndexError>([&] { TypeParam().pop(); }, "index -1");
}

TYPED_TEST(Lists, AreEdited) {
  TypeParam list(sized(1), sized(2), sized(3));
  list.insert(1, sized(9));
  EXPECT_THAT(sizes(list), ElementsAre(1, 9, 2, 3));
  list.insert(-1, sized(8));
  EXPECT_THAT(sizes(list), ElementsAre(1, 9, 2, 8, 3));
  list.insert(0, sized(7));
  list.insert(6, sized(6));
  EXPECT_THAT(sizes(list), ElementsAre(7, 1, 9, 2, 8, 3, 6));
  list.set(-2, sized(5));
  list.set(0, sized(4));
  EXPECT_THAT(sizes(list), ElementsAre(4, 1, 9, 2, 8, 5, 6));
  EXPECT_EQ(list.pop()->template as<Linear>()->in_features, 6);
  EXPECT_EQ(list.pop(0)->template as<Linear>()->in_features, 4);
  EXPECT_EQ(list.pop(-2)->template as<Linear>()->in_features, 8);
  EXPECT_THAT(sizes(list), ElementsAre(1, 9, 2, 5));
  EXPECT_THAT(names(list.named_children()), ElementsAre("0", "1", "2", "3"));
  list.remove("1");  // Python's del of an attribute: no renumbering
  EXPECT_THAT(names(list.named_children()), ElementsAre("0", "2", "3"));
}

TYPED_TEST(Lists, RefuseWithoutChangingAnything) {
  TypeParam list(sized(1), sized(2));
  EXPECT_EQ(message_of<IndexError>([&] { list.insert(3, sized(3)); }),
            "index 3 is out of range: there are 2 entries");
  expect_error<IndexError>([&] { list.insert(-3, sized(3)); }, "index -3");
  expect_error<IndexError>([&] { list.set(2, sized(3)); }, "index 2");
  expect_error<IndexError>([&] { list.pop(2); }, "index 2");
  const std::shared_ptr<Linear> null;
  expect_error<ValueError>([&] { list.append(null); }, "cannot hold null");
  expect_error<ValueError>([&] { list.insert(0, null); }, "cannot hold null");
  expect_error<ValueError>([&] { list.set(0, null); }, "cannot hold null");
  EXPECT_THAT(sizes(list), ElementsAre(1, 2));
  EXPECT_THAT(names(list.named_children()), ElementsAre("0", "1"));
}

TYPED_TEST(Lists, AreExtendedByOthersWhoseModulesTheyShare) {
  TypeParam list(sized(1)), other(sized(2), sized(3));
  list.extend(other);
  EXPECT_THAT(sizes(list), ElementsAre(1, 2, 3));
  EXPECT_EQ(&list[1], &other[0]);
  list.extend(list);
  EXPECT_THAT(sizes(list), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(list.parameters().size(), 6U);
}

TYPED_TEST(Lists, KeepNamesRightOverMoreThanAFew) {
  TypeParam list;
  for (int i = 0; i < 40; ++i) list.append(sized(i));
  for (int i = 0; i < 20; ++i) list.pop(0);
  list.insert(0, sized(99));
  EXPECT_EQ(list.size(), 21U);
  EXPECT_EQ(list.get_submodule("0").template as<Linear>()->in_features, 99);
  EXPECT_EQ(list.get_submodule("20").template as<Linear>()->in_features, 39);
  expect_error<IndexError>([&] { list.get_submodule("21"); }, "no attribute `21`");
}

TYPED_TEST(Lists, AreCloned) {
  const auto list = make<TypeParam>(sized(1), sized(2));
  list->append(list->share(0));
  const auto copy = clone(*list);
  EXPECT_THAT(sizes(*copy), ElementsAre(1, 2, 1));
  EXPECT_EQ(&(*copy)[0], &(*copy)[2]);
  EXPECT_NE(&(*copy)[0], &(*list)[0]);
  copy->append(sized(3));
  EXPECT_THAT(names(copy->named_children()), ElementsAre("0", "1", "3"));
  EXPECT_EQ(list->size(), 3U);
}

TEST(Sequential, RunsItsModulesOneAfterAnother) {
  const auto first = make<Linear>(3, 4), second = make<Linear>(4, 2);
  Sequential net(first, make<Identity>(), second);
  const Tensor x = randn({5, 3});
  EXPECT_TRUE(equal(net(x), (*second)((*first)(x))));
  EXPECT_TRUE(Sequential()(x).is(x));
}

// Of another signature: its other argument can be left out.
class Scaled : public Callable<Tensor(const Tensor&, std::optional<double>)> {
 protected:
  Tensor forward(const Tensor& x, std::optional<double> by) override { return x * by.value_or(2); }
};

TEST(Sequential, RunsModulesWhoseOtherArgumentsCanBeLeftOut) {
  Sequential net(make<Scaled>(), make<Scaled>());
  EXPECT_EQ(net(ones({})).item<double>(), 4);
  Sequential bad(make<Scaled>(), make<ModuleList<>>());
  expect_error<NotImplementedError>([&] { bad(ones({})); }, "Module [ModuleList]", "forward");
}

TEST(Sequential, HasNamesOfItsOwnUntilItIsRenumbered) {
  Sequential net{{"in", sized(1)}, {"middle", sized(2)}, {"out", sized(3)}};
  EXPECT_THAT(names(net.named_children()), ElementsAre("in", "middle", "out"));
  EXPECT_EQ(net[1].as<Linear>()->in_features, 2);
  net.append(sized(4));
  EXPECT_THAT(names(net.named_children()), ElementsAre("in", "middle", "out", "3"));
  net.set(0, sized(7));
  EXPECT_THAT(names(net.named_children()), ElementsAre("in", "middle", "out", "3"));
  expect_error<ValueError>([&] { net.insert(1, sized(9)); }, "cannot insert at 1", "\"middle\"");
  net.insert(4, sized(5));
  net.pop(1);
  EXPECT_THAT(names(net.named_children()), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(sizes(net), ElementsAre(7, 3, 4, 5));
  Sequential last{{"in", sized(1)}, {"out", sized(3)}};
  last.pop();
  EXPECT_THAT(names(last.named_children()), ElementsAre("0"));
  expect_error<ValueError>([] { Sequential({{"a.b", sized(1)}}); }, "can't contain \".\"");
  expect_error<ValueError>([] { Sequential({{"a", nullptr}}); }, "cannot hold null");
}

TEST(Sequential, SlicesAsPythonDoesAndKeepsNames) {
  Sequential net(sized(1), sized(2), sized(3), sized(4));
  EXPECT_THAT(sizes(*net.slice(1, 3)), ElementsAre(2, 3));
  EXPECT_THAT(names(net.slice(1, 3)->named_children()), ElementsAre("1", "2"));
  EXPECT_THAT(sizes(*net.slice(-2)), ElementsAre(3, 4));
  EXPECT_THAT(sizes(*net.slice(0, -1)), ElementsAre(1, 2, 3));
  EXPECT_THAT(sizes(*net.slice(-9, 9)), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(net.slice(3, 1)->empty());
  EXPECT_EQ(&(*net.slice(2))[0], &net[2]);
}

TEST(Sequential, NeverLosesAModuleToANewOne) {
  Sequential net(sized(1), sized(2), sized(3));
  const auto tail = net.slice(1);  // "1" and "2"
  expect_error<ValueError>([&] { tail->append(sized(4)); }, "\"2\"");
  EXPECT_THAT(sizes(*tail), ElementsAre(2, 3));
}

TEST(Sequential, IsRenumberedWithMoreThanAFewNames) {
  Sequential net;
  for (int i = 0; i < 30; ++i) net.register_module(std::to_string(29 - i), sized(i));
  net.pop(0);
  for (int i = 0; i < 29; ++i) {
    EXPECT_EQ(net.get_submodule(std::to_string(i)).as<Linear>()->in_features, i + 1);
    EXPECT_EQ(net.child_slots()[static_cast<std::size_t>(i)]->name(), std::to_string(i));
  }
  expect_error<IndexError>([&] { net.get_submodule("29"); }, "no attribute `29`");
}

// Places that belong to the class stay what they are for.
class WithMembers : public Sequential {
 public:
  Child<Linear> first{this, "0", 1, 1};
  Child<Layer> second{this, "1", nullptr};
};

TEST(Sequential, LeavesMembersOfItsClassWhereTheyAre) {
  WithMembers net;
  EXPECT_THAT(message_of<Error>([&] { net(ones({1})); }), HasSubstr("child '1'"));
  expect_error<Error>([&] { net[1]; }, "is None");
  net.second = make<Identity>();
  EXPECT_EQ(net(ones({2, 1})).size(0), 2);
  net.append(sized(3));
  expect_error<ValueError>([&] { net.pop(0); }, "\"0\" is a member");
  expect_error<ValueError>([&] { net.insert(1, sized(2)); }, "\"1\" is a member");
  net.insert(2, sized(2));
  EXPECT_EQ(net[3].as<Linear>()->in_features, 3);
  EXPECT_EQ(net.first->in_features, 1);
}

TEST(AnyList, MoveModulesWithoutRegisteringThemAgain) {
  Sequential net(sized(1), sized(2), sized(3));
  std::vector<std::string> registered;
  auto hook = register_module_module_registration_hook(
      [&](Module&, const std::string& name, const std::shared_ptr<Module>&) {
        registered.push_back(name);
        return nullptr;
      });
  net.pop(0);
  EXPECT_THAT(registered, IsEmpty());
  net.insert(0, sized(4));
  EXPECT_THAT(registered, ElementsAre("2"));
  hook.remove();
  EXPECT_THAT(sizes(net), ElementsAre(4, 2, 3));
}

TEST(AnyList, RefuseNullFromEverySide) {
  Sequential net(sized(1));
  expect_error<ValueError>([&] { net.register_module("0", std::shared_ptr<Linear>()); }, "null");
  ModuleList<> list(sized(1));
  expect_error<ValueError>([&] { list.add_module("1", std::shared_ptr<Linear>()); }, "null");
  EXPECT_EQ(net.size(), 1U);
  EXPECT_EQ(list.size(), 1U);
}

TEST(ModuleList, SlicesIntoModules) {
  const ModuleList<Linear> list(sized(1), sized(2), sized(3));
  const ModuleList<Linear> tail(list.slice(1));
  EXPECT_THAT(names(tail.named_children()), ElementsAre("0", "1"));
  EXPECT_EQ(&tail[0], &list[1]);
  std::int64_t sum = 0;
  for (const Linear& linear : list) sum += linear.in_features;
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(std::distance(list.begin(), list.end()), 3);
  EXPECT_EQ(list.begin()->in_features, 1);
}

TEST(ModuleList, OfOneClassHoldsNoOther) {
  ModuleList<Linear> list(sized(1));
  expect_error<TypeError>([&] { list.set_submodule("0", make<Identity>()); }, "a Identity",
                          "of class Linear");
  expect_error<TypeError>([&] { list.register_module("1", make<Identity>()); }, "a Identity");
  EXPECT_THAT(sizes(list), ElementsAre(1));
  ModuleDict<Linear> dict{{"a", sized(1)}};
  expect_error<TypeError>([&] { dict.set_submodule("a", make<Identity>()); }, "a Identity");
  expect_error<TypeError>([&] { dict.add_module("b", make<Identity>()); }, "a Identity");
  EXPECT_EQ(dict["a"].in_features, 1);
}

TEST(ModuleList, PrintsRunsOfEqualModulesAsOneLine) {
  const auto pair = [] { return make<Sequential>(make<Identity>(), make<Identity>()); };
  const ModuleList<> list(pair(), pair(), make<Flatten>(), make<Identity>());
  EXPECT_EQ(list.repr(),
            "ModuleList(\n"
            "  (0-1): 2 x Sequential(\n"
            "    (0): Identity()\n"
            "    (1): Identity()\n"
            "  )\n"
            "  (2): Flatten(start_dim=1, end_dim=-1)\n"
            "  (3): Identity()\n"
            ")");
  EXPECT_EQ(ModuleList<>().repr(), "ModuleList()");
  EXPECT_EQ(ModuleList<Linear>(sized(2)).repr(),
            "ModuleList(\n  (0): Linear(in_features=2, out_features=2, bias=True)\n)");
}

TEST(ModuleDict, HasModulesByNameInOrder) {
  ModuleDict<> dict{{"b", sized(1)}, {"a", make<Identity>()}};
  EXPECT_THAT(dict.keys(), ElementsAre("b", "a"));
  EXPECT_TRUE(dict.contains("a"));
  EXPECT_FALSE(dict.contains("c"));
  dict.set("b", sized(2));
  dict.set("c", sized(3));
  EXPECT_THAT(dict.keys(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(dict["b"].as<Linear>()->in_features, 2);
  EXPECT_EQ(dict.pop("b")->as<Linear>()->in_features, 2);
  EXPECT_THAT(dict.keys(), ElementsAre("a", "c"));
  EXPECT_EQ(dict.size(), 2U);
  const ModuleDict<> other{{"c", sized(8)}, {"d", sized(9)}};
  dict.update(other);
  EXPECT_THAT(dict.keys(), ElementsAre("a", "c", "d"));
  EXPECT_EQ(dict.share("c"), other.share("c"));
  dict.update(dict);
  EXPECT_EQ(dict.size(), 3U);
  dict.clear();
  EXPECT_EQ(dict.size(), 0U);
  EXPECT_EQ(dict.repr(), "ModuleDict()");
}

TEST(ModuleDict, TakesKeysAndNotPaths) {
  const ModuleDict<Sequential> dict{{"a", make<Sequential>(sized(1))}};
  expect_error<IndexError>([&] { dict["a.0"]; }, "ModuleDict has no attribute `a.0`");
  expect_error<IndexError>([&] { dict[""]; }, "ModuleDict has no attribute ``");
  expect_error<IndexError>([&] { dict.share("b"); }, "ModuleDict has no attribute `b`");
  ModuleDict<> any{{"a", make<Sequential>(sized(1))}};
  expect_error<IndexError>([&] { any.pop("a.0"); }, "no attribute `a.0`");
  expect_error<IndexError>([&] { any.pop("b"); }, "no attribute `b`");
  expect_error<ValueError>([&] { any.set("a.b", sized(1)); }, "can't contain \".\"");
  any.set("null", std::shared_ptr<Linear>());
  EXPECT_EQ(any.share("null"), nullptr);
  expect_error<IndexError>([&] { any["null"]; }, "`null` is not an nn.Module");
  EXPECT_THAT(any.repr(), HasSubstr("(null): None"));
}

TEST(ParameterList, HasParametersByNumber) {
  const Tensor own = make_parameter(ones({1}), false);
  ParameterList list({own, ones({2})});
  list.append(ones({3})).extend({ones({4}), ones({5})});
  EXPECT_THAT(names(list.named_parameters()), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_TRUE(list[0].is(own));
  EXPECT_TRUE(list[1].requires_grad());
  EXPECT_TRUE(list[-1].is_parameter());
  list.set(1, ones({9}));
  EXPECT_EQ(list[1].size(0), 9);
  EXPECT_EQ(list.pop().size(0), 5);
  EXPECT_TRUE(list.pop(0).is(own));
  EXPECT_THAT(names(list.state_dict()), ElementsAre("0", "1", "2"));
  EXPECT_EQ(list[0].size(0), 9);
  EXPECT_EQ(list[2].size(0), 4);
  expect_error<IndexError>([&] { list[3]; }, "index 3 is out of range: there are 3 entries");
  expect_error<IndexError>([&] { list.set(-4, ones({1})); }, "index -4");
  expect_error<DTypeError>([&] { list.append(tensor({1})); }, "floating point");
  EXPECT_EQ(list.size(), 3U);
}

TEST(ParameterDict, SaysOfParametersOnMetaThatTheyAre) {
  const ParameterDict dict{{"a", ones({2, 3}, {.device = "meta"})}};
  EXPECT_EQ(dict.repr(),
            "ParameterDict(  (a): Parameter containing: [torch.meta.FloatTensor of size 2x3])");
}

TEST(ParameterDict, HasParametersByNameInOrder) {
  ParameterDict dict{{"b", ones({1})}, {"a", ones({2})}};
  dict.set("b", ones({3}));
  dict.set("c", ones({4}));
  EXPECT_THAT(dict.keys(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(dict["b"].size(0), 3);
  EXPECT_TRUE(dict.contains("c"));
  EXPECT_EQ(dict.pop("b").size(0), 3);
  EXPECT_FALSE(dict.contains("b"));
  const ParameterDict other{{"c", ones({7})}, {"d", ones({8})}};
  dict.update(other);
  EXPECT_THAT(names(dict.named_parameters()), ElementsAre("a", "c", "d"));
  EXPECT_TRUE(dict["c"].is(other["c"]));
  expect_error<IndexError>([&] { dict["x"]; }, "ParameterDict has no attribute `x`");
  expect_error<IndexError>([&] { dict.pop("x"); }, "ParameterDict has no attribute `x`");
  expect_error<ValueError>([&] { dict.set("a.b", ones({1})); }, "can't contain \".\"");
  dict.clear();
  EXPECT_EQ(dict.size(), 0U);
  EXPECT_THAT(dict.parameters(), IsEmpty());
}

TEST(ParameterContainers, SayWhatIsInThem) {
  EXPECT_EQ(ParameterList().repr(), "ParameterList()");
  EXPECT_EQ(ParameterDict().repr(), "ParameterDict()");
  EXPECT_EQ(
      ParameterList({ones({2, 3}), tensor(1.0), ones({0}), ones({2}, {.dtype = bfloat16})}).repr(),
      "ParameterList(\n"
      "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
      "    (1): Parameter containing: [torch.float32 of size ]\n"
      "    (2): Parameter containing: [torch.float32 of size 0]\n"
      "    (3): Parameter containing: [torch.bfloat16 of size 2]\n"
      ")");
  const ParameterDict dict{{"a", ones({2, 3})},
                           {"b", tensor(1.0).to(float64)},
                           {"c", make_parameter(tensor({1, 2}), false)},
                           {"d", ones({1}, {.dtype = float16})}};
  EXPECT_EQ(dict.repr(),
            "ParameterDict(\n"
            "    (a): Parameter containing: [torch.FloatTensor of size 2x3]\n"
            "    (b): Parameter containing: [torch.DoubleTensor of size ]\n"
            "    (c): Parameter containing: [torch.LongTensor of size 2]\n"
            "    (d): Parameter containing: [torch.HalfTensor of size 1]\n"
            ")");
  // PyTorch prints one without a shape in a list, and throws for a dict.
  EXPECT_EQ(ParameterList({uninitialized_parameter()}).repr(),
            "ParameterList(  (0): Parameter containing: [torch.float32 of size 0])");
  EXPECT_EQ(ParameterDict({{"a", uninitialized_parameter()}}).repr(),
            "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 0])");
}

TEST(ParameterContainers, AreClonedWithTheirTies) {
  const auto list = make<ParameterList>(std::vector{ones({2})});
  list->append((*list)[0]);
  const auto copy = clone(*list);
  EXPECT_TRUE((*copy)[0].is((*copy)[1]));
  EXPECT_NE((*copy)[0].data_ptr(), (*list)[0].data_ptr());
  const auto dict = make<ParameterDict>();
  dict->set("z", ones({1}));
  dict->set("a", ones({1}));
  EXPECT_THAT(clone(*dict)->keys(), ElementsAre("z", "a"));
}

TEST(Sequential, AModuleThatIsReplacedWhileItRunsLivesUntilItIsThrough) {
  class Replaces final : public Layer {
   public:
    explicit Replaces(Sequential* owner) : owner_(owner) {}
    std::string name = "still here, and long enough to be on the heap";

   protected:
    Tensor forward(const Tensor& x) override {
      owner_->set(0, make<Identity>());
      EXPECT_EQ(name.substr(0, 10), "still here");
      return x + 1;
    }

   private:
    Sequential* owner_;
  };
  Sequential net;
  net.append(make<Replaces>(&net));
  EXPECT_EQ(net(zeros({1})).item<int>(), 1);
  EXPECT_EQ(net(zeros({1})).item<int>(), 0);
}

TEST(Containers, AreReachedThroughTheirChild) {
  class Net final : public Module {
   public:
    Child<ModuleList<Linear>> layers{this, "layers"};
    Child<Layer> first{this, "first", nullptr};
    Child<Linear> other{this, "other", 1, 2};
  };
  Net net;
  net.layers->append(make<Linear>(1, 1)).append(make<Linear>(1, 2));
  EXPECT_EQ(net.layers[1].out_features, 2);
  int n = 0;
  for (Linear& layer : net.layers) n += static_cast<int>(layer.out_features);
  EXPECT_EQ(n, 3);
  net.first = net.other;
  EXPECT_EQ(net.first.get(), net.other.get());
}

TEST(ParameterList, DoesNotLoseAnEntryAfterOneWasRemovedByName) {
  ParameterList list({ones({1}), ones({1}), ones({1})});
  list.remove("0");
  expect_error<ValueError>([&] { list.append(ones({1})); }, "\"2\"");
  EXPECT_EQ(list.size(), 2u);
}

TEST(Sequential, WithNamesIsMadeInPlace) {
  class Net final : public Module {
   public:
    Child<Sequential> head{this, "head", {{"fc", make<Linear>(1, 2)}, {"out", make<Identity>()}}};
  };
  Net net;
  EXPECT_EQ(net.named_parameters()[0].first, "head.fc.weight");
  EXPECT_EQ(make<Sequential>({{"a", make<Identity>()}})->named_children()[0].first, "a");
}

}  // namespace
}  // namespace tenon::nn
