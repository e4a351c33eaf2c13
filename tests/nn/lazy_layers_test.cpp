// Every lazy class, before its first call and, after it, beside the plain class made with the size
// that it inferred.
#include "tenon/nn/lazy_layers.h"

#include "nn/lazy_classes.h"
#include "support/matchers.h"
#include "support/modules.h"
#include "support/temp_dir.h"

namespace tenon::nn {
namespace {

using testing::HasSubstr;

// An input for the class, of its dtype.
Tensor input_of(const LazyClass& one, const Module& module) {
  const auto parameters = module.parameters();
  const DType dtype = parameters.empty() ? float32 : parameters[0].dtype();
  return rand(one.input, {.dtype = dtype});
}

void expect_same_tensors(const Module& a, const Module& b) {
  const StateDict first = a.state_dict({.keep_vars = true}),
                  second = b.state_dict({.keep_vars = true});
  EXPECT_EQ(keys_of(first), keys_of(second));
  EXPECT_EQ(first.metadata().repr(), second.metadata().repr());
  for (const auto& [key, value] : first) {
    SCOPED_TRACE(key);
    const Tensor mine = value.as_tensor(), theirs = second.at(key).as_tensor();
    EXPECT_TRUE(equal(mine, theirs));
    EXPECT_EQ(mine.dtype(), theirs.dtype());
    EXPECT_EQ(mine.stride(), theirs.stride());
    EXPECT_EQ(mine.version(), theirs.version());
    EXPECT_EQ(mine.is_parameter(), theirs.is_parameter());
    EXPECT_EQ(mine.requires_grad(), theirs.requires_grad());
    EXPECT_EQ(mine.grad().defined(), theirs.grad().defined());
    if (mine.grad().defined()) {
      EXPECT_TRUE(equal(mine.grad(), theirs.grad()));
    }
  }
}

TEST(LazyLayers, SayWhatTheyAreBeforeTheirFirstCall) {
  for (const LazyClass& one : lazy_classes()) {
    const auto module = one.make_lazy();
    EXPECT_EQ(module->repr(), one.before);
    EXPECT_EQ(module->type_name(), one.lazy);
  }
}

TEST(LazyLayers, AreThePlainLayersInEveryWayAfterTheFirstCall) {
  const TempDir dir, other;
  for (const LazyClass& one : lazy_classes()) {
    SCOPED_TRACE(one.before + " on " + one.input.repr());
    const auto lazy = one.make_lazy();
    manual_seed(1);
    const Tensor x = input_of(one, *lazy).requires_grad_();
    manual_seed(2);
    const auto plain = one.make_plain();
    const Tensor wanted = plain->invoke(x);
    const Tensor after = rand({3});  // as many numbers were drawn
    wanted.sum().backward();
    const Tensor wanted_grad = x.grad();
    x.set_grad({});
    manual_seed(2);
    const Tensor y = lazy->invoke(x);
    EXPECT_TRUE(equal(rand({3}), after));
    y.sum().backward();

    EXPECT_TRUE(equal(y, wanted));
    EXPECT_TRUE(equal(x.grad(), wanted_grad));
    EXPECT_EQ(lazy->type_name(), one.plain);
    EXPECT_EQ(lazy->repr(), plain->repr());
    EXPECT_THAT(lazy->repr(), HasSubstr(one.size));
    EXPECT_EQ(lazy->version(), plain->version());
    expect_same_tensors(*lazy, *plain);

    // No hook is left: what is wrong with an input is said by the plain layer.
    const auto complaint = [](Module& module) {
      return message_of<Error>([&] { module.invoke(ones({2, 2, 2, 2, 2, 2, 2, 2})); });
    };
    if (one.plain != "Linear") {
      EXPECT_EQ(complaint(*lazy), complaint(*plain));
    }
    EXPECT_TRUE(equal(lazy->eval().invoke(x), plain->eval().invoke(x)));
    lazy->train();
    plain->train();

    const auto copy = clone(*lazy), plain_copy = clone(*plain);
    EXPECT_EQ(copy->repr(), plain->repr());
    EXPECT_TRUE(equal(copy->invoke(x), plain_copy->invoke(x)));
    expect_same_tensors(*copy, *plain_copy);

    save(lazy->state_dict(), dir.file("net.pth"));
    save(plain->state_dict(), other.file("net.pth"));
    EXPECT_TRUE(TempDir::read(dir.file("net.pth")) == TempDir::read(other.file("net.pth")));
    const auto again = one.make_plain(), lazy_again = one.make_lazy();
    again->load_state_dict(StateDict(load(dir.file("net.pth"))));
    lazy_again->invoke(x);
    lazy_again->load_state_dict(StateDict(load(other.file("net.pth"))));
    EXPECT_TRUE(equal(lazy_again->eval().invoke(x), again->eval().invoke(x)));
    lazy->to(float64);
    plain->to(float64);
    expect_same_tensors(*lazy, *plain);
  }
}

TEST(LazyLayers, KnowTheirSizesAfterALoadAndAreThePlainLayersAtOnce) {
  for (const bool assign : {false, true}) {
    for (const ConversionPolicy policy : {ConversionPolicy::set_data, ConversionPolicy::swap}) {
      const ConversionScope scope(policy);
      for (const LazyClass& one : lazy_classes()) {
        const auto plain = one.make_plain();
        // Without tensors there is nothing that a load could say.
        if (plain->state_dict().empty()) continue;
        SCOPED_TRACE(one.before);
        const Tensor x = input_of(one, *plain);
        plain->invoke(x);
        const auto lazy = one.make_lazy();
        const std::vector<Tensor> held = lazy->parameters();
        EXPECT_EQ(lazy->load_state_dict(copied(plain->state_dict()), {.assign = assign}).repr(),
                  "<All keys matched successfully>");
        const auto loose = one.make_lazy();
        StateDict more = copied(plain->state_dict());
        more.set("more", ones({1}));
        EXPECT_EQ(loose->load_state_dict(more, {.strict = false, .assign = assign}).repr(),
                  "_IncompatibleKeys(missing_keys=[], unexpected_keys=['more'])");
        EXPECT_EQ(loose->repr(), plain->repr());
        EXPECT_EQ(lazy->type_name(), one.plain);
        EXPECT_EQ(lazy->repr(), plain->repr());
        for (const Tensor& tensor : lazy->parameters()) EXPECT_FALSE(is_lazy(tensor));
        for (const Tensor& tensor : lazy->buffers()) EXPECT_FALSE(is_lazy(tensor));
        if (!assign || policy == ConversionPolicy::swap) {
          for (std::size_t i = 0; i < held.size(); ++i)
            EXPECT_TRUE(held[i].is(lazy->parameters()[i]));
        }
        EXPECT_TRUE(equal(lazy->eval().invoke(x), plain->eval().invoke(x)));
        // The other way round there is no shape to be had.
        const auto open = one.make_lazy();
        const Snapshot before(*plain);
        if (open->parameters().empty() && open->buffers().empty()) continue;
        expect_error<LoadError>(
            [&] { plain->load_state_dict(open->state_dict(), {.assign = assign}); },
            "Can't access the shape of an uninitialized parameter or buffer");
        before.expect_the_same();
        // And one that knows nothing takes nothing from another.
        const auto third = one.make_lazy();
        EXPECT_TRUE(third->load_state_dict(open->state_dict(), {.assign = assign}).empty());
        EXPECT_EQ(third->type_name(), one.lazy);
        EXPECT_EQ(third->repr(), one.before);
        third->invoke(x);
        EXPECT_EQ(third->repr(), plain->repr());
      }
    }
  }
}

TEST(LazyLayers, AreMembersOfNetworksWithTheirOptionsInBraces) {
  class Net : public Module {
   public:
    Child<LazyConv2d> conv{this, "conv", 8, {3, 2}, {.padding = 1, .bias = false}};
    Child<LazyConvTranspose1d> up{this, "up", 8, 3, {.stride = 2}};
    Child<LazyBatchNorm2d> norm{this, "norm", {.eps = 1e-3}};
    Child<LazyInstanceNorm1d> style{this, "style", {.affine = false}};
    Child<LazyLinear> head{this, "head", 10, {.bias = false}};
    Child<Layer> any{this, "any", make<LazyLinear>(2)};
  };
  Net net;
  EXPECT_EQ(net.repr(),
            "Net(\n"
            "  (conv): LazyConv2d(0, 8, kernel_size=(3, 2), stride=(1, 1), padding=(1, 1), "
            "bias=False)\n"
            "  (up): LazyConvTranspose1d(0, 8, kernel_size=(3,), stride=(2,))\n"
            "  (norm): LazyBatchNorm2d(0, eps=0.001, momentum=0.1, affine=True, bias=True, "
            "track_running_stats=True)\n"
            "  (style): LazyInstanceNorm1d(0, eps=1e-05, momentum=0.1, affine=False, bias=False, "
            "track_running_stats=True)\n"
            "  (head): LazyLinear(in_features=0, out_features=10, bias=False)\n"
            "  (any): LazyLinear(in_features=0, out_features=2, bias=True)\n)");
}

TEST(LazyConv, AnInputOfTheWrongRankIsRefusedAndTheLayerStaysLazy) {
  LazyConv2d conv(4, 3);
  expect_error<ShapeError>([&] { conv(ones({3, 4})); },
                           "Expected 3D (unbatched) or 4D (batched) input to LazyConv2d, but got "
                           "input of size: torch.Size([3, 4])");
  LazyConv1d first(4, 3);
  expect_error<ShapeError>([&] { first(ones({3})); },
                           "Expected 2D (unbatched) or 3D (batched) input to LazyConv1d");
  LazyConvTranspose3d third(4, 3);
  expect_error<ShapeError>([&] { third(ones({3})); },
                           "Expected 4D (unbatched) or 5D (batched) input to LazyConvTranspose3d");
  EXPECT_EQ(conv.type_name(), "LazyConv2d");
  conv(ones({1, 2, 4, 4}));
  EXPECT_EQ(conv.in_channels, 2);
}

TEST(LazyConv, ChannelsThatTheGroupsDoNotDivideAreRefusedAndNothingStays) {
  LazyConv2d conv(4, 3, {.groups = 2});
  const std::string text = conv.repr();
  expect_error<ValueError>([&] { conv(ones({1, 3, 8, 8})); },
                           "in_channels must be divisible by groups");
  EXPECT_EQ(conv.repr(), text);
  EXPECT_EQ(conv(ones({1, 4, 8, 8})).shape(), Shape({1, 4, 6, 6}));
  expect_error<ValueError>([] { LazyConv2d(3, 3, {.groups = 2}); },
                           "out_channels must be divisible by groups");
}

// test_lazy_conv_transpose1d_kwargs and its kin
TEST(LazyConvTranspose, TakesAnOutputSizeAtTheFirstCall) {
  LazyConvTranspose1d one(32, 2);
  EXPECT_EQ(one(ones({4, 16, 50}), {51}).shape(), Shape({4, 32, 51}));
  LazyConvTranspose2d two(3, 2, {.stride = 2});
  EXPECT_EQ(two(ones({1, 4, 5, 5}), {11, 10}).shape(), Shape({1, 3, 11, 10}));
  LazyConvTranspose3d three(3, 2, {.stride = 2});
  EXPECT_EQ(three(ones({1, 4, 2, 2, 2}), {5, 4, 5}).shape(), Shape({1, 3, 5, 4, 5}));
  EXPECT_EQ(two.type_name(), "ConvTranspose2d");
}

TEST(LazyNorm, WhatIsLazyIsWhatTheOptionsAskFor) {
  for (const bool affine : {true, false}) {
    for (const bool tracks : {true, false}) {
      LazyBatchNorm1d norm({.affine = affine, .track_running_stats = tracks});
      EXPECT_EQ(is_lazy(norm.weight), affine);
      EXPECT_EQ(is_lazy(norm.bias), affine);
      EXPECT_EQ(is_lazy(norm.running_mean), tracks);
      EXPECT_EQ(is_lazy(norm.running_var), tracks);
      EXPECT_EQ(norm.num_batches_tracked.defined(), tracks);
      if (tracks) {
        EXPECT_EQ(norm.num_batches_tracked->item<int>(), 0);
      }
      EXPECT_EQ(norm.has_uninitialized_params(), affine || tracks);
    }
  }
  LazyInstanceNorm2d defaults;
  EXPECT_TRUE(is_lazy(defaults.weight));
  EXPECT_TRUE(is_lazy(defaults.running_mean));
  LazyBatchNorm2d without({.bias = false});
  EXPECT_FALSE(without.bias.defined());
  without(rand({2, 3, 2, 2}));
  EXPECT_EQ(without.repr(), BatchNorm2d(3, {.bias = false}).repr());
}

TEST(LazyNorm, AnInputOfTheWrongRankIsRefusedAndTheLayerStaysLazy) {
  LazyBatchNorm2d norm;
  expect_error<ShapeError>([&] { norm(ones({3, 4})); }, "expected 4D input (got 2D input)");
  LazyBatchNorm1d first;
  expect_error<ShapeError>([&] { first(ones({3})); }, "expected 2D or 3D input (got 1D input)");
  LazyInstanceNorm2d instance;
  expect_error<ShapeError>([&] { instance(ones({3, 4})); },
                           "expected 3D or 4D input (got 2D input)");
  EXPECT_EQ(norm.type_name(), "LazyBatchNorm2d");
  EXPECT_TRUE(norm.has_uninitialized_params());
  EXPECT_EQ(norm.num_features, 0);
}

TEST(LazyNorm, AnUnbatchedInputOfAnInstanceNormSaysItsChannels) {
  LazyInstanceNorm1d norm;
  const Tensor x = rand({3, 4});
  EXPECT_EQ(norm(x).shape(), Shape({3, 4}));
  EXPECT_EQ(norm.num_features, 3);
}

}  // namespace
}  // namespace tenon::nn
