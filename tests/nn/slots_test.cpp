// Slots: what may be put into a module under which name, and in which order it stays.
#include "tenon/nn/slots.h"

#include <optional>

#include "nn/names.h"
#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Plain : public Module {};

// Has every kind of slot, the middle ones without a value.
class Slots : public Module {
 public:
  Parameter a{this, "a", ones({2})};
  Parameter empty_a{this, "empty_a"};
  Parameter b{this, "b", ones({3})};
  Buffer c{this, "c", zeros({2})};
  Buffer empty_c{this, "empty_c"};
  Buffer d{this, "d", zeros({3}), {.persistent = false}};
  Child<Linear> e{this, "e", 2, 3};
  Child<Linear> f{this, "f", nullptr};
};

Tensor parameter(std::int64_t size = 1) { return make_parameter(ones({size})); }

TEST(Slots, AreListedInTheOrderOfDeclaration) {
  const Slots slots;
  EXPECT_THAT(names(slots.named_parameters()), ElementsAre("a", "b", "e.weight", "e.bias"));
  EXPECT_THAT(names(slots.named_buffers()), ElementsAre("c", "d"));
  EXPECT_THAT(names(slots.named_children()), ElementsAre("e"));
}

TEST(Slots, WithoutAValueAreNotThereAndOnesWithNullKeepTheirPlace) {
  Slots slots;
  EXPECT_FALSE(slots.empty_a.registered());
  EXPECT_FALSE(slots.empty_a.defined());
  EXPECT_EQ(message_of<IndexError>([&] { slots.get_parameter("empty_a"); }),
            "Slots has no attribute `empty_a`");
  slots.empty_a = Tensor();
  EXPECT_TRUE(slots.empty_a.registered());
  EXPECT_EQ(message_of<IndexError>([&] { slots.get_parameter("empty_a"); }),
            "`empty_a` is not an nn.Parameter");
  EXPECT_THAT(names(slots.named_parameters({.recurse = false})), ElementsAre("a", "b"));
  slots.empty_a = parameter();
  EXPECT_THAT(names(slots.named_parameters({.recurse = false})), ElementsAre("a", "empty_a", "b"));
  EXPECT_TRUE(slots.f.registered());
  EXPECT_FALSE(slots.f);
}

TEST(Slots, KeepTheirPlaceWhenTheyAreGivenSomethingElse) {
  Slots slots;
  slots.a = parameter(7);
  slots.c = ones({7});
  slots.register_parameter("a", parameter(8));
  slots.e = make<Linear>(7, 7);
  EXPECT_THAT(names(slots.state_dict()), ElementsAre("a", "b", "c", "e.weight", "e.bias"));
  EXPECT_EQ(slots.a->size(0), 8);
  EXPECT_EQ(slots.e->in_features, 7);
}

TEST(Slots, ThatWereRemovedComeLastWhenTheyAreBack) {
  Slots slots;
  slots.remove("a");
  EXPECT_FALSE(slots.a.registered());
  EXPECT_FALSE(slots.a.defined());
  slots.register_parameter("later", parameter());
  slots.a = parameter();
  EXPECT_THAT(names(slots.named_parameters({.recurse = false})), ElementsAre("b", "later", "a"));
  slots.remove("later");
  slots.register_parameter("later", parameter());
  EXPECT_THAT(names(slots.named_parameters({.recurse = false})), ElementsAre("b", "a", "later"));

  slots.remove("c");
  slots.register_buffer("x", zeros({1}));
  slots.c = zeros({1});
  EXPECT_THAT(names(slots.named_buffers()), ElementsAre("d", "x", "c"));
  slots.remove("e");
  EXPECT_FALSE(slots.e);
  slots.register_module("g", make<Identity>());
  slots.e = make<Linear>(1, 1);
  EXPECT_THAT(names(slots.named_children()), ElementsAre("g", "e"));
}

TEST(Slots, CannotRemoveWhatIsNotThere) {
  Slots slots;
  EXPECT_EQ(message_of<IndexError>([&] { slots.remove("empty_a"); }),
            "Slots object has no attribute 'empty_a'");
  EXPECT_EQ(message_of<IndexError>([&] { slots.remove("e.weight"); }),
            "Slots object has no attribute 'e.weight'");
}

