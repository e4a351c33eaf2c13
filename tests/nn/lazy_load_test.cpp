// Loads into lazy modules and what else may be going on: hooks that call them, ties, memory that
// tensors share, and inference mode.
#include "nn/lazy_networks.h"
#include "support/matchers.h"
#include "support/modules.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class Two : public Layer {
 public:
  Child<LazyLinear> a{this, "a", 4, {.bias = false}};
  Child<LazyLinear> b{this, "b", 4, {.bias = false}};

 protected:
  Tensor forward(const Tensor& x) override { return a(x) + b(x); }
};

StateDict two_of(std::int64_t in) {
  return state_of({{"a.weight", Value(rand({4, in}))}, {"b.weight", Value(rand({4, in}))}});
}

// Both ways to load the same.
void load_both_ways(const StateDict& state, const std::function<void(const std::string&)>& test) {
  const TempDir dir;
  save(state, dir.file("net.pth"));
  for (const char* file : {"", "net.pth"}) {
    SCOPED_TRACE(file);
    test(*file == '\0' ? "" : dir.file(file));
  }
}
IncompatibleKeys load_any(Module& net, const StateDict& state, const std::string& file,
                          bool strict = true, bool skip_mismatched = false) {
  if (file.empty())
    return net.load_state_dict(state, {.strict = strict, .skip_mismatched = skip_mismatched});
  return load_into(net, file, {.strict = strict, .skip_mismatched = skip_mismatched});
}

// The tensor is then one like others: it is copied into.
TEST(LazyLoadHooks, AFirstCallInAPostHookIsTakenIntoAccount) {
  const StateDict state = two_of(3);
  load_both_ways(state, [&](const std::string& file) {
    for (const DType dtype : {float32, float64}) {
      Two net;
      net.to(dtype);
      net.register_load_state_dict_post_hook([&](Module& module, IncompatibleKeys&) {
        module.invoke(ones({1, 3}, {.dtype = dtype}));
      });
      load_any(net, state, file);
      EXPECT_EQ(net.a->weight->dtype(), dtype);
      EXPECT_TRUE(equal(net.a->weight, state.at("a.weight").as_tensor().to(dtype)));
      EXPECT_TRUE(equal(net.b->weight, state.at("b.weight").as_tensor().to(dtype)));
      EXPECT_NE(net.a->weight->data_ptr(), state.at("a.weight").as_tensor().data_ptr());
      EXPECT_EQ(net.a->in_features, 3);
      EXPECT_EQ(net.a->type_name(), "Linear");
    }
  });
}

TEST(LazyLoadHooks, AFirstCallWithAnotherSizeInAPostHookIsAMismatch) {
  const StateDict state = two_of(3000);
  load_both_ways(state, [&](const std::string& file) {
    for (const DType dtype : {float32, float64}) {
      Two net;
      net.to(dtype);
      net.register_load_state_dict_post_hook([&](Module& module, IncompatibleKeys&) {
        module.invoke(ones({1, 2}, {.dtype = dtype}));
      });
      expect_error<LoadError>(
          [&] { load_any(net, state, file); },
          "size mismatch for a.weight: copying a param with shape torch.Size([4, 3000]) from "
          "checkpoint, the shape in current model is torch.Size([4, 2]).");
      EXPECT_EQ(net.a->weight->shape(), Shape({4, 2}));
      // With the hook's call behind it the module is as any other.
      const auto report = load_any(net, state, file, true, true);
      EXPECT_EQ(report.mismatched.size(), 2u);
      Two left;
      left.to(dtype);
      left.register_load_state_dict_post_hook([&](Module& module, IncompatibleKeys&) {
        module.invoke(ones({1, 2}, {.dtype = dtype}));
      });
      EXPECT_EQ(load_any(left, state, file, true, true).mismatched.size(), 2u);
      EXPECT_EQ(left.b->weight->shape(), Shape({4, 2}));
    }
  });
}

