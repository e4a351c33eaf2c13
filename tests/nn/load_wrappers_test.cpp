// User-defined tensors in loads and in files.
#include <optional>

#include "support/matchers.h"
#include "support/modules.h"
#include "support/temp_dir.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the classes below do wrong, if anything: the number of the call that fails, from 1 on.
struct Faults {
  int copy = 0, load = 0;
  int copies = 0, loads = 0;
  bool returns_dest = false, returns_src = false;
} faults;

class FirstTensor;
class OtherTensor;
class DerivedTensor;

Tensor payload_of(const Tensor& tensor);
std::string class_of(const Tensor& tensor) { return tensor.body().type_name(); }
Tensor of_class(const std::string& name, const Tensor& payload);

// The class of the side that decides, over the other's numbers.
std::optional<Tensor> loaded(const Tensor& dest, const Tensor& src, bool assign) {
  if (++faults.loads == faults.load) throw Error("load failed");
  if (faults.returns_dest) return dest;
  if (faults.returns_src) return src;
  return of_class(class_of(assign ? src : dest),
                  assign ? payload_of(src).detach()
                         : payload_of(src).to({.dtype = dest.dtype(), .copy = true}));
}
std::optional<Value> dispatched(const OpCall& call, const std::string& name) {
  if (call.is<op::copy_>()) {
    if (++faults.copies == faults.copy) throw Error("copy failed");
    call.call_with(payload_of);
    return Value(call.tensors()[0]);
  }
  if (call.is_any<op::detach, op::to_copy>())
    return of_class(name, call.call_with(payload_of).as_tensor());
  return std::nullopt;
}

// What FirstTensor and OtherTensor have in common, which is all but their class.
template <class Self>
class Holder : public Wrapper<Self> {
 public:
  explicit Holder(Tensor payload) : Wrapper<Self>(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    return dispatched(call, this->type_name());
  }
  std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                    bool assign) const override {
    return loaded(dest, src, assign);
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
};
class FirstTensor : public Holder<FirstTensor> {
 public:
  using Holder::Holder;
};
class OtherTensor final : public Holder<OtherTensor> {
 public:
  using Holder::Holder;
};
class DerivedTensor final : public Wrapper<DerivedTensor, FirstTensor> {
 public:
  explicit DerivedTensor(const Tensor& payload) : Wrapper(payload) {}
};
// Loads as plain tensors do: by its own copy_.
class CopiedTensor final : public Wrapper<CopiedTensor> {
 public:
  explicit CopiedTensor(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    return dispatched(call, type_name());
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
};

Tensor payload_of(const Tensor& tensor) {
  if (const auto* first = tensor.as<FirstTensor>()) return first->elem;
  if (const auto* other = tensor.as<OtherTensor>()) return other->elem;
  if (const auto* copied = tensor.as<CopiedTensor>()) return copied->elem;
  return tensor;
}
Tensor of_class(const std::string& name, const Tensor& payload) {
  if (name == "FirstTensor") return make_tensor<FirstTensor>(payload);
  if (name == "OtherTensor") return make_tensor<OtherTensor>(payload);
  if (name == "DerivedTensor") return make_tensor<DerivedTensor>(payload);
  if (name == "CopiedTensor") return make_tensor<CopiedTensor>(payload);
  return payload.detach();
}

// A payload and a factor, which takes plain tensors for its payload and can be taken apart.
class ScaledForLoad final : public Wrapper<ScaledForLoad> {
 public:
  ScaledForLoad(Tensor payload, double factor)
      : Wrapper(payload), elem(std::move(payload)), scale(factor) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (!call.is_any<op::detach, op::to_copy>()) return std::nullopt;
    const auto unwrap = [](const Tensor& t) {
      const auto* scaled = t.as<ScaledForLoad>();
      return scaled != nullptr ? scaled->elem : t;
    };
    return make_tensor<ScaledForLoad>(call.call_with(unwrap).as_tensor(), scale);
  }
  std::optional<Tensor> module_load(const Tensor&, const Tensor& src, bool assign) const override {
    if (!assign) return std::nullopt;
    const auto* scaled = src.as<ScaledForLoad>();
    return scaled != nullptr ? src.detach() : make_tensor<ScaledForLoad>(src.detach(), scale);
  }
  std::optional<Flattened> flatten() const override { return Flattened{{{"elem", elem}}, scale}; }
  Tensor elem;
  double scale;
};

class Pair : public Module {
 public:
  Pair(const std::string& name, double value) {
    a = make_parameter(of_class(name, full({2}, value)));
    b = make_parameter(of_class(name, full({2}, value)));
    plain = make_parameter(full({2}, value));
    buffer = of_class(name, full({2}, value));
  }
  Parameter a{this, "a"};
  Parameter b{this, "b"};
  Parameter plain{this, "plain"};
  Buffer buffer{this, "buffer"};
};

class LoadWrappers : public testing::Test {
 protected:
  void SetUp() override { faults = {}; }
  // The numbers of a load that fails.
  static LoadError failure_of(Module& module, const StateDict& state,
                              const LoadStateDictOptions& options = {}) {
    try {
      module.load_state_dict(state, options);
    } catch (const LoadError& error) {
      return error;
    }
    ADD_FAILURE() << "no exception";
    return {"", {}};
  }
};