TEST(Slots, ReadAsWhatIsInThem) {
  Slots slots;
  EXPECT_TRUE(equal(slots.a, ones({2})));
  EXPECT_EQ(slots.a->size(0), 2);
  EXPECT_TRUE((*slots.a).is(slots.a.get()));
  EXPECT_EQ(&slots.a.owner(), &slots);
  EXPECT_EQ(slots.a.name(), "a");
  EXPECT_EQ(slots.a.kind(), TensorSlot::Kind::parameter);
  EXPECT_TRUE(slots.a.persistent());
  EXPECT_FALSE(slots.d.persistent());
  EXPECT_EQ((*slots.e).out_features, 3);
  EXPECT_EQ(slots.e.share().get(), slots.e.get());
  EXPECT_EQ(&slots.e.owner(), &slots);
}

TEST(Slots, OfANullChildSayThatItIsNone) {
  const Slots slots;
  EXPECT_THAT(message_of<Error>([&] { slots.f->reset_parameters(); }),
              HasSubstr("the child 'f' of this Slots is None"));
  EXPECT_THAT(message_of<Error>([&] { slots.f(ones({2})); }), HasSubstr("'f'"));
}

TEST(Slots, ANameMustSaySomethingAndHaveNoDot) {
  Plain plain;
  EXPECT_THAT(message_of<ValueError>([&] { plain.register_parameter("", parameter()); }),
              HasSubstr("parameter name can't be empty string \"\""));
  EXPECT_THAT(message_of<ValueError>([&] { plain.register_buffer("", zeros({1})); }),
              HasSubstr("buffer name can't be empty string \"\""));
  EXPECT_THAT(message_of<ValueError>([&] { plain.register_module("", make<Plain>()); }),
              HasSubstr("module name can't be empty string \"\""));
  EXPECT_THAT(message_of<ValueError>([&] { plain.register_parameter("a.b", parameter()); }),
              HasSubstr("parameter name can't contain \".\", got: a.b"));
  EXPECT_THAT(message_of<ValueError>([&] { plain.register_buffer("a.b", zeros({1})); }),
              HasSubstr("buffer name can't contain \".\""));
  EXPECT_THAT(message_of<ValueError>([&] { plain.add_module("a.b", make<Plain>()); }),
              HasSubstr("module name can't contain \".\""));
  EXPECT_TRUE(plain.parameter_slots().empty());
  EXPECT_TRUE(plain.buffer_slots().empty());
  EXPECT_TRUE(plain.child_slots().empty());
}

TEST(Slots, ATakenNameIsRefused) {
  Slots slots;
  const auto taken = [&](const char* name, const char* by, auto f) {
    EXPECT_EQ(message_of<ValueError>(f), std::string("attribute '") + name +
                                             "' already exists: this Slots has a " + by +
                                             " of that name");
  };
  taken("a", "parameter", [&] { slots.register_buffer("a", zeros({1})); });
  taken("a", "parameter", [&] { slots.register_module("a", make<Plain>()); });
  taken("c", "buffer", [&] { slots.register_parameter("c", parameter()); });
  taken("c", "buffer", [&] { slots.register_module("c", make<Plain>()); });
  taken("e", "module", [&] { slots.register_parameter("e", parameter()); });
  taken("e", "module", [&] { slots.register_buffer("e", zeros({1})); });
  taken("f", "module", [&] { slots.register_buffer("f", {}); });  // null takes it too
  EXPECT_EQ(slots.parameter_slots().size(), 3U);
  EXPECT_EQ(slots.buffer_slots().size(), 3U);
  EXPECT_EQ(slots.child_slots().size(), 2U);
}

