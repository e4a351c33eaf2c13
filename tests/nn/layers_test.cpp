// Layers: first values, names, text, what they calculate and what they refuse.
#include <cmath>

#include "nn/names.h"
#include "support/matchers.h"
#include "support/sha256.h"
#include "tenon/nn/dropout.h"
#include "tenon/nn/embedding.h"
#include "tenon/nn/flatten.h"
#include "tenon/nn/linear.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

std::string digest(const Tensor& tensor) {
  return sha256(std::as_bytes(std::span(tensor.detach().contiguous().data<float>(),
                                        static_cast<std::size_t>(tensor.numel()))));
}

// Of a layer made under the seeds 0, 11 and 2^40 + 11, by PyTorch 2.11. The generator takes the
// lower half of a seed, so the last two are the same.
struct Recorded {
  const char* name;
  const char* at_0;
  const char* at_11;
};

template <class Make>
void expect_first_values(Make&& make, const std::vector<Recorded>& recorded) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{11}, (std::uint64_t{1} << 40) + 11}) {
    manual_seed(seed);
    const auto layer = make();
    EXPECT_EQ(layer->state_dict().size(), recorded.size());
    for (const Recorded& one : recorded) {
      EXPECT_EQ(digest(layer->get_parameter(one.name)), seed == 0 ? one.at_0 : one.at_11)
          << one.name << " seed " << seed;
    }
  }
}

TEST(Layers, HaveTheFirstValuesOfPyTorch) {
  expect_first_values(
      [] { return make<Linear>(20, 30); },
      {{"weight", "c89d81f58d9b7d69de7d5abdb9244752f4617be2907e2da5752e1fbc394e7eee",
        "08766b8bc053cb4fa7ed9cd6a5b0cb966460bf11933d9139e38d17fac149dedb"},
       {"bias", "887ea39e2d3397c0a2a0423e0cf4a65d0300885824e126ec2cea9ada7c74ecd5",
        "c74ee0e8ff5b580b37f51c91387de11d5218d1704cac3d20051d36a01c5bd2ec"}});
  expect_first_values(
      [] { return make<Linear>(7, 3, {.bias = false}); },
      {{"weight", "8e7a937c64187f9ad07e452bbacab6b4e229ab4e6dad148399ebd3e40ce142fa",
        "e39790193333f1e21a18638841984c33f83c1eb25ee6a7c0dac9691d9b182b96"}});
  expect_first_values(
      [] { return make<Bilinear>(3, 4, 5); },
      {{"weight", "2736768210a94ceff3c2e0b5eb9c102d141240181d2db99cbf2c005899bc9bc4",
        "c814120498fe1fa263a6a90266bf337d7a1b572e98e3bd5b9df2972ed75ebced"},
       {"bias", "13db5fd5e0bb47a9d357cdd0816bab80d9552bf9592cc1ee9694cc91583b6f87",
        "587656e3643e028624de2dd7a3fe1cae80092e75f77895354836b12fcc2a046f"}});
  expect_first_values(
      [] { return make<Embedding>(13, 7, {.padding_idx = 2}); },
      {{"weight", "870f6a9a616c8efb1a3f4abf0396d3196eacfd3ef839ca836845d1ec9c433d28",
        "aa975d9a7eeeb0dde4647b1cc95cb1ba6f3c1a8fb1fc464622511a096195dbc2"}});
}

TEST(Layers, HaveTheFirstValuesOfPyTorchInOtherDtypes) {
  manual_seed(0);
  const Linear wide(2, 3, {.dtype = float64});
  EXPECT_EQ(wide.weight->select(0, 0)[0].item<double>(), 0.6647553301890121);
  EXPECT_EQ(wide.bias.get()[2].item<double>(), 0.1150334319677742);
  manual_seed(0);
  const Linear narrow(2, 2, {.dtype = bfloat16});
  EXPECT_EQ(narrow.weight->select(0, 1)[0].item<double>(), -0.58203125);
  EXPECT_EQ(narrow.bias.get()[1].item<double>(), 0.189453125);
}

TEST(Layers, DrawNothingOnMeta) {
  const Tensor before = default_generator().get_state();
  const Linear linear(1000, 1000, {.device = Device("meta")});
  const Bilinear bilinear(10, 10, 10, {.device = Device("meta")});
  const Embedding embedding(10, 10, {.padding_idx = 0, .device = Device("meta")});
  EXPECT_TRUE(linear.weight->is_meta());
  EXPECT_TRUE(bilinear.bias->is_meta());
  EXPECT_TRUE(embedding.weight->is_meta());
  EXPECT_TRUE(equal(before, default_generator().get_state()));
}