TEST_F(LoadWrappers, BySwapHaveTheClassOfTheDictIfAssignedElseOfTheModule) {
  const SwapOnConversionScope swap;
  const std::vector<std::string> classes = {"Tensor", "FirstTensor", "OtherTensor",
                                            "DerivedTensor"};
  for (const bool assign : {false, true}) {
    for (const std::string& own : classes) {
      for (const std::string& incoming : classes) {
        SCOPED_TRACE(own + " from " + incoming + (assign ? " assigned" : ""));
        Pair net(own, 0), from(incoming, 3);
        const Tensor a = net.a, buffer = net.buffer;
        EXPECT_TRUE(net.load_state_dict(from.state_dict(), {.assign = assign}).empty());
        EXPECT_TRUE(a.is(net.a));
        EXPECT_TRUE(buffer.is(net.buffer));
        EXPECT_EQ(class_of(a), assign ? incoming : own);
        EXPECT_EQ(class_of(buffer), assign ? incoming : own);
        EXPECT_TRUE(a.is_parameter());
        EXPECT_TRUE(a.requires_grad());
        EXPECT_FALSE(buffer.is_parameter());
        EXPECT_TRUE(equal(payload_of(a).detach(), full({2}, 3.0)));
        EXPECT_TRUE(equal(payload_of(buffer), full({2}, 3.0)));
        EXPECT_EQ(payload_of(a).data_ptr() == payload_of(from.a).data_ptr(), assign);
      }
    }
  }
}

TEST_F(LoadWrappers, WithoutSwapAreCopiedIntoOrTakenOver) {
  for (const std::string incoming : {"Tensor", "FirstTensor"}) {
    Pair net("FirstTensor", 0), from(incoming, 3);
    const Tensor a = net.a;
    const void* data = payload_of(a).data_ptr();
    EXPECT_TRUE(net.load_state_dict(from.state_dict()).empty());
    EXPECT_TRUE(a.is(net.a));
    EXPECT_EQ(class_of(a), "FirstTensor");
    EXPECT_EQ(payload_of(a).data_ptr(), data);
    EXPECT_TRUE(equal(payload_of(a), full({2}, 3.0)));
    EXPECT_TRUE(net.load_state_dict(from.state_dict(), {.assign = true}).empty());
    EXPECT_FALSE(a.is(net.a));
    EXPECT_EQ(class_of(net.a), incoming);
    EXPECT_TRUE(net.a->is_parameter());
    EXPECT_TRUE(net.a->requires_grad());
    EXPECT_EQ(payload_of(net.a).data_ptr(), payload_of(from.a).data_ptr());
  }
  EXPECT_EQ(faults.loads, 0);  // nobody is asked when nothing is swapped
}

TEST_F(LoadWrappers, MustNotLoadAsOneOfTheTwoTensorsThemselves) {
  const SwapOnConversionScope swap;
  Pair net("FirstTensor", 0), from("Tensor", 3);
  const Snapshot before(net);
  for (const bool dest : {true, false}) {
    faults = {.returns_dest = dest, .returns_src = !dest};
    const LoadError error = failure_of(net, from.state_dict(), {.assign = true});
    EXPECT_EQ(error.errors().size(), 3U);
    EXPECT_EQ(error.errors()[0],
              "While swapping the parameter named \"a\", whose dimensions in the model are "
              "torch.Size([2]) and whose dimensions in the checkpoint are torch.Size([2]), an "
              "exception occurred : ('module_load returned one of self or other, please .detach() "
              "the result if returning one of the inputs in module_load',).");
    before.expect_the_same();
  }
}

TEST_F(LoadWrappers, ThatFailToLoadLeaveTheEarlierOnesUntouched) {
  const SwapOnConversionScope swap;
  for (const bool assign : {false, true}) {
    Pair net("FirstTensor", 0), from("FirstTensor", 3);
    faults = {.load = 2};
    const Snapshot before(net);
    const LoadError error = failure_of(net, from.state_dict(), {.assign = assign});
    EXPECT_THAT(error.what(), HasSubstr("While swapping the parameter named \"b\""));
    EXPECT_THAT(error.what(), HasSubstr("an exception occurred : ('load failed',)."));
    EXPECT_FALSE(error.torn());
    before.expect_the_same();
  }
}

TEST_F(LoadWrappers, ThatLoadByTheirOwnCopySayWhatItHasWrittenWhenALaterOneFails) {
  const SwapOnConversionScope swap;
  Pair net("CopiedTensor", 0), from("CopiedTensor", 3);
  faults = {.copy = 2};
  const LoadError error = failure_of(net, from.state_dict());
  EXPECT_THAT(error.errors(), ElementsAre(HasSubstr("\"b\"")));
  EXPECT_TRUE(error.torn());
  EXPECT_THAT(error.written(), ElementsAre("a"));
  EXPECT_TRUE(equal(payload_of(net.buffer), full({2}, 0.0)));
  EXPECT_TRUE(equal(net.plain->detach(), full({2}, 0.0)));
  faults = {.copy = 1};
  Pair second("CopiedTensor", 0);
  const Snapshot before(second);
  EXPECT_FALSE(failure_of(second, from.state_dict()).torn());
  before.expect_the_same();
}