TEST(Slots, TwoMembersOfOneNameCannotBothHaveAValue) {
  class Twice : public Module {
   public:
    Parameter first{this, "same", ones({1})};
    Buffer second{this, "same"};
    Parameter third{this, "same"};
  };
  Twice twice;
  expect_error<ValueError>([&] { twice.second = ones({1}); }, "'same' already exists");
  expect_error<ValueError>([&] { twice.third = parameter(); }, "'same' already exists");
  twice.remove("same");
  twice.second = ones({1});
  EXPECT_THAT(names(twice.named_buffers()), ElementsAre("same"));
  EXPECT_THAT(twice.named_parameters(), IsEmpty());
}

TEST(Slots, AParameterSlotTakesParametersOnly) {
  Slots slots;
  const Tensor before = slots.a;
  EXPECT_THAT(message_of<TypeError>([&] { slots.a = ones({2}); }),
              HasSubstr("as parameter 'a' (torch.nn.Parameter or None expected)"));
  EXPECT_THAT(message_of<TypeError>([&] { slots.register_parameter("new", ones({2})); }),
              HasSubstr("as parameter 'new'"));
  EXPECT_TRUE(slots.a.get().is(before));
  EXPECT_EQ(slots.parameter_slots().size(), 3U);
  // The constructor makes one.
  EXPECT_TRUE(slots.a->is_parameter());
  EXPECT_TRUE(slots.a->requires_grad());
}

TEST(Slots, WhatWasCalculatedIsNoParameter) {
  Slots slots;
  const Tensor calculated = slots.b.get() * 2.0;
  EXPECT_FALSE(calculated.is_leaf());
  expect_error<TypeError>([&] { slots.a = calculated; }, "parameter 'a'");
  // Still a parameter, and no longer a leaf.
  const Tensor changed = parameter(3);
  {
    const NoGradScope no_grad;
    changed.requires_grad_(false);
  }
  changed.add_(slots.b.get());
  ASSERT_TRUE(changed.is_parameter());
  ASSERT_FALSE(changed.is_leaf());
  EXPECT_THAT(message_of<ValueError>([&] { slots.a = changed; }),
              HasSubstr("Cannot assign non-leaf Tensor to parameter 'a'"));
  EXPECT_EQ(slots.a->size(0), 2);
}

TEST(Slots, AssigningOneToAnotherTiesThem) {
  Slots one, two;
  two.a = one.a;
  EXPECT_TRUE(two.a.get().is(one.a));
  two.c = one.c;
  EXPECT_TRUE(two.c.get().is(one.c));
  two.e = one.e;
  EXPECT_EQ(two.e.get(), one.e.get());
  one.a = one.a;
  EXPECT_TRUE(two.a.get().is(one.a));
}

TEST(Slots, PersistenceChangesBothWaysWhenABufferIsRegisteredAgain) {
  Slots slots;
  slots.register_buffer("d", ones({1}));
  EXPECT_TRUE(slots.d.persistent());
  EXPECT_TRUE(slots.state_dict().contains("d"));
  slots.register_buffer("d", ones({1}), {.persistent = false});
  EXPECT_FALSE(slots.state_dict().contains("d"));
  slots.register_buffer("x", {}, {.persistent = false});
  EXPECT_FALSE(slots.get_buffer("x").defined());
  slots.d = Tensor();
  slots.d = ones({2});
  EXPECT_FALSE(slots.state_dict().contains("d"));
  EXPECT_THAT(names(slots.named_buffers()), ElementsAre("c", "d"));
}

TEST(Slots, AChildSlotTakesItsClassOnly) {
  class Wide : public Linear {
   public:
    Wide() : Linear(4, 4) {}
  };
  class Holder : public Module {
   public:
    Child<Linear> linear{this, "linear", 1, 1};
    Child<Layer> layer{this, "layer", make<Identity>()};
  };
  Holder holder;
  holder.linear = make<Wide>();
  EXPECT_EQ(holder.linear->in_features, 4);
  EXPECT_EQ(message_of<TypeError>([&] { holder.set_submodule("linear", make<Identity>()); }),
            "cannot assign a Identity as child module 'linear', which is a place for a Linear: "
            "declare it Child<Layer>, or Child<Module>, if it is to hold others");
  EXPECT_EQ(holder.linear->in_features, 4);
  holder.set_submodule("layer", make<Wide>());
  EXPECT_EQ(holder.layer->type_name(), "Wide");
  expect_error<TypeError>([&] { holder.register_module("layer", make<Plain>()); }, "a Plain");
}

