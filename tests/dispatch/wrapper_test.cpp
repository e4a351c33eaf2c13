// User-defined tensors: what they look like from outside, who is asked, and what becomes of
// answers.
#include "tenon/extend/wrapper.h"

#include <cstdlib>
#include <memory>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

// Answers every operator with its own name, or with nothing if told to.
std::vector<std::string> asked;
bool answers = true;

template <class Self, class Parent>
class Named : public Wrapper<Self, Parent> {
 public:
  explicit Named(const Tensor& like) : Wrapper<Self, Parent>(like) {}
  std::optional<Value> dispatch(const OpCall&) const override {
    asked.push_back(this->type_name());
    return answers ? std::optional<Value>(ones({1})) : std::nullopt;
  }
};
class First final : public Named<First, WrapperBody> {
  using Named::Named;
};
class Second : public Named<Second, WrapperBody> {
  using Named::Named;

 public:
  explicit Second(const Tensor& like) : Named(like) {}
};
class DerivedFromSecond final : public Wrapper<DerivedFromSecond, Second> {
 public:
  explicit DerivedFromSecond(const Tensor& like) : Wrapper(like) {}
};

class Precedence : public testing::Test {
 protected:
  void SetUp() override {
    asked.clear();
    answers = true;
  }
  void TearDown() override { answers = true; }
  Tensor plain = ones({2}), first = make_tensor<First>(plain), second = make_tensor<Second>(plain),
         derived = make_tensor<DerivedFromSecond>(plain);
};

TEST_F(Precedence, TheFirstArgumentIsAskedFirst) {
  cat({plain, second, first, second});
  EXPECT_THAT(asked, testing::ElementsAre("Second"));
}

TEST_F(Precedence, ADerivedClassIsAskedBeforeItsBase) {
  cat({first, second, derived});
  EXPECT_THAT(asked, testing::ElementsAre("First"));
  asked.clear();
  answers = false;
  expect_error<NotImplementedError>([&] { cat({second, first, derived}); }, "'cat'");
  EXPECT_THAT(asked, testing::ElementsAre("DerivedFromSecond", "Second", "First"));
}

TEST_F(Precedence, EveryClassIsAskedOnce) {
  answers = false;
  expect_error<NotImplementedError>([&] { stack({first, second, first, second}); }, "stack");
  EXPECT_THAT(asked, testing::ElementsAre("First", "Second"));
}

TEST_F(Precedence, NobodyAnsweringNamesTheOperatorAndTheTypes) {
  answers = false;
  expect_error<NotImplementedError>([&] { first.copy_(plain); }, "'copy_'", "[First, Tensor]");
  expect_error<NotImplementedError>([&] { cat({plain, derived}); }, "'cat'",
                                    "[Tensor, DerivedFromSecond]");
}

TEST_F(Precedence, AnOperatorThatThrowsLetsItsExceptionOut) {
  class Thrower final : public Wrapper<Thrower> {
   public:
    explicit Thrower(const Tensor& like) : Wrapper(like) {}
    std::optional<Value> dispatch(const OpCall&) const override { throw ValueError("mine"); }
  };
  expect_error<ValueError>([&] { make_tensor<Thrower>(plain).clone(); }, "mine");
}

// From outside.

class Bare final : public Wrapper<Bare> {
 public:
  explicit Bare(const Tensor& like) : Wrapper(like) {}
  explicit Bare(Layout layout) : Wrapper(std::move(layout)) {}
};

TEST(WrapperTensor, HasNoMemoryHoweverLargeItIs) {
  const std::int64_t before = memory_allocated();
  const Tensor t =
      make_tensor<Bare>(Layout::packed({1'000'000, 1'000'000}, float64, Device::cpu()));
  EXPECT_EQ(t.numel(), 1'000'000'000'000);
  EXPECT_EQ(t.storage().nbytes(), 8'000'000'000'000U);
  EXPECT_EQ(t.storage().data(), nullptr);
  EXPECT_EQ(t.data_ptr(), nullptr);
  EXPECT_EQ(memory_allocated(), before);
  expect_error<Error>([&] { t.data<double>(); }, "Bare", "no data of its own");
}