TEST_F(LoadWrappers, WhoseFirstCopyFailsLeaveEverythingUntouched) {
  Pair net("FirstTensor", 0), from("FirstTensor", 3);
  faults = {.copy = 1};
  const Snapshot before(net);
  const LoadError error = failure_of(net, from.state_dict());
  EXPECT_THAT(error.errors(),
              ElementsAre("While copying the parameter named \"a\", whose dimensions in the model "
                          "are torch.Size([2]) and whose dimensions in the checkpoint are "
                          "torch.Size([2]), an exception occurred : ('copy failed',)."));
  EXPECT_FALSE(error.torn());
  before.expect_the_same();
}

TEST_F(LoadWrappers, WhoseLaterCopyFailsAreTornAndListed) {
  Pair net("FirstTensor", 0), from("FirstTensor", 3);
  faults = {.copy = 2};
  const LoadError error = failure_of(net, from.state_dict());
  EXPECT_TRUE(error.torn());
  EXPECT_THAT(error.written(), ElementsAre("a"));
  EXPECT_THAT(error.what(), HasSubstr("The load is torn: 1 tensor had been written before this, "
                                      "the first being \"a\""));
  EXPECT_TRUE(equal(net.plain->detach(), full({2}, 0.0)));
  faults = {};
  EXPECT_TRUE(net.load_state_dict(from.state_dict()).empty());
}

class WithState final : public Pair {
 public:
  WithState() : Pair("FirstTensor", 0) {}
  Value state = 1;
  std::optional<Value> get_extra_state() const override { return state; }
  void set_extra_state(const Value& value) override { state = value; }
};

TEST_F(LoadWrappers, WhoseCopyFailsTakeBackTheExtraState) {
  WithState net;
  StateDict state = copied(Pair("Tensor", 3).state_dict());
  state.set("_extra_state", 2);
  faults = {.copy = 1};
  const Snapshot before(net);
  EXPECT_FALSE(failure_of(net, state).torn());
  before.expect_the_same();
}

// The recipe of a quantised weight: a skeleton on meta takes a checkpoint's tensor for its payload.
TEST_F(LoadWrappers, OnMetaAreFilledFromAPlainCheckpointWithoutACopy) {
  const SwapOnConversionScope swap;
  const auto skeleton = with_device(Device::meta(), [] { return make<Linear>(2, 3); });
  skeleton->weight = make_parameter(make_tensor<ScaledForLoad>(skeleton->weight->detach(), 0.5));
  const Tensor weight = skeleton->weight, bias = skeleton->bias;
  const StateDict state = state_of({{"weight", ones({3, 2})}, {"bias", full({3}, 2.0)}});
  EXPECT_TRUE(skeleton->load_state_dict(state, {.assign = true}).empty());
  EXPECT_TRUE(weight.is(skeleton->weight));
  EXPECT_TRUE(bias.is(skeleton->bias));
  ASSERT_NE(weight.as<ScaledForLoad>(), nullptr);
  EXPECT_EQ(weight.as<ScaledForLoad>()->elem.data_ptr(), state.tensor("weight").data_ptr());
  EXPECT_EQ(bias.data_ptr(), state.tensor("bias").data_ptr());
  EXPECT_TRUE(weight.is_parameter() && weight.requires_grad());
  EXPECT_TRUE(weight.device().is_cpu());
}

TEST_F(LoadWrappers, GoThroughAFileWithTheirModule) {
  static const bool registered = [] {
    register_unflatten("ScaledForLoad", [](const Flattened& parts, const Layout&) {
      return make_tensor<ScaledForLoad>(parts.tensors.at(0).second, parts.context.as_real());
    });
    return true;
  }();
  EXPECT_TRUE(registered);
  const TempDir folder;
  Linear from(2, 3);
  from.weight = make_parameter(make_tensor<ScaledForLoad>(arange(6.0).view({3, 2}), 0.25));
  for (const std::string name : {"m.pth", "m.safetensors"}) {
    save(from.state_dict(), folder.file(name));
    for (const bool swaps : {false, true}) {
      const SwapOnConversionScope swap(swaps);
      Linear net(2, 3);
      const StateDict state = load(folder.file(name));
      EXPECT_TRUE(net.load_state_dict(state, {.assign = true}).empty()) << name;
      const auto* scaled = net.weight->as<ScaledForLoad>();
      ASSERT_NE(scaled, nullptr) << name << swaps;
      EXPECT_EQ(scaled->scale, 0.25);
      EXPECT_TRUE(equal(scaled->elem, arange(6.0).view({3, 2})));
      EXPECT_TRUE(net.weight->is_parameter());
      EXPECT_TRUE(equal(net.bias->detach(), from.bias->detach()));
    }
  }
}

}  // namespace
}  // namespace tenon::nn