TEST(Slots, ManyNamesAreFoundAndForgottenLikeFew) {
  Plain plain;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    plain.register_parameter("p" + number, parameter(i + 1));
    plain.register_buffer("b" + number, i % 2 == 0 ? zeros({i + 1}) : Tensor());
    plain.register_module("m" + number, make<Linear>(1, i + 1));
  }
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_EQ(plain.get_parameter("p" + number).size(0), i + 1);
    EXPECT_EQ(plain.get_buffer("b" + number).defined(), i % 2 == 0);
    EXPECT_EQ(plain.get_submodule("m" + number).as<Linear>()->out_features, i + 1);
    expect_error<ValueError>([&] { plain.register_buffer("p" + number, {}); }, "already exists");
    expect_error<ValueError>([&] { plain.register_module("b" + number, make<Plain>()); },
                             "already exists");
  }
  expect_error<IndexError>([&] { plain.get_parameter("p40"); }, "no attribute `p40`");
  for (int i = 0; i < 40; ++i) {
    plain.remove("p" + std::to_string(i));
    plain.remove("b" + std::to_string(i));
    plain.remove("m" + std::to_string(i));
  }
  expect_error<IndexError>([&] { plain.get_submodule("m7"); }, "no attribute `m7`");
  plain.register_module("p7", make<Linear>(1, 3));
  plain.register_parameter("m7", parameter());
  EXPECT_THAT(names(plain.named_parameters()), ElementsAre("m7", "p7.weight", "p7.bias"));
}

TEST(Slots, ManyMembersAreFoundAsSlotsComeAndGo) {
  class Many : public Module {
   public:
    Many() {
      for (int i = 0; i < 30; ++i) more.emplace(this, "x", ones({1})), more.reset();
      for (int i = 0; i < 20; ++i) register_buffer("b" + std::to_string(i), zeros({1}));
    }
    std::optional<Parameter> more;
    Parameter last{this, "last", ones({1})};
  };
  Many many;
  EXPECT_THAT(names(many.named_parameters()), ElementsAre("last"));
  many.more.emplace(&many, "x", ones({1}));
  EXPECT_TRUE(many.get_parameter("x").is(*many.more));
  many.more.reset();
  expect_error<IndexError>([&] { many.get_parameter("x"); }, "no attribute `x`");
}

TEST(Slots, AConstructorThatThrowsLeavesNothingBehind) {
  class Failing : public Module {
   public:
    Failing(std::shared_ptr<Linear> shared, bool fails) : child(this, "child", std::move(shared)) {
      register_buffer("dynamic", zeros({1}));
      register_module("sub", make<Plain>());
      if (fails) throw ValueError("no");
    }
    Parameter weight{this, "weight", ones({1})};
    Child<Linear> child;
  };
  const auto shared = make<Linear>(1, 1);
  expect_error<ValueError>([&] { Failing(shared, true); }, "no");
  EXPECT_EQ(shared.use_count(), 1);

  Plain owner;
  {
    // A slot whose value is refused takes itself out again.
    expect_error<ValueError>([&] { Parameter(&owner, "a.b", ones({1})); }, "can't contain");
    expect_error<DTypeError>([&] { Parameter(&owner, "a", tensor({1, 2})); }, "floating point");
    expect_error<ValueError>([&] { Child<Linear>(&owner, "", 1, 1); }, "empty");
    expect_error<ShapeError>([&] { Embedding(2, 2, {.weight = ones({1})}); }, "Shape of weight");
  }
  EXPECT_TRUE(owner.parameter_slots().empty());
  EXPECT_TRUE(owner.child_slots().empty());
}