TEST(WrapperTensor, TakesOverTheMetadataOfAStridedTensor) {
  const Tensor diagonal = zeros({4, 4}, {.dtype = float64}).diagonal(1);
  const Tensor t = make_tensor<Bare>(diagonal);
  EXPECT_EQ(t.shape(), diagonal.shape());
  EXPECT_EQ(t.stride(), diagonal.stride());
  EXPECT_EQ(t.storage_offset(), diagonal.storage_offset());
  EXPECT_EQ(t.dtype(), float64);
  EXPECT_FALSE(t.requires_grad());
  EXPECT_TRUE(make_tensor<Bare>(empty({2}, {.device = "meta"})).is_meta());
}

TEST(WrapperTensor, AnImpossibleLayoutIsRefused) {
  expect_error<ShapeError>([] { make_tensor<Bare>(Layout::packed({-1}, float32, {})); },
                           "negative");
}

TEST(WrapperTensor, IsFoundByItsClassAndItsBases) {
  const Tensor t = make_tensor<DerivedFromSecond>(ones({1}));
  EXPECT_NE(t.as<DerivedFromSecond>(), nullptr);
  EXPECT_NE(t.as<Second>(), nullptr);
  EXPECT_EQ(t.as<First>(), nullptr);
  EXPECT_EQ(ones({1}).as<Second>(), nullptr);
  EXPECT_EQ(Tensor().as<Second>(), nullptr);
  EXPECT_EQ(t.body().type_name(), "DerivedFromSecond");
}

// What handlers see.

TEST(WrapperDispatch, SeesTheArgumentsWithTheirTypes) {
  class Looker final : public Wrapper<Looker> {
   public:
    Looker(const Tensor& like, std::string& seen) : Wrapper(like), seen_(seen) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      if (auto args = call.as<op::slice>()) {
        const auto& [self, dim, start, end, step] = *args;
        seen_ = "slice " + std::to_string(dim) + " " + std::to_string(start.value_or(-99)) + " " +
                std::to_string(end.value_or(-99)) + " " + std::to_string(step) + " " +
                self.body().type_name();
      }
      EXPECT_EQ(call.as<op::select>(), nullptr);
      EXPECT_FALSE(call.is<op::view>());
      EXPECT_EQ(call.tensors().size(), 1U);
      EXPECT_THAT(call.types(), testing::ElementsAre("Looker"));
      EXPECT_EQ(call.op().kind(), OpKind::view);
      return ones({1});
    }

   private:
    std::string& seen_;
  };
  std::string seen;
  make_tensor<Looker>(ones({4, 4}), seen).slice(1, 2, std::nullopt, 2);
  EXPECT_EQ(seen, "slice 1 2 -99 2 Looker");
}

TEST(WrapperDispatch, ConversionsPassOnOnlyWhatWasAsked) {
  // An int8 payload under a float32 face must stay int8 when the tensor moves.
  class Quantized final : public Wrapper<Quantized> {
   public:
    Quantized(const Tensor& face, Tensor codes) : Wrapper(face), codes(std::move(codes)) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      if (!call.is<op::to_copy>()) return std::nullopt;
      const Tensor moved = call.call_with([&](const Tensor&) { return codes; }).as_tensor();
      return make_tensor<Quantized>(empty(moved.shape(), {.device = moved.device()}), moved);
    }
    Tensor codes;
  };
  const Tensor t = make_tensor<Quantized>(ones({2}), zeros({2}, {.dtype = int8}));
  EXPECT_EQ(t.to(Device::meta()).as<Quantized>()->codes.dtype(), int8);
}

TEST(WrapperDispatch, ConversionsThatChangeNothingDoNotAsk) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(ones({2}), log);
  EXPECT_TRUE(t.to(float32).is(t));
  EXPECT_TRUE(t.cpu().is(t));
  EXPECT_TRUE(log.empty());
  t.detach();
  EXPECT_THAT(log, testing::ElementsAre("detach"));
}

TEST(WrapperDispatch, MetadataDoesNotAsk) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(ones({2}), log);
  t.shape();
  t.dtype();
  t.device();
  t.stride();
  t.requires_grad();
  t.repr();
  EXPECT_TRUE(log.empty());
}

TEST(WrapperDispatch, CompositesAreAskedFirstAndThenTheirParts) {
  class OnlyParts final : public Wrapper<OnlyParts> {
   public:
    OnlyParts(const Tensor& like, std::vector<std::string>& log) : Wrapper(like), log_(log) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      log_.emplace_back(call.name());
      if (call.op().kind() == OpKind::composite) return std::nullopt;
      return ones({1});
    }

   private:
    std::vector<std::string>& log_;
  };
  std::vector<std::string> log;
  const Tensor t = make_tensor<OnlyParts>(ones({4}), log);
  t.narrow(0, 1, 2);
  t.flatten();
  EXPECT_THAT(log, testing::ElementsAre("narrow", "slice",
                                        "flatten"));  // flatten of one dimension is itself
}