TEST(Layers, DrawAgainWhenTheyAreReset) {
  manual_seed(5);
  Linear linear(4, 4);
  Embedding embedding(4, 2, {.padding_idx = 3});
  const Tensor first = linear.weight->clone();
  const Tensor weight = linear.weight;
  linear.reset_parameters();
  EXPECT_FALSE(equal(first, linear.weight));
  EXPECT_TRUE(weight.is(linear.weight));
  EXPECT_TRUE(linear.weight->is_leaf());
  manual_seed(5);
  linear.reset_parameters();
  EXPECT_TRUE(equal(first, linear.weight));
  embedding.reset_parameters();
  EXPECT_TRUE(equal(embedding.weight.get()[3], zeros({2})));
}

TEST(Layers, SayWhatTheyAre) {
  EXPECT_EQ(Linear(5, 7).repr(), "Linear(in_features=5, out_features=7, bias=True)");
  EXPECT_EQ(Linear(3, 5, {.bias = false}).repr(),
            "Linear(in_features=3, out_features=5, bias=False)");
  EXPECT_EQ(Bilinear(3, 4, 5).repr(),
            "Bilinear(in1_features=3, in2_features=4, out_features=5, bias=True)");
  EXPECT_EQ(Bilinear(3, 4, 5, {.bias = false}).repr(),
            "Bilinear(in1_features=3, in2_features=4, out_features=5, bias=False)");
  EXPECT_EQ(Identity(54, "anything").repr(), "Identity()");
  EXPECT_EQ(Embedding(9, 4).repr(), "Embedding(9, 4)");
  EXPECT_EQ(Embedding(9, 4, {.padding_idx = 1}).repr(), "Embedding(9, 4, padding_idx=1)");
  EXPECT_EQ(Embedding(9, 4,
                      {.padding_idx = -1,
                       .max_norm = 1,
                       .norm_type = 1.5,
                       .scale_grad_by_freq = true,
                       .sparse = true})
                .repr(),
            "Embedding(9, 4, padding_idx=8, max_norm=1.0, norm_type=1.5, scale_grad_by_freq=True, "
            "sparse=True)");
  EXPECT_EQ(Embedding(9, 4, {.max_norm = 2.5, .norm_type = 3}).repr(),
            "Embedding(9, 4, max_norm=2.5, norm_type=3.0)");
  EXPECT_EQ(Dropout().repr(), "Dropout(p=0.5, inplace=False)");
  EXPECT_EQ(Dropout({.p = 0.25, .inplace = true}).repr(), "Dropout(p=0.25, inplace=True)");
  EXPECT_EQ(Dropout(0.0).repr(), "Dropout(p=0.0, inplace=False)");
  EXPECT_EQ(Flatten().repr(), "Flatten(start_dim=1, end_dim=-1)");
  EXPECT_EQ(Flatten({.start_dim = 0, .end_dim = 2}).repr(), "Flatten(start_dim=0, end_dim=2)");
}

TEST(Layers, HavePyTorchsKeys) {
  EXPECT_THAT(names(Linear(2, 3).state_dict()), ElementsAre("weight", "bias"));
  EXPECT_THAT(names(Linear(2, 3, {.bias = false}).state_dict()), ElementsAre("weight"));
  EXPECT_THAT(names(Bilinear(2, 3, 4).state_dict()), ElementsAre("weight", "bias"));
  EXPECT_THAT(names(Embedding(2, 3).state_dict()), ElementsAre("weight"));
  EXPECT_TRUE(Dropout().state_dict().empty());
  EXPECT_TRUE(Flatten().state_dict().empty());
  EXPECT_TRUE(Identity().state_dict().empty());
  const Linear linear(2, 3, {.bias = false});
  EXPECT_TRUE(linear.bias.registered());
  EXPECT_FALSE(linear.bias.defined());
}