TEST(LazyLoadHooks, AFirstCallInThePreHookOfALaterModuleIsTakenIntoAccount) {
  const StateDict state = two_of(3);
  load_both_ways(state, [&](const std::string& file) {
    for (const std::int64_t in : {3, 7}) {
      Two net;
      net.b->register_load_state_dict_pre_hook(
          [&](Module&, LoadContext&) { net.a(ones({1, in})); });
      if (in == 7) {
        expect_error<LoadError>([&] { load_any(net, state, file); }, "size mismatch for a.weight");
        EXPECT_TRUE(is_lazy(net.b->weight));
        continue;
      }
      load_any(net, state, file);
      EXPECT_TRUE(equal(net.a->weight, state.at("a.weight").as_tensor()));
      EXPECT_NE(net.a->weight->data_ptr(), state.at("a.weight").as_tensor().data_ptr());
    }
  });
}

TEST(LazyLoadHooks, AModuleThatAHookMakesLazyAgainIsRefused) {
  const StateDict state = two_of(3);
  load_both_ways(state, [&](const std::string& file) {
    Two net;
    net(ones({1, 3}));
    const Tensor before = net.b->weight->detach().clone();
    net.register_load_state_dict_post_hook(
        [&](Module&, IncompatibleKeys&) { net.a->weight = uninitialized_parameter(); });
    expect_error<LoadError>([&] { load_any(net, state, file); }, "\"a.weight\" has left its place");
    EXPECT_TRUE(equal(net.b->weight, before));
  });
}

// The memory that is written into is the user's to replace until the very end.
TEST(LazyLoadHooks, ATensorThatUserCodeReplacesIsNotWrittenBeyond) {
  const TempDir dir;
  save(state_of({{"weight", Value(rand({4, 3000}))}}), dir.file("net.pth"));
  class Replaces final : public Linear {
   public:
    Replaces() : Linear(3000, 4, {.bias = false}) {}
    std::optional<Value> get_extra_state() const override { return Value(1); }
    void set_extra_state(const Value&) override { weight = make_parameter(ones({4, 2})); }
  };
  Replaces net;
  StateDict state = state_of({{"weight", Value(rand({4, 3000}))}});
  state.set("_extra_state", Value(1));
  save(state, dir.file("net.pth"));
  expect_error<LoadError>([&] { load_into(net, dir.file("net.pth")); },
                          "\"weight\" has left its place");
}

TEST(LazyLoadInto, GivesEachTensorMemoryOfItsOwn) {
  const TempDir dir;
  const Tensor w = rand({4, 3}), both = rand({8, 3});
  save(state_of({{"a.weight", Value(w)}, {"b.weight", Value(w)}}), dir.file("tied.pth"));
  save(state_of({{"a.weight", Value(both.slice(0, 0, 4))}, {"b.weight", Value(both.slice(0, 4))}}),
       dir.file("slices.pth"));
  for (const char* name : {"tied.pth", "slices.pth"}) {
    SCOPED_TRACE(name);
    Two net;
    load_into(net, dir.file(name));
    EXPECT_FALSE(net.a->weight->storage().is(net.b->weight->storage()));
    EXPECT_EQ(net.a->weight->storage().nbytes(), 48u);
    const StateDict state(load(dir.file(name)));
    EXPECT_TRUE(equal(net.a->weight, state.at("a.weight").as_tensor()));
    EXPECT_TRUE(equal(net.b->weight, state.at("b.weight").as_tensor()));
    // With assign they are as they come.
    Two assigned;
    load_into(assigned, dir.file(name), {.assign = true});
    EXPECT_TRUE(assigned.a->weight->storage().is(assigned.b->weight->storage()));
  }
  // One slice of a storage does not keep the rest of it.
  save(state_of({{"weight", Value(both.slice(0, 4))}}), dir.file("one.pth"));
  LazyLinear one(4, {.bias = false});
  load_into(one, dir.file("one.pth"));
  EXPECT_EQ(one.weight->storage().nbytes(), 48u);
  EXPECT_TRUE(equal(one.weight, both.slice(0, 4)));
}