TEST(WrapperDispatch, RunsWithoutRecordingAndItsResultIsRecorded) {
  class Payload final : public Wrapper<Payload> {
   public:
    explicit Payload(Tensor inside) : Wrapper(inside), elem(std::move(inside)) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      EXPECT_FALSE(is_grad_enabled());
      return call.call_with(
          [](const Tensor& t) { return t.as<Payload>() != nullptr ? t.as<Payload>()->elem : t; });
    }
    Tensor elem;
  };
  const Tensor inside = ones({2}).requires_grad_();
  const Tensor t = make_tensor<Payload>(inside);
  EXPECT_FALSE(t.requires_grad());  // that of the payload is its own business
  EXPECT_FALSE(t.clone().requires_grad());
  t.requires_grad_();
  const Tensor y = t.clone();
  EXPECT_EQ(y.grad_fn()->name(), "CloneBackward0");
  EXPECT_EQ(y.as<Payload>(), nullptr);
  EXPECT_EQ(inside.grad_fn(), nullptr);
}

TEST(WrapperDispatch, AResultSomebodyElseHasIsAliasedBeforeItGetsAHistory) {
  class ReturnsPayload final : public Wrapper<ReturnsPayload> {
   public:
    explicit ReturnsPayload(Tensor inside) : Wrapper(inside), elem(std::move(inside)) {}
    std::optional<Value> dispatch(const OpCall&) const override { return elem; }
    Tensor elem;
  };
  const Tensor inside = ones({2}), t = make_tensor<ReturnsPayload>(inside).requires_grad_();
  const Tensor y = t.clone();
  EXPECT_FALSE(y.is(inside));
  EXPECT_EQ(y.data_ptr(), inside.data_ptr());
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(inside.requires_grad());
  EXPECT_TRUE(make_tensor<ReturnsPayload>(inside).clone().is(inside));
}

TEST(WrapperDispatch, InPlaceReturnsTheOuterTensorWhateverTheHandlerDoes) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(ones({2}), log);
  EXPECT_TRUE(t.fill_(3).is(t));
  EXPECT_EQ(t.as<LoggingTensor>()->elem.select(0, 0).item<float>(), 3.0f);
  EXPECT_EQ(t.version(), 1);
}

TEST(WrapperDispatch, ViewsOfItPinIt) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(arange(4.0), log);
  {
    const Tensor view = t.view({2, 2});
    EXPECT_TRUE(view.base().is(t));
    expect_error<SwapError>([&] { swap_tensors(t, ones({1})); }, "1 live view");
    const auto pieces = t.split(2);
    EXPECT_TRUE(pieces[1].base().is(t));
  }
  const Tensor detached = t.detach();
  EXPECT_FALSE(detached.is_view());
  swap_tensors(t, ones({1}));
}

TEST(WrapperDispatch, AnswersOfTheWrongTypeAreNamed) {
  class Wrong final : public Wrapper<Wrong> {
   public:
    explicit Wrong(const Tensor& like) : Wrapper(like) {}
    std::optional<Value> dispatch(const OpCall&) const override { return Value("text"); }
  };
  const Tensor t = make_tensor<Wrong>(ones({2}));
  expect_error<TypeError>([&] { t.clone(); }, "'clone'", "str", "Tensor");
  expect_error<TypeError>([&] { t.split(1); }, "'split'", "str", "list of tensors");
  expect_error<TypeError>([&] { equal(t, t); }, "bool", "str");
}

TEST(WrapperDispatch, ADerivedClassMayCallItsBase) {
  class Doubling final : public Wrapper<Doubling, ScaledTensor> {
   public:
    explicit Doubling(const Tensor& payload) : Wrapper(payload, 2.0) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      if (call.is<op::clone>()) return ScaledTensor::unwrap(call.tensors()[0]).clone();
      return ScaledTensor::dispatch(call);
    }
  };
  const Tensor t = make_tensor<Doubling>(ones({2}));
  EXPECT_EQ(t.clone().as<ScaledTensor>(), nullptr);
  EXPECT_EQ(t.detach().as<ScaledTensor>()->scale, 2.0);
  expect_error<NotImplementedError>([&] { t.view({1, 2}); }, "'view'", "[Doubling]");
}