TEST(RegistrationHooks, SeeEveryKindAndMayReplaceIt) {
  std::vector<std::string> seen;
  const auto note = [&](Module& module, const std::string& name, const char* kind) {
    seen.push_back(module.type_name() + "." + name + " " + kind);
  };
  auto parameters = register_module_parameter_registration_hook(
      [&](Module& module, const std::string& name, const Tensor& value) {
        note(module, name, "parameter");
        return name == "p" ? make_parameter(value.detach() + 1.0) : Tensor();
      });
  auto buffers = register_module_buffer_registration_hook(
      [&](Module& module, const std::string& name, const Tensor& value) {
        note(module, name, "buffer");
        return value + 2.0;
      });
  auto modules = register_module_module_registration_hook(
      [&](Module& module, const std::string& name, const std::shared_ptr<Module>&) {
        note(module, name, "module");
        return name == "m" ? make<Dropout>(0.25) : nullptr;
      });
  Plain plain;
  plain.register_parameter("p", make_parameter(zeros({1})));
  plain.register_parameter("q", make_parameter(zeros({1})));
  plain.register_parameter("null", {});
  plain.register_buffer("b", zeros({1}));
  plain.register_module("m", make<Identity>());
  plain.register_module("n", make<Identity>());
  EXPECT_THAT(seen, ElementsAre("Plain.p parameter", "Plain.q parameter", "Plain.b buffer",
                                "Plain.m module", "Plain.n module"));
  EXPECT_EQ(plain.get_parameter("p").item<double>(), 1);
  EXPECT_EQ(plain.get_parameter("q").item<double>(), 0);
  EXPECT_EQ(plain.get_buffer("b").item<double>(), 2);
  EXPECT_EQ(plain.get_submodule("m").type_name(), "Dropout");
  EXPECT_EQ(plain.get_submodule("n").type_name(), "Identity");
  parameters.remove();
  buffers.remove();
  modules.remove();
  modules.remove();
  Linear linear(2, 2);
  linear.register_buffer("b", zeros({1}));
  EXPECT_EQ(linear.get_buffer("b").item<double>(), 0);
  EXPECT_EQ(seen.size(), 5U);
}

TEST(RegistrationHooks, MustGiveWhatTheSlotTakes) {
  auto parameters = register_module_parameter_registration_hook(
      [](Module&, const std::string&, const Tensor& value) { return value.detach(); });
  Plain plain;
  expect_error<TypeError>([&] { plain.register_parameter("p", parameter()); }, "plain tensor",
                          "'p'");
  parameters.remove();
  auto modules = register_module_module_registration_hook(
      [](Module&, const std::string&, const std::shared_ptr<Module>&) -> std::shared_ptr<Module> {
        return make<Identity>();
      });
  Slots* none = nullptr;
  expect_error<TypeError>([&] { none = new Slots; }, "a Identity", "'e'");
  modules.remove();
  EXPECT_EQ(none, nullptr);
  EXPECT_TRUE(plain.parameter_slots().empty());
}

TEST(RegistrationHooks, RunOnceForEachAndMayFail) {
  int calls = 0;
  auto first = register_module_buffer_registration_hook(
      [&](Module&, const std::string&, const Tensor&) -> Tensor {
        ++calls;
        return {};
      });
  auto second = register_module_buffer_registration_hook(
      [&](Module&, const std::string&, const Tensor&) -> Tensor { throw Error("not this one"); });
  Slots* none = nullptr;
  expect_error<Error>([&] { none = new Slots; }, "not this one");
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(calls, 1);
  second.remove();
  const Slots slots;
  EXPECT_EQ(calls, 3);
  first.remove();
}

TEST(Slots, MayOutliveTheModuleTheyWereGiven) {
  auto layer = make<Linear>(2, 2);
  Parameter extra{layer.get(), "extra", ones({2})};
  EXPECT_EQ(layer->parameters().size(), 3u);
  layer.reset();
  EXPECT_EQ(extra->size(0), 2);
}

TEST(Slots, AreUsedAsTensors) {
  const Linear layer(2, 1, {.bias = false});
  EXPECT_TRUE(layer.weight);
  EXPECT_FALSE(layer.bias);
  EXPECT_EQ(layer.weight[0].shape(), Shape({2}));
  EXPECT_TRUE(equal(layer.weight * 2, layer.weight.get() + *layer.weight));
  EXPECT_TRUE(equal(exp(layer.weight), layer.weight->exp()));
}

}  // namespace
}  // namespace tenon::nn