TEST(LazyLoadInto, InInferenceModeMakesOrdinaryParameters) {
  const TempDir dir;
  save(two_of(3), dir.file("net.pth"));
  for (const DType dtype : {float32, float64}) {
    Two net;
    net.to(dtype);
    {
      const InferenceModeScope inference;
      load_into(net, dir.file("net.pth"));
    }
    EXPECT_FALSE(net.a->weight->is_inference());
    net(ones({1, 3}, {.dtype = dtype})).sum().backward();
    EXPECT_TRUE(net.b->weight->grad().defined());
  }
}

TEST(LazyLoadInto, GivesWhatStaysLazyTheDtypeThatIsAskedFor) {
  const TempDir dir;
  save(Two().state_dict(), dir.file("open.pth"));
  for (const ConversionPolicy policy : {ConversionPolicy::set_data, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    for (const bool assign : {false, true}) {
      Two net;
      load_into(net, dir.file("open.pth"), {.assign = assign, .dtype = bfloat16});
      EXPECT_TRUE(is_lazy(net.a->weight));
      EXPECT_EQ(net.a->weight->dtype(), bfloat16);
      EXPECT_TRUE(net.a->weight->requires_grad());
      // Only among dtypes of one kind.
      load_into(net, dir.file("open.pth"), {.assign = assign, .dtype = int64});
      EXPECT_EQ(net.a->weight->dtype(), assign ? float32 : bfloat16);
    }
  }
}

TEST(LazyLoadTies, ALayerThatHasItsShapeThroughAnotherIsThePlainOneAfterALoad) {
  const Tensor w = rand({4, 3});
  const StateDict only_a = state_of({{"a.weight", Value(w)}});
  load_both_ways(only_a, [&](const std::string& file) {
    Two net;
    net.b->weight = net.a->weight;
    load_any(net, only_a, file, false);
    EXPECT_TRUE(net.b->weight.get().is(net.a->weight));
    EXPECT_EQ(net.b->repr(), "Linear(in_features=3, out_features=4, bias=False)");
    EXPECT_EQ(net.b->Module::as<LazyLinear>(), nullptr);
  });
  const StateDict both = state_of({{"a.weight", Value(w)}, {"b.weight", Value(w)}});
  load_both_ways(both, [&](const std::string& file) {
    Two net;
    net.b->weight = net.a->weight;
    net.a(ones({2, 3}));
    load_any(net, both, file);
    EXPECT_EQ(net.b->repr(), "Linear(in_features=3, out_features=4, bias=False)");
  });
}

// There is nothing to tell its size from: the first call does.
TEST(LazyLoadTies, ANormWithoutTensorsWaitsForItsFirstCall) {
  LazyBatchNorm1d norm({.affine = false, .track_running_stats = false});
  norm.load_state_dict(StateDict());
  EXPECT_EQ(norm.type_name(), "LazyBatchNorm1d");
  norm(rand({2, 3}));
  EXPECT_EQ(norm.num_features, 3);
}

TEST(LazyLoadParts, OfDifferentWidthsAreRefused) {
  LazyBatchNorm1d norm;
  norm.load_state_dict(state_of({{"running_var", Value(ones({7}))}}), {.strict = false});
  const StateDict rest = state_of({{"weight", Value(ones({6}))}, {"bias", Value(ones({6}))}});
  expect_error<LoadError>([&] { norm.load_state_dict(rest, {.strict = false}); },
                          "size mismatch for weight: copying a param with shape torch.Size([6]) "
                          "from checkpoint, the shape in current model is torch.Size([7]).");
  EXPECT_TRUE(is_lazy(norm.weight));
  const auto report = norm.load_state_dict(BatchNorm1d(5).state_dict(), {.skip_mismatched = true});
  EXPECT_EQ(report.mismatched.size(), 4u);
  EXPECT_TRUE(is_lazy(norm.weight));
  EXPECT_TRUE(is_lazy(norm.running_mean));
  EXPECT_EQ(norm.num_features, 7);
  norm.load_state_dict(BatchNorm1d(7).state_dict());
  EXPECT_EQ(norm.type_name(), "BatchNorm1d");
}

TEST(LazyLoadParts, OfAUserDefinedTensorLeaveTheRestToTheFirstCall) {
  LazyLinear layer(4);
  layer.load_state_dict(
      state_of({{"weight", Value(make_tensor<ScaledTensor>(full({4, 3}, 2.0), 0.5))}}),
      {.strict = false, .assign = true});
  layer.initialize_parameters(ones({2, 3}));
  EXPECT_NE(layer.weight->as<ScaledTensor>(), nullptr);
  EXPECT_EQ(layer.bias->shape(), Shape({4}));
}

// As in PyTorch, whatever the kind.
TEST(LazyLoadParts, AreNotReset) {
  LazyBatchNorm1d norm;
  norm.load_state_dict(
      state_of({{"weight", Value(full({3}, 7.0))}, {"bias", Value(full({3}, 7.0))}}),
      {.strict = false});
  norm.reset_parameters();
  EXPECT_TRUE(equal(norm.weight, full({3}, 7.0)));
  LazyBatchNorm1d statistics;
  statistics.load_state_dict(
      state_of({{"running_mean", Value(full({3}, 7.0))}, {"running_var", Value(full({3}, 7.0))}}),
      {.strict = false});
  statistics.reset_parameters();
  EXPECT_TRUE(equal(statistics.running_mean, full({3}, 7.0)));
  const StateDict bias = state_of({{"bias", Value(full({3}, 7.0))}});
  LazyLinear linear(3);
  LazyConv2d conv(3, 1);
  linear.load_state_dict(bias, {.strict = false});
  conv.load_state_dict(bias, {.strict = false});
  linear.reset_parameters();
  conv.reset_parameters();
  EXPECT_TRUE(equal(linear.bias, full({3}, 7.0)));
  EXPECT_TRUE(equal(conv.bias, full({3}, 7.0)));
}

class Holder : public Module {};

std::shared_ptr<Holder> with_head(bool lazy) {
  auto net = make<Holder>();
  net->register_module("body", make<Linear>(3, 4));
  if (lazy)
    net->register_module("head", make<LazyLinear>(2));
  else
    net->register_module("head", make<Linear>(4, 2));
  return net;
}

TEST(LazyLoad, OfAModuleThatAHookReplacesIsNobodysAffair) {
  const TempDir dir;
  const StateDict all = with_head(false)->state_dict();
  save(all, dir.file("net.pth"));
  for (const bool lazy : {false, true}) {
    for (const bool has_keys : {false, true}) {
      for (const bool from_file : {false, true}) {
        SCOPED_TRACE(testing::Message() << lazy << has_keys << from_file);
        const auto net = with_head(lazy);
        // "No head in the file: put in another."
        net->register_load_state_dict_post_hook([](Module& module, IncompatibleKeys&) {
          module.register_module("head", make<Linear>(4, 2));
        });
        const auto wanted = [&](std::string_view key) {
          return has_keys || !key.starts_with("head");
        };
        if (from_file) {
          load_into(*net, dir.file("net.pth"), {.strict = false, .filter = wanted});
        } else {
          StateDict state = all;
          state.erase_if([&](const auto& key, const auto&) { return !wanted(key); });
          net->load_state_dict(state, {.strict = false});
        }
        EXPECT_EQ(net->get_submodule("head").repr(),
                  "Linear(in_features=4, out_features=2, bias=True)");
        EXPECT_TRUE(equal(net->get_parameter("body.weight"), all.at("body.weight").as_tensor()));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::nn