// Data and parts.

TEST(WrapperSetData, ChangesTheFaceAndNotThePayload) {
  const Tensor a = make_tensor<ScaledTensor>(ones({2}), 0.5);
  const Tensor b = make_tensor<ScaledTensor>(zeros({3}, {.dtype = bfloat16}), 2.0);
  a.set_data(b);
  EXPECT_EQ(a.dtype(), bfloat16);
  EXPECT_EQ(a.shape(), Shape({3}));
  EXPECT_EQ(a.as<ScaledTensor>()->elem.dtype(), float32);
  EXPECT_EQ(a.as<ScaledTensor>()->scale, 0.5);
  expect_error<Error>([&] { a.set_data(ones({2})); }, "ScaledTensor", "Tensor",
                      "incompatible tensor type");
}

TEST(Flatten, TakesApartAndPutsTogether) {
  static const bool registered = [] {
    register_unflatten("ScaledTensor", [](const Flattened& parts, const Layout&) {
      return make_tensor<ScaledTensor>(parts.tensors.at(0).second, parts.context.as_real());
    });
    return true;
  }();
  EXPECT_TRUE(registered);
  const Tensor t = make_tensor<ScaledTensor>(arange(3.0), 0.25);
  const auto parts = t.as<ScaledTensor>()->flatten();
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->tensors[0].first, "elem");
  const Tensor again = unflatten("ScaledTensor", *parts, t.layout());
  EXPECT_EQ(again.as<ScaledTensor>()->scale, 0.25);
  EXPECT_TRUE(again.as<ScaledTensor>()->elem.is(t.as<ScaledTensor>()->elem));
  EXPECT_TRUE(has_unflatten("ScaledTensor"));
  expect_error<ValueError>([] { register_unflatten("ScaledTensor", {}); }, "ScaledTensor",
                           "already");
  expect_error<ValueError>([&] { unflatten("Nobody", *parts, t.layout()); }, "Nobody",
                           "register_unflatten");
}

// Before, copies and destructors of what is registered ran under the lock that asking takes.
TEST(Flatten, MayBeByAFunctionThatAsksWhenItIsDestroyed) {
  static int asked_at_the_end = 0;
  struct Asks {
    Asks() = default;
    Asks(const Asks& other) : alive(other.alive) { copies() += 1; }
    Asks(Asks&&) noexcept = default;
    Asks& operator=(const Asks&) = delete;
    Asks& operator=(Asks&&) = delete;
    ~Asks() {
      if (alive && has_unflatten("AsksAtTheEnd")) ++asked_at_the_end;
    }
    Tensor operator()(const Flattened&, const Layout&) const { return ones({}); }
    static int& copies() {
      static int count = 0;
      return count;
    }
    std::shared_ptr<int> alive = std::make_shared<int>();
  };
  register_unflatten("AsksAtTheEnd", Asks());
  const int before = Asks::copies();
  EXPECT_TRUE(unflatten("AsksAtTheEnd", {}, ones({}).layout()).defined());
  EXPECT_EQ(Asks::copies(), before);
  expect_error<ValueError>([] { register_unflatten("AsksAtTheEnd", Asks()); }, "already");
  EXPECT_GT(asked_at_the_end, 0);
}

TEST(Flatten, MayBeByFunctionsThatAskWhenTheProgramEnds) {
  struct Asks {
    ~Asks() {
      if (alive) (void)has_unflatten("AsksAtTheVeryEnd.1");
    }
    Tensor operator()(const Flattened&, const Layout&) const { return ones({}); }
    std::shared_ptr<int> alive = std::make_shared<int>();
  };
  const auto ends = [] {
    for (const char* name : {"AsksAtTheVeryEnd.1", "AsksAtTheVeryEnd.2", "AsksAtTheVeryEnd.3"})
      register_unflatten(name, Asks());
    std::exit(0);
  };
  EXPECT_EXIT(ends(), testing::ExitedWithCode(0), "");
}

TEST(Flatten, IsWhatPayloadsAreFoundBy) {
  const Tensor payload = ones({2}), t = make_tensor<ScaledTensor>(payload, 0.5);
  int found = 0;
  t.body().for_each_payload([&](const Tensor& part) { found += part.is(payload) ? 1 : 0; });
  EXPECT_EQ(found, 1);
  make_tensor<Bare>(payload).body().for_each_payload([&](const Tensor&) { ++found; });
  EXPECT_EQ(found, 1);
}