TEST(Linear, MultipliesByItsWeight) {
  Linear linear(2, 3);
  {
    const NoGradScope no_grad;
    linear.weight->copy_(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
    linear.bias->copy_(tensor({0.5, 0.0, -0.5}));
  }
  EXPECT_TRUE(
      equal(linear(tensor({{1.0, 1.0}, {2.0, 0.0}})), tensor({{3.5, 7.0, 10.5}, {2.5, 6.0, 9.5}})));
  EXPECT_EQ(linear(ones({4, 5, 2})).shape(), Shape({4, 5, 3}));
  EXPECT_EQ(linear(ones({2})).shape(), Shape({3}));
  linear.bias = Tensor();
  EXPECT_TRUE(equal(linear(tensor({1.0, 1.0})), tensor({3.0, 7.0, 11.0})));
  EXPECT_TRUE(linear(ones({2})).requires_grad());
}

TEST(Linear, RefusesWhatDoesNotFit) {
  Linear linear(3, 4);
  EXPECT_THROW(linear(ones({2, 5})), ShapeError);
  EXPECT_THROW(linear(ones({2, 3}, {.dtype = float64})), DTypeError);
  EXPECT_THROW(linear(Tensor()), Error);
  EXPECT_THROW(Linear(-1, 4), Error);
  EXPECT_EQ(Linear(0, 4)(ones({2, 0})).shape(), Shape({2, 4}));
}

TEST(Bilinear, MultipliesBothInputs) {
  Bilinear bilinear(2, 2, 1);
  {
    const NoGradScope no_grad;
    bilinear.weight->copy_(tensor({{{1.0, 2.0}, {3.0, 4.0}}}));
    bilinear.bias->fill_(10);
  }
  EXPECT_TRUE(equal(bilinear(tensor({{1.0, 2.0}}), tensor({{3.0, 4.0}})), tensor({{71.0}})));
  EXPECT_THROW(bilinear(ones({1, 3}), ones({1, 2})), ShapeError);
  EXPECT_THROW(bilinear(ones({1, 2}), ones({2, 2})), ShapeError);
  EXPECT_EQ(message_of<ValueError>([] { Bilinear(0, 4, 3); }),
            "in1_features must be > 0, but got (in1_features=0)");
}

TEST(Embedding, LooksRowsUp) {
  const Tensor rows = arange(6.0).view({3, 2});
  Embedding embedding(3, 2, {.weight = rows});
  EXPECT_TRUE(embedding.weight->requires_grad());
  EXPECT_TRUE(embedding.weight->storage().is(rows.storage()));
  EXPECT_TRUE(equal(embedding(tensor({{2, 0}})), tensor({{{4.0, 5.0}, {0.0, 1.0}}})));
  EXPECT_THROW(embedding(tensor({3})), IndexError);
  EXPECT_THROW(embedding(tensor({-1})), IndexError);
  EXPECT_THROW(embedding(tensor({1.0})), DTypeError);
}

TEST(Embedding, IsMadeFromAMatrix) {
  const Tensor rows = arange(6.0).view({3, 2});
  const auto frozen = Embedding::from_pretrained(rows, {.padding_idx = -1, .max_norm = 3.0});
  EXPECT_EQ(frozen->repr(), "Embedding(3, 2, padding_idx=2, max_norm=3.0)");
  EXPECT_FALSE(frozen->weight->requires_grad());
  EXPECT_TRUE(equal(frozen->weight, rows));  // the padding row too
  EXPECT_TRUE(frozen->weight->storage().is(rows.storage()));
  EXPECT_TRUE(Embedding::from_pretrained(rows, {.freeze = false})->weight->requires_grad());
  EXPECT_EQ(nn::clone(*frozen)->max_norm, 3.0);
  EXPECT_FALSE(Embedding(3, 2, {.freeze = true}).weight->requires_grad());
}

TEST(Embedding, ShortensLongRowsWhenTheyAreUsed) {
  Embedding embedding(3, 2,
                      {.max_norm = 1.0, .weight = tensor({{3.0, 4.0}, {0.1, 0.2}, {30.0, 40.0}})});
  const Tensor found = embedding(tensor({0, 1}));
  EXPECT_NEAR(found[0][0].item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(embedding.weight.get()[0][1].item<double>(), 0.8, 1e-6);
  EXPECT_EQ(embedding.weight.get()[2][1].item<double>(), 40);
}

TEST(Embedding, RefusesWhatDoesNotFit) {
  EXPECT_THAT(message_of<ValueError>([] { Embedding(3, 4, {.padding_idx = 3}); }),
              testing::HasSubstr("Padding_idx must be within num_embeddings"));
  expect_error<ValueError>([] { Embedding(3, 4, {.padding_idx = -4}); }, "-4", "3");
  expect_error<ShapeError>([] { Embedding(3, 4, {.weight = ones({2, 4})}); },
                           "Shape of weight does not match num_embeddings and embedding_dim");
  expect_error<ShapeError>([] { Embedding::from_pretrained(ones({3})); },
                           "Embeddings parameter is expected to be 2-dimensional");
}

TEST(Dropout, LeavesOutWhileTraining) {
  Dropout dropout;
  manual_seed(3);
  EXPECT_TRUE(equal(dropout(ones({8})), tensor({2.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0})));
  const Tensor x = ones({8});
  dropout.eval();
  EXPECT_TRUE(equal(dropout(x), x));
  Dropout inplace({.p = 1.0, .inplace = true});
  inplace(x);
  EXPECT_TRUE(equal(x, zeros({8})));
  EXPECT_EQ(message_of<ValueError>([] { Dropout(-0.1); }),
            "dropout probability has to be between 0 and 1, but got -0.1");
  expect_error<ValueError>([] { Dropout(1.5); }, "1.5");
  expect_error<ValueError>([] { Dropout(std::nan("")); }, "nan");
}

TEST(Flatten, MakesSeveralDimensionsOne) {
  EXPECT_EQ(Flatten()(ones({2, 3, 4})).shape(), Shape({2, 12}));
  EXPECT_EQ(Flatten({.start_dim = 0, .end_dim = 1})(ones({2, 3, 4})).shape(), Shape({6, 4}));
  EXPECT_THROW(Flatten()(ones({3})), IndexError);
}

TEST(Identity, GivesWhatItIsGiven) {
  const Tensor x = ones({2});
  EXPECT_TRUE(Identity()(x).is(x));
}

}  // namespace
}  // namespace tenon::nn
