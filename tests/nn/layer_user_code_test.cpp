// User code in the middle of a layer's call: operators of user-defined parameters, hooks of
// children, activations, the handler of warnings. At every step it destroys the layer, or takes its
// parameters and children away. Sanitizers find what is not expected here.
#include <algorithm>
#include <any>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::HasSubstr;

// What user code does at each of its steps.
std::function<void()> step;
void talk() {
  if (const auto now = step) now();
}
struct Steps {
  explicit Steps(std::function<void()> each) { step = std::move(each); }
  ~Steps() { step = nullptr; }
};

// Carries everything out on its payload and wraps what comes back, after user code.
class Talker final : public Wrapper<Talker> {
 public:
  explicit Talker(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  static Tensor unwrap(const Tensor& tensor) {
    const auto* talker = tensor.as<Talker>();
    return talker != nullptr ? talker->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    talk();
    // Whatever has become of the places that the arguments were in.
    const Value result = call.call_with([&](const Tensor& tensor) {
      const auto same = [&](const Tensor& one) { return one.is(tensor); };
      EXPECT_TRUE(std::any_of(call.tensors().begin(), call.tensors().end(), same)) << call.name();
      return unwrap(tensor);
    });
    if (!result.is_tensor()) return result;
    return make_tensor<Talker>(unwrap(result.as_tensor()));
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
};

struct OneLayer {
  const char* name;
  std::function<std::shared_ptr<Module>()> make;
  std::function<void(Module&)> call;
};
std::string name_of(const testing::TestParamInfo<OneLayer>& info) { return info.param.name; }
void PrintTo(const OneLayer& one, std::ostream* out) { *out << one.name; }

template <class M, class Make, class Call>
OneLayer layer(const char* name, Make make, Call call) {
  return {name, [=]() -> std::shared_ptr<Module> { return make(); },
          [=](Module& module) { call(static_cast<M&>(module)); }};
}

struct Deed {
  const char* name;
  std::function<void(std::shared_ptr<Module>& root)> act;
};

std::vector<std::string> names_of(const auto& slots) {
  std::vector<std::string> names;
  for (const auto* slot : slots) {
    if (slot->registered()) names.push_back(slot->name());
  }
  return names;
}
// Calls f with every module and the names of what it has, children before those that have them.
void for_each_name(Module& root, auto slots_of, auto f) {
  std::vector<Module*> modules = root.modules();
  std::reverse(modules.begin(), modules.end());
  for (Module* module : modules) {
    for (const std::string& name : names_of(slots_of(*module))) f(*module, name);
  }
}
const auto parameters_of = [](Module& module) { return module.parameter_slots(); };
const auto buffers_of = [](Module& module) { return module.buffer_slots(); };
const auto children_of = [](Module& module) { return module.child_slots(); };

void remove_named(Module& module, const std::string& name) { module.remove(name); }

// Calls the layer again and again, with the deed at another step of the user code each time, until
// there is no such step. `expect` is told the error's message, if there was one.
void at_every_step(const OneLayer& one, const Deed& deed,
                   const std::function<void(Module&)>& prepare,
                   const std::function<void(const std::optional<std::string>&)>& expect) {
  for (int when = 1; when < 400; ++when) {
    SCOPED_TRACE(testing::Message() << one.name << ": " << deed.name << " at step " << when);
    std::shared_ptr<Module> root = one.make();
    Module& itself = *root;
    prepare(itself);
    int calls = 0;
    const Steps steps([&] {
      if (++calls == when) deed.act(root);
    });
    std::optional<std::string> message;
    try {
      one.call(itself);
    } catch (const Error& error) {
      message = error.what();
    }
    if (calls < when) {
      EXPECT_EQ(message, std::nullopt);
      EXPECT_GT(when, 1);
      return;
    }
    expect(message);
    if (testing::Test::HasFailure()) return;
  }
}

const Deed destroys{"destroys the layer", [](std::shared_ptr<Module>& root) { root.reset(); }};

void expect_destroyed(const std::optional<std::string>& message) {
  EXPECT_THAT(message.value_or("no error"), HasSubstr("was destroyed by user code"));
}
void expect_anything(const std::optional<std::string>& /*message*/) {}

// Operators of parameters.

void make_talkative(Module& root) {
  for (Module* module : root.modules()) {
    for (const auto& [name, old] : module->named_parameters({.recurse = false}))
      module->register_parameter(name, make_parameter(make_tensor<Talker>(old.detach().clone())));
    for (const auto& [name, old] : module->named_buffers({.recurse = false}))
      module->register_buffer(name, make_tensor<Talker>(old.clone()));
  }
}

class LayerOperators : public testing::TestWithParam<OneLayer> {};

TEST_P(LayerOperators, ThatDestroyTheLayerAreAnErrorAtEveryStep) {
  at_every_step(GetParam(), destroys, make_talkative, expect_destroyed);
}

TEST_P(LayerOperators, MayRemoveOrReplaceTheTensorsThatTheyWereCalledWith) {
  const std::vector<Deed> deeds{
      {"removes tensors",
       [](std::shared_ptr<Module>& root) {
         for_each_name(*root, parameters_of, remove_named);
         for_each_name(*root, buffers_of, remove_named);
       }},
      {"replaces tensors",
       [](std::shared_ptr<Module>& root) {
         for_each_name(*root, parameters_of, [](Module& module, const std::string& name) {
           module.register_parameter(name, make_parameter(ones({7})));
         });
         for_each_name(*root, buffers_of, [](Module& module, const std::string& name) {
           module.register_buffer(name, ones({7}));
         });
       }},
      {"sets tensors to null", [](std::shared_ptr<Module>& root) {
         for_each_name(*root, parameters_of, [](Module& module, const std::string& name) {
           module.register_parameter(name, Tensor());
         });
       }}};
  for (const Deed& deed : deeds) {
    at_every_step(GetParam(), deed, make_talkative, expect_anything);
    at_every_step(
        GetParam(), deed,
        [](Module& root) {
          make_talkative(root);
          root.eval();
        },
        expect_anything);
  }
}

// With whole-number arguments of its own, which are its members.
#define TENON_LAYER(NAME, M, MADE, CALLED) \
  layer<M>(NAME, [] { return make<M> MADE; }, [](M& of) { (void)of CALLED; })

INSTANTIATE_TEST_SUITE_P(
    Layers, LayerOperators,
    testing::Values(
        TENON_LAYER("Linear", Linear, (4, 3), (ones({2, 4}))),
        TENON_LAYER("Bilinear", Bilinear, (4, 3, 2), (ones({2, 4}), ones({2, 3}))),
        TENON_LAYER("PReLU", PReLU, (), (ones({2, 3}))),
        TENON_LAYER("Conv1d", Conv1d, (2, 3, 3), (ones({1, 2, 8}))),
        TENON_LAYER("Conv2d", Conv2d, (2, 3, 3, ConvOptions{.padding = 1}), (ones({1, 2, 8, 8}))),
        TENON_LAYER("Conv2dReflecting", Conv2d,
                    (2, 3, 3, ConvOptions{.padding = 1, .padding_mode = "reflect"}),
                    (make_tensor<Talker>(ones({1, 2, 8, 8})))),
        TENON_LAYER("ConvTranspose2d", ConvTranspose2d, (2, 3, 3), (ones({1, 2, 8, 8}), {})),
        TENON_LAYER("LayerNorm", LayerNorm, (4), (ones({2, 4}))),
        TENON_LAYER("RMSNorm", RMSNorm, (4), (ones({2, 4}))),
        TENON_LAYER("GroupNorm", GroupNorm, (2, 4), (ones({2, 4, 3}))),
        TENON_LAYER("BatchNorm1d", BatchNorm1d, (3), (rand({4, 3}))),
        TENON_LAYER("BatchNorm2d", BatchNorm2d, (3, BatchNormOptions{.momentum = std::nullopt}),
                    (rand({2, 3, 4, 4}))),
        TENON_LAYER("InstanceNorm1d", InstanceNorm1d,
                    (3, InstanceNormOptions{.affine = true, .track_running_stats = true}),
                    (rand({2, 3, 4}))),
        TENON_LAYER("Embedding", Embedding, (5, 3), (tensor({1, 2}))),
        TENON_LAYER("EmbeddingWithANorm", Embedding, (5, 3, EmbeddingOptions{.max_norm = 1.0}),
                    (tensor({1, 2}))),
        TENON_LAYER("EmbeddingBag", EmbeddingBag, (5, 3), (tensor({1, 2, 2}), tensor({0, 2}), {})),
        TENON_LAYER("RNN", RNN, (4, 3), (ones({5, 2, 4}))),
        TENON_LAYER("GRU", GRU, (4, 3), (ones({5, 2, 4}))),
        TENON_LAYER("LSTM", LSTM,
                    (4, 3, LSTMOptions{.num_layers = 2, .dropout = 0.1, .bidirectional = true}),
                    (ones({5, 2, 4}))),
        TENON_LAYER("RNNCell", RNNCell, (4, 3), (ones({2, 4}))),
        TENON_LAYER("GRUCell", GRUCell, (4, 3), (ones({2, 4}))),
        TENON_LAYER("LSTMCell", LSTMCell, (4, 3), (ones({2, 4}))),
        TENON_LAYER("MultiheadAttention", MultiheadAttention, (4, 2),
                    (ones({3, 2, 4}), ones({3, 2, 4}), ones({3, 2, 4}))),
        TENON_LAYER("TransformerEncoderLayer", TransformerEncoderLayer, (4, 2), (ones({3, 2, 4}))),
        TENON_LAYER("TransformerDecoderLayer", TransformerDecoderLayer, (4, 2),
                    (ones({3, 2, 4}), ones({3, 2, 4})))),
    name_of);

TEST(LayerOperatorsUnderAutocast, KeepTheArgumentsOfTheirCall) {
  const OneLayer linear = TENON_LAYER("Linear", Linear, (4, 3), (ones({2, 4})));
  const AutocastScope autocast("cpu");
  at_every_step(linear, destroys, make_talkative, expect_destroyed);
  const Deed removes{"removes tensors", [](std::shared_ptr<Module>& root) {
                       for_each_name(*root, parameters_of, remove_named);
                     }};
  at_every_step(linear, removes, make_talkative, [](const std::optional<std::string>& message) {
    EXPECT_EQ(message, std::nullopt);
  });
}

// Drawing values.

TEST_P(LayerOperators, ThatDestroyTheLayerWhileItsValuesAreDrawnAreAnError) {
  OneLayer one = GetParam();
  if (std::string(one.name).starts_with("Transformer")) return;  // has nothing to draw for itself
  one.call = [](Module& module) {
    const auto draw = [](auto... which) {
      EXPECT_TRUE(((which != nullptr && (which->reset_parameters(), true)) || ...));
    };
    draw(module.as<Linear>(), module.as<Bilinear>(), module.as<PReLU>(), module.as<Conv1d>(),
         module.as<Conv2d>(), module.as<ConvTranspose2d>(), module.as<LayerNorm>(),
         module.as<RMSNorm>(), module.as<GroupNorm>(), module.as<NormBase>(),
         module.as<Embedding>(), module.as<EmbeddingBag>(), module.as<RNN>(), module.as<GRU>(),
         module.as<LSTM>(), module.as<RNNCell>(), module.as<GRUCell>(), module.as<LSTMCell>(),
         module.as<MultiheadAttention>());
  };
  at_every_step(one, destroys, make_talkative, expect_destroyed);
}

// Hooks of children.

class CompositeHooks : public testing::TestWithParam<OneLayer> {
 protected:
  void SetUp() override {
    before_ = register_module_forward_pre_hook([](Module&, Arguments&) { talk(); });
    after_ = register_module_forward_hook([](Module&, const Arguments&, std::any&) { talk(); });
  }
  void TearDown() override {
    before_.remove();
    after_.remove();
  }

 private:
  RemovableHandle before_, after_;
};

TEST_P(CompositeHooks, ThatDestroyTheOutermostModuleAreAnErrorAtEveryStep) {
  at_every_step(GetParam(), destroys, [](Module&) {}, expect_destroyed);
}

TEST_P(CompositeHooks, MayDoAnythingToChildren) {
  const auto replaced = [](Module& module, const std::string& name) {
    const auto slots = module.child_slots();
    const auto found = std::find_if(slots.begin(), slots.end(),
                                    [&](const ChildSlot* slot) { return slot->name() == name; });
    if ((*found)->defined()) module.register_module(name, clone(*(*found)->module()));
  };
  const auto null = [](Module& module, const std::string& name) {
    try {
      module.register_module(name, std::shared_ptr<Module>());
    } catch (const ValueError&) {  // of a list
    }
  };
  const auto longer = [](Module& module, const std::string& name) {
    if (name != "0") return;
    const std::shared_ptr<Module> first = module.child_slots()[0]->module();
    for (std::size_t i = module.child_slots().size(); i < 40; ++i)
      module.register_module(std::to_string(i), first);
  };
  const auto all = [](auto f) {
    return [f](std::shared_ptr<Module>& root) { for_each_name(*root, children_of, f); };
  };
  const std::vector<Deed> deeds{{"removes children", all(remove_named)},
                                {"replaces children", all(replaced)},
                                {"sets children to null", all(null)},
                                {"makes lists longer", all(longer)}};
  for (const Deed& deed : deeds) at_every_step(GetParam(), deed, [](Module&) {}, expect_anything);
}

std::shared_ptr<TransformerEncoder> small_encoder() {
  return make<TransformerEncoder>(make<TransformerEncoderLayer>(4, 2), 3,
                                  TransformerEncoderOptions{.norm = make<LayerNorm>(4)});
}
std::shared_ptr<TransformerDecoder> small_decoder() {
  return make<TransformerDecoder>(make<TransformerDecoderLayer>(4, 2), 2);
}
const TransformerOptions small_transformer{.num_encoder_layers = 1, .num_decoder_layers = 1};

INSTANTIATE_TEST_SUITE_P(
    Composites, CompositeHooks,
    testing::Values(
        layer<Sequential>(
            "Sequential",
            [] { return make<Sequential>({make<Linear>(4, 4), make<Sequential>({make<ReLU>()})}); },
            [](Sequential& of) { (void)of(ones({2, 4})); }),
        TENON_LAYER("TransformerEncoderLayer", TransformerEncoderLayer,
                    (4, 2, TransformerLayerOptions{.activation = make<GELU>()}), (ones({3, 2, 4}))),
        TENON_LAYER("TransformerDecoderLayer", TransformerDecoderLayer, (4, 2),
                    (ones({3, 2, 4}), ones({3, 2, 4}))),
        layer<TransformerEncoder>("TransformerEncoder", small_encoder,
                                  [](TransformerEncoder& of) { (void)of(ones({3, 2, 4})); }),
        layer<TransformerDecoder>("TransformerDecoder", small_decoder,
                                  [](TransformerDecoder& of) {
                                    (void)of(ones({3, 2, 4}), ones({3, 2, 4}));
                                  }),
        TENON_LAYER("Transformer", Transformer, (4, 2, small_transformer),
                    (ones({3, 2, 4}), ones({3, 2, 4})))),
    name_of);

TEST(CompositeHooks, OfALayerThatMakeTheListLongerAreAnErrorAndOfOneThatReplacesALaterOneAreNot) {
  const auto encoder = small_encoder();
  encoder->eval();
  const auto other = make<TransformerEncoderLayer>(4, 2);
  int calls = 0;
  other->register_forward_hook(
      [&](Module&, const auto&, Tensor& result) { result = full({3, 2, 4}, ++calls); });
  encoder->layers[0].register_forward_hook(
      [&](Module&, const auto&, Tensor&) { encoder->layers->set(2, other); });
  encoder->norm = nullptr;
  EXPECT_TRUE(equal((*encoder)(ones({3, 2, 4})), ones({3, 2, 4})));
  EXPECT_EQ(calls, 1);
  encoder->layers[1].register_forward_hook(
      [&](Module&, const auto&, Tensor&) { encoder->layers->append(other); });
  EXPECT_THAT(message_of<Error>([&] { (*encoder)(ones({3, 2, 4})); }),
              HasSubstr("the children of this ModuleList changed while forward() was running"));
}

TEST(CompositeHooks, ThatReplaceTheWholeListTakeEffectInTheNextCall) {
  const auto encoder = small_encoder();
  int calls = 0;
  for (TransformerEncoderLayer& one : *encoder->layers)
    one.register_forward_hook([&](Module&, const auto&, Tensor&) { ++calls; });
  encoder->layers[0].register_forward_hook([&](Module&, const auto&, Tensor&) {
    encoder->layers = make<ModuleList<TransformerEncoderLayer>>();
  });
  (*encoder)(ones({3, 2, 4}));
  EXPECT_EQ(calls, 3);
  (*encoder)(ones({3, 2, 4}));
  EXPECT_EQ(calls, 3);
}

// Memory that goes between two children.

// Memory whose deleter does that, with a hook's result over it.
void lend(Tensor& result, std::function<void()> deed) {
  const std::int64_t count = result.numel();
  result = from_blob(new float[static_cast<std::size_t>(count)](), result.shape(),
                     {.deleter = [deed = std::move(deed)](void* memory) {
                       delete[] static_cast<float*>(memory);
                       deed();
                     }});
}
// With the result of one child after another over such memory, which destroys the module. What goes
// after the call is nobody's concern.
template <class M>
void expect_destroyed_by_memory(const std::function<std::shared_ptr<M>()>& make_one,
                                const std::function<Tensor(M&)>& call) {
  const std::size_t count = make_one()->modules().size();
  int errors = 0;
  for (std::size_t which = 1; which < count; ++which) {
    std::shared_ptr<M> module = make_one();
    M& itself = *module;
    itself.eval();
    Module* const child = itself.modules()[which];
    SCOPED_TRACE(testing::Message() << "module " << which << ", a " << child->type_name());
    std::string message;
    bool is_running = true, was_destroyed = false;
    const auto deed = [&] {
      was_destroyed = was_destroyed || is_running;
      module.reset();
    };
    RemovableHandle hook =
        register_module_forward_hook([&](Module& of, const Arguments&, std::any& result) {
          if (&of != child) return;
          if (auto* const one = std::any_cast<Tensor>(&result)) lend(*one, deed);
          if (auto* const two = std::any_cast<std::tuple<Tensor, Tensor>>(&result))
            lend(std::get<0>(*two), deed);
        });
    const NoGradScope no_grad;
    try {
      const Tensor result = call(itself);
      is_running = false;
    } catch (const Error& error) {
      message = error.what();
    }
    hook.remove();
    if (!was_destroyed) continue;
    ++errors;
    EXPECT_THAT(message, HasSubstr("was destroyed by user code"));
  }
  EXPECT_GT(errors, 2);
}

TEST(BorrowedMemory, OfAChildsResultThatDestroysATransformerLayerIsAnError) {
  const Tensor x = ones({3, 2, 4});
  for (const bool norm_first : {true, false}) {
    const TransformerLayerOptions options{.dim_feedforward = 4, .norm_first = norm_first};
    expect_destroyed_by_memory<TransformerEncoderLayer>(
        [&] { return make<TransformerEncoderLayer>(4, 2, options); },
        [&](TransformerEncoderLayer& of) { return of(x); });
    expect_destroyed_by_memory<TransformerDecoderLayer>(
        [&] { return make<TransformerDecoderLayer>(4, 2, options); },
        [&](TransformerDecoderLayer& of) { return of(x, x); });
  }
}

TEST(BorrowedMemory, OfALayersResultThatDestroysAStackOfThemIsAnError) {
  const Tensor x = ones({3, 2, 4});
  expect_destroyed_by_memory<TransformerEncoder>(small_encoder,
                                                 [&](TransformerEncoder& of) { return of(x); });
  expect_destroyed_by_memory<TransformerDecoder>(
      [] {
        return make<TransformerDecoder>(make<TransformerDecoderLayer>(4, 2), 2,
                                        TransformerDecoderOptions{.norm = make<LayerNorm>(4)});
      },
      [&](TransformerDecoder& of) { return of(x, x); });
}

// The list lives on, and what the stack reads after it does not.
TEST(BorrowedMemory, ThatDestroysAStackWhoseLayersAreKeptIsAnError) {
  auto encoder = small_encoder();
  TransformerEncoder& itself = *encoder;
  itself.eval();
  const std::shared_ptr<Module> layers = itself.layers.module();
  itself.layers[1].register_forward_hook(
      [&](Module&, const auto&, Tensor& result) { lend(result, [&] { encoder.reset(); }); });
  const NoGradScope no_grad;
  EXPECT_THAT(message_of<Error>([&] { itself(ones({3, 2, 4})); }),
              HasSubstr("was destroyed by user code"));
}

// Somebody's forward is not gone back to either.
TEST(CompositeHooks, ThatDestroyAModuleOfTheUsersAreAnErrorBeforeItGoesOn) {
  class Net final : public Layer {
   public:
    Child<Linear> fc{this, "fc", 2, 2};
    bool* went_on = nullptr;

   protected:
    Tensor forward(const Tensor& x) override {
      bool* const mark = went_on;
      const Tensor y = fc(x);
      *mark = true;
      return y;
    }
  };
  auto net = make<Net>();
  Net& itself = *net;
  bool went_on = false;
  itself.went_on = &went_on;
  itself.fc->register_forward_hook([&](Module&, const auto&, Tensor&) { net.reset(); });
  EXPECT_THAT(message_of<Error>([&] { (void)itself(ones({1, 2})); }),
              HasSubstr("was destroyed by user code while it was called"));
  EXPECT_FALSE(went_on);
}

TEST(Activations, ThatDestroyTheirLayerAreAnError) {
  std::shared_ptr<TransformerEncoderLayer> encoder;
  const std::function<Tensor(const Tensor&)> function = [&](const Tensor& x) {
    encoder.reset();
    return relu(x);
  };
  encoder = make<TransformerEncoderLayer>(4, 2, TransformerLayerOptions{.activation = function});
  TransformerEncoderLayer& itself = *encoder;
  EXPECT_THAT(message_of<Error>([&] { (void)itself(ones({3, 2, 4})); }),
              HasSubstr("was destroyed by user code"));
}

// Warnings.

struct Handler {
  explicit Handler(WarningHandler handler) : before(set_warning_handler(std::move(handler))) {}
  ~Handler() { set_warning_handler(before); }
  WarningHandler before;
};

TEST(WarningHandlers, ThatDestroyTheModuleThatWarnsAreAnError) {
  const std::vector<OneLayer> layers{
      TENON_LAYER("InstanceNorm1d", InstanceNorm1d, (3), (ones({2, 4, 5}))),
      TENON_LAYER("Softmax", Softmax, (), (ones({2, 4}))),
      TENON_LAYER("Dropout2d", Dropout2d, (), (ones({2, 4}))),
      TENON_LAYER("complex", Linear, (2, 3), .to({.dtype = complex64})),
      layer<MultiheadAttention>(
          "MultiheadAttention", [] { return make<MultiheadAttention>(4, 2); },
          [](MultiheadAttention& of) {
            const Tensor x = ones({3, 2, 4});
            of(x, x, x,
               {.key_padding_mask = zeros({2, 3}, {.dtype = bool_}), .attn_mask = zeros({3, 3})});
          })};
  const Handler handler([](const std::string&) { talk(); });
  for (const OneLayer& one : layers) at_every_step(one, destroys, [](Module&) {}, expect_destroyed);
}

TEST(RNNs, WithoutAParameterSaySo) {
  GRU gru(4, 3);
  gru.remove("bias_hh_l0");
  EXPECT_THAT(message_of<Error>([&] { (void)gru(ones({5, 2, 4})); }),
              HasSubstr("this GRU has 3 parameters, but its layers have 4"));
}

}  // namespace
}  // namespace tenon::nn