TEST(WrapperTensor, AMillionInsideEachOtherAreReleasedWithoutRecursion) {
  const Tensor innermost = ones({1});
  {
    Tensor t = innermost;
    for (int i = 0; i < 1'000'000; ++i) t = make_tensor<ScaledTensor>(t, 1.0);
  }
  EXPECT_EQ(innermost.cell()->use_count(), 1);
}

// A payload that every operator is carried out on; what comes back is wrapped again.
class Passing : public Wrapper<Passing> {
 public:
  explicit Passing(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    recording |= is_grad_enabled();
    return make_tensor<Passing>(call.call_with(unwrap).as_tensor());
  }
  static Tensor unwrap(const Tensor& t) {
    return t.as<Passing>() != nullptr ? t.as<Passing>()->elem : t;
  }
  Tensor elem;
  static inline bool recording = false;
};

TEST(WrapperDispatch, CompositesThatAHandlerCarriesOutAreRecordedToo) {
  const Tensor t = make_tensor<Passing>(ones({4}));
  t.requires_grad_();
  Passing::recording = false;
  EXPECT_TRUE(t.reshape({2, 2}).requires_grad());
  EXPECT_TRUE(t.narrow(0, 1, 2).requires_grad());
  EXPECT_FALSE(Passing::recording);
  {
    const NoGradScope off;
    EXPECT_FALSE(t.reshape({2, 2}).requires_grad());
  }
}

TEST(WrapperDispatch, AContiguousTensorIsItsOwnContiguous) {
  const Tensor t = make_tensor<Passing>(ones({4}));
  EXPECT_TRUE(t.contiguous().is(t));
}

TEST(WrapperDispatch, AHandlerMaySwapItsOwnTensor) {
  class Materialised final : public Wrapper<Materialised> {
   public:
    explicit Materialised(const Tensor& like) : Wrapper(like) {}
    std::optional<Value> dispatch(const OpCall& call) const override {
      swap_tensors(call.tensors()[0], full({2}, 7.0));
      return full({2}, static_cast<double>(kept_.size()));  // this object is still there
    }

   private:
    std::string kept_ = "long enough not to be inside the string";
  };
  const Tensor t = make_tensor<Materialised>(zeros({2}));
  t.clone();
  EXPECT_TRUE(equal(t, full({2}, 7.0)));
}

TEST(WrapperDispatch, AmongAListOfOptionalTensorsItIsSeen) {
  std::vector<std::string> log;
  const Tensor positions = make_tensor<LoggingTensor>(tensor({1, 0}), log);
  const Tensor picked = arange(4).view({2, 2}).index({Slice(), positions});
  EXPECT_EQ(log.back(), "index");
  EXPECT_TRUE(equal(picked.as<LoggingTensor>()->elem, tensor({{1, 0}, {3, 2}})));
}

TEST(WrapperDispatch, AsAMaskItIsRefused) {
  const Tensor mask = make_tensor<Passing>(tensor({true, false}));
  expect_error<NotImplementedError>([&] { arange(2).index({mask}); }, "Passing", "mask");
}

TEST(WrapperTensor, MembersAreAlignedAsTheyAsk) {
  class Aligned final : public Wrapper<Aligned> {
   public:
    explicit Aligned(const Tensor& like) : Wrapper(like) {}
    alignas(128) std::byte lanes[128];
  };
  std::vector<Tensor> many;
  for (int i = 0; i < 32; ++i) {
    many.push_back(make_tensor<Aligned>(ones({1})));
    const auto* lanes = many.back().as<Aligned>()->lanes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lanes) % 128, 0U);
  }
}

TEST(WrapperModuleLoad, AClassThatDoesNotOverrideLeavesItToOneThatDoes) {
  class Loader final : public Wrapper<Loader> {
   public:
    explicit Loader(const Tensor& like) : Wrapper(like) {}
    std::optional<Tensor> module_load(const Tensor&, const Tensor&, bool) const override {
      return full({1}, 42.0);
    }
  };
  const Tensor plain = make_tensor<Passing>(ones({1})), loader = make_tensor<Loader>(ones({1}));
  EXPECT_EQ(plain.module_load(loader).item<double>(), 42.0);
  EXPECT_EQ(loader.module_load(plain).item<double>(), 42.0);
}

}  // namespace
}  // namespace tenon
