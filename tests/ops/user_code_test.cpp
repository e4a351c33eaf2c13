// User code in the middle of a function: operators of user-defined tensors, and the handler of
// warnings. It takes away what the function was given. Sanitizers find what is not expected here.
#include <unistd.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "support/talker.h"

namespace tenon {
namespace {

// The caller's variables.
using Own = std::vector<std::unique_ptr<Tensor>>;

struct Function {
  const char* name;
  std::vector<Tensor> given;
  std::function<Tensor(const Own&)> run;
};
std::string name_of(const testing::TestParamInfo<Function>& info) { return info.param.name; }
void PrintTo(const Function& one, std::ostream* out) { *out << one.name; }

Own variables(const std::vector<Tensor>& given, bool talk) {
  Own own;
  for (const Tensor& tensor : given) {
    own.push_back(
        std::make_unique<Tensor>(talk ? make_tensor<Talker>(tensor.clone()) : tensor.clone()));
  }
  return own;
}

// What user code does to them. With a variable that names nothing any more, a function that uses it
// fails; one that is gone is for sanitizers.
const std::pair<const char*, std::function<void(Own&)>> kDeeds[] = {
    {"undefine",
     [](Own& own) {
       for (auto& tensor : own) *tensor = Tensor();
     }},
    {"destroy",
     [](Own& own) {
       for (auto& tensor : own) tensor.reset();
     }},
};

class ArgumentsOf : public testing::TestWithParam<Function> {};

TEST_P(ArgumentsOf, StayWhateverAnOperatorDoesToTheCallersVariables) {
  for (const auto& [name, deed] : kDeeds) {
    for (int when = 1; when < 200; ++when) {
      SCOPED_TRACE(testing::Message() << name << " at step " << when);
      Own own = variables(GetParam().given, true);
      int calls = 0;
      const Talker::Steps steps([&] {
        if (++calls == when) deed(own);
      });
      EXPECT_NO_THROW(EXPECT_TRUE(GetParam().run(own).defined()));
      EXPECT_GT(calls, 0);
      if (calls < when) break;
    }
  }
}

// Of what returns the variable that it was given, which may be gone.
Tensor done(const Tensor& /*returned*/) { return ones({}); }

const Tensor kPair = ones({2, 3}), kRow = ones({3}), kPositions = zeros({2}, {.dtype = int64});
const Tensor kMask = ones({2, 3}, {.dtype = bool_});

INSTANTIATE_TEST_SUITE_P(
    Losses, ArgumentsOf,
    testing::Values(
        Function{"mse", {kPair, kPair}, [](const Own& own) { return mse_loss(*own[0], *own[1]); }},
        Function{"l1", {kPair, kPair}, [](const Own& own) { return l1_loss(*own[0], *own[1]); }},
        Function{"smooth",
                 {kPair, kPair},
                 [](const Own& own) { return smooth_l1_loss(*own[0], *own[1]); }},
        Function{
            "huber", {kPair, kPair}, [](const Own& own) { return huber_loss(*own[0], *own[1]); }},
        Function{
            "nll", {kPair, kPositions}, [](const Own& own) { return nll_loss(*own[0], *own[1]); }},
        Function{"cross_entropy",
                 {kPair, kPositions},
                 [](const Own& own) { return cross_entropy(*own[0], *own[1]); }},
        Function{"bce",
                 {kPair, kPair},
                 [](const Own& own) { return binary_cross_entropy(*own[0], *own[1]); }},
        Function{"bce_with_logits",
                 {kPair, kPair},
                 [](const Own& own) { return binary_cross_entropy_with_logits(*own[0], *own[1]); }},
        Function{"kl_div", {kPair, kPair}, [](const Own& own) { return kl_div(*own[0], *own[1]); }},
        Function{"poisson",
                 {kPair, kPair},
                 [](const Own& own) { return poisson_nll_loss(*own[0], *own[1]); }},
        Function{"gaussian",
                 {kPair, kPair, kPair},
                 [](const Own& own) { return gaussian_nll_loss(*own[0], *own[1], *own[2]); }},
        Function{"gaussian_of_a_number",
                 {kPair, kPair},
                 [](const Own& own) { return gaussian_nll_loss(*own[0], *own[1], 0.5); }},
        Function{"soft_margin",
                 {kPair, kPair},
                 [](const Own& own) { return soft_margin_loss(*own[0], *own[1]); }},
        Function{"hinge",
                 {kPair, kPair},
                 [](const Own& own) { return hinge_embedding_loss(*own[0], *own[1]); }},
        Function{"ranking",
                 {kPair, kPair, kPair},
                 [](const Own& own) { return margin_ranking_loss(*own[0], *own[1], *own[2]); }},
        Function{"cosine",
                 {kPair, kPair, ones({2})},
                 [](const Own& own) { return cosine_embedding_loss(*own[0], *own[1], *own[2]); }},
        Function{"triplet",
                 {kPair, kPair, kPair},
                 [](const Own& own) {
                   return triplet_margin_loss(*own[0], *own[1], *own[2], {.swap = true});
                 }},
        Function{"triplet_with_distance",
                 {kPair, kPair, kPair},
                 [](const Own& own) {
                   return triplet_margin_with_distance_loss(*own[0], *own[1], *own[2],
                                                            {.swap = true});
                 }},
        Function{"multi_margin",
                 {kPair, kPositions},
                 [](const Own& own) { return multi_margin_loss(*own[0], *own[1]); }},
        Function{"multilabel_soft_margin",
                 {kPair, kPair},
                 [](const Own& own) { return multilabel_soft_margin_loss(*own[0], *own[1]); }},
        Function{"cosine_similarity",
                 {kPair, kPair},
                 [](const Own& own) { return cosine_similarity(*own[0], *own[1]); }},
        Function{"pairwise_distance",
                 {kPair, kPair},
                 [](const Own& own) { return pairwise_distance(*own[0], *own[1]); }}),
    name_of);

Function activation(const char* name, Tensor (*run)(const Tensor&)) {
  return {name, {kPair}, [run](const Own& own) { return run(*own[0]); }};
}

INSTANTIATE_TEST_SUITE_P(
    Activations, ArgumentsOf,
    testing::Values(
        activation("relu", [](const Tensor& x) { return relu(x, {.inplace = true}); }),
        activation("relu6", [](const Tensor& x) { return relu6(x, {.inplace = true}); }),
        activation("threshold",
                   [](const Tensor& x) { return threshold(x, 0, 1, {.inplace = true}); }),
        activation("hardtanh", [](const Tensor& x) { return hardtanh(x, {.inplace = true}); }),
        activation("hardsigmoid",
                   [](const Tensor& x) { return hardsigmoid(x, {.inplace = true}); }),
        activation("hardswish", [](const Tensor& x) { return hardswish(x, {.inplace = true}); }),
        activation("silu", [](const Tensor& x) { return silu(x, {.inplace = true}); }),
        activation("mish", [](const Tensor& x) { return mish(x, {.inplace = true}); }),
        activation("elu", [](const Tensor& x) { return elu(x, {.inplace = true}); }),
        activation("celu", [](const Tensor& x) { return celu(x, {.inplace = true}); }),
        activation("selu", [](const Tensor& x) { return selu(x, {.inplace = true}); }),
        activation("leaky_relu", [](const Tensor& x) { return leaky_relu(x, {.inplace = true}); }),
        activation("rrelu",
                   [](const Tensor& x) { return rrelu(x, {.training = true, .inplace = true}); }),
        activation("selu_", [](const Tensor& x) { return done(selu_(x)); }),
        activation("softsign", [](const Tensor& x) { return softsign(x); }),
        activation("tanhshrink", [](const Tensor& x) { return tanhshrink(x); }),
        activation("softmin", [](const Tensor& x) { return softmin(x); }),
        activation("normalize", [](const Tensor& x) { return normalize(x); }),
        activation("gumbel_softmax",
                   [](const Tensor& x) { return gumbel_softmax(x, {.hard = true}); }),
        activation("dropout", [](const Tensor& x) { return dropout(x, {.inplace = true}); }),
        activation("dropout1d", [](const Tensor& x) { return dropout1d(x); }),
        activation("dropout1d_inplace",
                   [](const Tensor& x) { return dropout1d(x, {.inplace = true}); }),
        activation("dropout2d", [](const Tensor& x) { return dropout2d(x, {.inplace = true}); }),
        activation("dropout3d", [](const Tensor& x) { return dropout3d(x.view({1, 1, 2, 3})); }),
        activation("alpha_dropout",
                   [](const Tensor& x) { return alpha_dropout(x, {.training = true}); })),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Layers, ArgumentsOf,
    testing::Values(
        Function{"linear",
                 {kPair, kPair, ones({2})},
                 [](const Own& own) { return linear(*own[0], *own[1], *own[2]); }},
        Function{"bilinear",
                 {kPair, kPair, ones({4, 3, 3}), ones({4})},
                 [](const Own& own) { return bilinear(*own[0], *own[1], *own[2], *own[3]); }},
        Function{"same_convolution",
                 {ones({1, 1, 4, 4}), ones({1, 1, 2, 2}), ones({1})},
                 [](const Own& own) {
                   return conv2d(*own[0], *own[1], {.bias = *own[2], .padding = "same"});
                 }},
        Function{"unbatched_convolution",
                 {ones({1, 4}), ones({1, 1, 2})},
                 [](const Own& own) { return conv1d(*own[0], *own[1]); }},
        Function{"batch_norm",
                 {kPair, ones({3}), ones({3})},
                 [](const Own& own) {
                   return batch_norm(*own[0], *own[1], *own[2], {.training = true});
                 }},
        Function{"local_response_norm",
                 {ones({1, 2, 3})},
                 [](const Own& own) { return local_response_norm(*own[0], 2); }},
        Function{
            "grid_sample",
            {ones({1, 1, 3, 3}), zeros({1, 2, 2, 2})},
            [](const Own& own) { return grid_sample(*own[0], *own[1], {.align_corners = true}); }},
        Function{"affine_grid",
                 {ones({1, 2, 3})},
                 [](const Own& own) {
                   return affine_grid(*own[0], {1, 1, 2, 2}, {.align_corners = true});
                 }},
        Function{"attention",
                 {ones({1, 2, 3}), ones({1, 2, 3}), ones({1, 2, 3})},
                 [](const Own& own) {
                   return scaled_dot_product_attention(*own[0], *own[1], *own[2],
                                                       {.is_causal = true});
                 }},
        Function{"multi_head_attention",
                 {ones({3, 2, 4}), ones({3, 2, 4}), ones({3, 2, 4}), ones({12, 4}), ones({12}),
                  ones({1, 1, 4}), ones({1, 1, 4}), ones({4, 4}), ones({4})},
                 [](const Own& own) {
                   return std::get<0>(multi_head_attention_forward(
                       *own[0], *own[1], *own[2], 4, 2, *own[3], *own[4], *own[5], *own[6], true, 0,
                       *own[7], *own[8]));
                 }},
        Function{"embedding_bag",
                 {zeros({2, 2}, {.dtype = int64}), kPair},
                 [](const Own& own) { return embedding_bag(*own[0], *own[1], {.max_norm = 1.0}); }},
        Function{"fold_and_unfold",
                 {ones({1, 4, 4})},
                 [](const Own& own) { return fold(*own[0], {3, 3}, {2, 2}); }},
        Function{
            "lp_pool", {ones({1, 4, 4})}, [](const Own& own) { return lp_pool2d(*own[0], 2, 2); }},
        Function{"circular_pad",
                 {ones({1, 1, 4, 4})},
                 [](const Own& own) { return pad(*own[0], {1, 1, 1, 1}, {.mode = "circular"}); }}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Others, ArgumentsOf,
    testing::Values(
        Function{
            "isclose", {kPair, kPair}, [](const Own& own) { return isclose(*own[0], *own[1]); }},
        Function{"isclose_with_nan",
                 {kPair, kPair},
                 [](const Own& own) { return isclose(*own[0], *own[1], {.equal_nan = true}); }},
        Function{"masked_scatter_",
                 {kPair, kMask, kPair},
                 [](const Own& own) {
                   return done(own[0]->masked_scatter_(Talker::unwrap(*own[1]), *own[2]));
                 }},
        Function{"masked_scatter",
                 {kPair, kMask, kPair},
                 [](const Own& own) {
                   return own[0]->masked_scatter(Talker::unwrap(*own[1]), *own[2]);
                 }},
        Function{"index",
                 {kPair},
                 [](const Own& own) { return own[0]->index({0, Ellipsis, kPositions}); }},
        Function{
            "index_ellipsis", {kPair}, [](const Own& own) { return own[0]->index({Ellipsis}); }},
        Function{"index_put_",
                 {kPair, ones({})},
                 [](const Own& own) { return done(own[0]->index_put_({0, kPositions}, *own[1])); }},
        Function{"index_put_a_number",
                 {kPair},
                 [](const Own& own) { return done(own[0]->index_put_({0, kPositions}, 2.0)); }},
        Function{"add_out",
                 {kPair, kPair, kPair},
                 [](const Own& own) { return done(add_out(*own[0], *own[1], *own[2])); }},
        Function{"matmul_out",
                 {ones({2}), kPair, kRow},
                 [](const Own& own) { return done(matmul_out(*own[0], *own[1], *own[2])); }},
        Function{"round_to_decimals",
                 {kPair},
                 [](const Own& own) { return round(*own[0], {.decimals = 2}); }},
        Function{"max_out",
                 {ones({2}), kPositions, kPair},
                 [](const Own& own) { return std::get<0>(max_out(*own[0], *own[1], *own[2], 1)); }},
        Function{"einsum",
                 {kPair, ones({3, 2})},
                 [](const Own& own) { return einsum("ij,jk->ik", {*own[0], *own[1]}); }},
        Function{"tensordot",
                 {kPair, kPair},
                 [](const Own& own) { return tensordot(*own[0], *own[1], {0, 1}, {0, 1}); }},
        Function{"chain_matmul",
                 {kPair, ones({3, 2}), kPair},
                 [](const Own& own) { return chain_matmul({*own[0], *own[1], *own[2]}); }},
        Function{"hstack",
                 {ones({}), ones({})},
                 [](const Own& own) { return hstack({*own[0], *own[1]}); }},
        Function{"vstack",
                 {ones({3}), ones({3})},
                 [](const Own& own) { return vstack({*own[0], *own[1]}); }},
        Function{"tile", {kPair}, [](const Own& own) { return tile(*own[0], {2, 2}); }},
        Function{"repeat_interleave",
                 {kPair},
                 [](const Own& own) { return repeat_interleave(*own[0], 2, 1); }},
        Function{"norm", {kPair}, [](const Own& own) { return own[0]->norm({.dtype = float64}); }},
        Function{"outer", {kRow, kRow}, [](const Own& own) { return outer(*own[0], *own[1]); }},
        Function{"var_mean",
                 {kPair},
                 [](const Own& own) { return std::get<1>(var_mean(*own[0], {1})); }},
        Function{"std_mean",
                 {kPair},
                 [](const Own& own) { return std::get<1>(std_mean(*own[0], {1})); }},
        Function{"tensor_split_in_parts",
                 {kPair},
                 [](const Own& own) { return own[0]->tensor_split(2, 1)[1]; }},
        Function{"tensor_split_at",
                 {kPair},
                 [](const Own& own) { return own[0]->tensor_split({1, 2}, 1)[2]; }},
        Function{"meshgrid",
                 {kRow, kRow},
                 [](const Own& own) { return meshgrid({*own[0], *own[1]})[1]; }},
        Function{"broadcast_tensors",
                 {kRow, kPair},
                 [](const Own& own) { return broadcast_tensors({*own[0], *own[1]})[1]; }},
        Function{"empty_like", {kPair}, [](const Own& own) { return empty_like(*own[0]); }},
        Function{"full_like", {kPair}, [](const Own& own) { return full_like(*own[0], 2); }},
        Function{"rand_like", {kPair}, [](const Own& own) { return rand_like(*own[0]); }},
        Function{"randn_like", {kPair}, [](const Own& own) { return randn_like(*own[0]); }},
        Function{"randint_like", {kPair}, [](const Own& own) { return randint_like(*own[0], 9); }},
        Function{"cov_like_reductions", {kPair}, [](const Own& own) { return own[0]->std(); }},
        Function{"logsumexp", {kPair}, [](const Own& own) { return own[0]->logsumexp({1}); }},
        Function{"cdist", {kPair, kPair}, [](const Own& own) { return cdist(*own[0], *own[1]); }},
        Function{"kron", {kPair, kPair}, [](const Own& own) { return kron(*own[0], *own[1]); }},
        Function{
            "copy_", {kPair, kPair}, [](const Own& own) { return done(own[0]->copy_(*own[1])); }},
        Function{"module_load",
                 {kPair, kPair},
                 [](const Own& own) { return own[0]->module_load(*own[1]); }},
        Function{
            "make_parameter", {kPair}, [](const Own& own) { return nn::make_parameter(*own[0]); }},
        Function{"clip_grad_norm_",
                 {kPair},
                 [](const Own& own) {
                   const Tensor leaf = ones({2, 3});
                   leaf.set_grad(*own[0]);
                   return nn::utils::clip_grad_norm_({leaf}, 0.1);
                 }}),
    name_of);

// A copy, and then an operator in place.
const Tensor kPlaces = zeros({2, 3}, {.dtype = int64}), kRows = zeros({1}, {.dtype = int64});

INSTANTIATE_TEST_SUITE_P(
    Positions, ArgumentsOf,
    testing::Values(
        Function{
            "scatter",
            {kPair, kPlaces, kPair},
            [](const Own& own) { return scatter(*own[0], 1, Talker::unwrap(*own[1]), *own[2]); }},
        Function{"scatter_a_number",
                 {kPair, kPlaces},
                 [](const Own& own) { return scatter(*own[0], 1, *own[1], 2.0); }},
        Function{"scatter_add",
                 {kPair, kPlaces, kPair},
                 [](const Own& own) { return scatter_add(*own[0], 1, *own[1], *own[2]); }},
        Function{
            "scatter_reduce",
            {kPair, kPlaces, kPair},
            [](const Own& own) { return scatter_reduce(*own[0], 1, *own[1], *own[2], "amax"); }},
        Function{"index_add",
                 {kPair, kRows, ones({1, 3})},
                 [](const Own& own) { return index_add(*own[0], 0, *own[1], *own[2]); }},
        Function{"index_copy",
                 {kPair, kRows, ones({1, 3})},
                 [](const Own& own) { return index_copy(*own[0], 0, *own[1], *own[2]); }},
        Function{"index_copy_with_autocast",
                 {kPair.to(bfloat16), kRows, ones({1, 3})},
                 [](const Own& own) {
                   const AutocastScope autocast("cpu");
                   return index_copy(*own[0], 0, *own[1], *own[2]);
                 }},
        Function{"index_fill",
                 {kPair, kRows, ones({})},
                 [](const Own& own) { return index_fill(*own[0], 0, *own[1], *own[2]); }},
        Function{"index_fill_a_number",
                 {kPair, kRows},
                 [](const Own& own) { return index_fill(*own[0], 0, *own[1], 2.0); }}),
    name_of);

Function first_values(const char* name, const Tensor& given, void (*run)(const Tensor&)) {
  return {name, {given}, [run](const Own& own) {
            run(*own[0]);
            return ones({});
          }};
}

INSTANTIATE_TEST_SUITE_P(
    FirstValues, ArgumentsOf,
    testing::Values(
        first_values("uniform_", kPair, [](const Tensor& x) { nn::init::uniform_(x); }),
        first_values("normal_", kPair, [](const Tensor& x) { nn::init::normal_(x); }),
        first_values("trunc_normal_", kPair, [](const Tensor& x) { nn::init::trunc_normal_(x); }),
        first_values("trunc_normal_far", kPair,
                     [](const Tensor& x) { nn::init::trunc_normal_(x, {.a = 1.5, .b = 2}); }),
        first_values("constant_", kPair, [](const Tensor& x) { nn::init::constant_(x, 2); }),
        first_values("eye_", kPair, [](const Tensor& x) { nn::init::eye_(x); }),
        first_values("dirac_", ones({4, 2, 3}),
                     [](const Tensor& x) { nn::init::dirac_(x, {.groups = 2}); }),
        first_values("xavier_uniform_", kPair,
                     [](const Tensor& x) { nn::init::xavier_uniform_(x); }),
        first_values("xavier_normal_", kPair, [](const Tensor& x) { nn::init::xavier_normal_(x); }),
        first_values("kaiming_uniform_", kPair,
                     [](const Tensor& x) { nn::init::kaiming_uniform_(x); }),
        first_values("kaiming_normal_", kPair,
                     [](const Tensor& x) { nn::init::kaiming_normal_(x); }),
        first_values("orthogonal_", kPair, [](const Tensor& x) { nn::init::orthogonal_(x); }),
        first_values("sparse_", kPair, [](const Tensor& x) { nn::init::sparse_(x, 0.5); })),
    name_of);

Tensor positions(std::initializer_list<std::int64_t> numbers) {
  return tensor(std::vector<std::int64_t>(numbers));
}

INSTANTIATE_TEST_SUITE_P(
    Sequences, ArgumentsOf,
    testing::Values(
        Function{"pack_padded_sequence",
                 {ones({3, 2, 4})},
                 [](const Own& own) {
                   return nn::utils::rnn::pack_padded_sequence(*own[0], {2, 3},
                                                               {.enforce_sorted = false})
                       .data;
                 }},
        Function{"pad_packed_sequence",
                 {ones({5, 4}), positions({1, 0}), positions({1, 0})},
                 [](const Own& own) {
                   // Of the caller's, too.
                   const auto packed = std::make_unique<nn::utils::rnn::PackedSequence>();
                   *packed = {*own[0], positions({2, 2, 1}), *own[1], *own[2]};
                   return std::get<0>(nn::utils::rnn::pad_packed_sequence(*packed));
                 }},
        Function{"unpad_sequence",
                 {ones({3, 2, 4})},
                 [](const Own& own) {
                   return nn::utils::rnn::unpad_sequence(*own[0], positions({3, 2}))[0];
                 }},
        Function{"pad_sequence",
                 {ones({3, 4}), ones({2, 4})},
                 [](const Own& own) { return nn::utils::rnn::pad_sequence({*own[0], *own[1]}); }},
        Function{"LSTM",
                 {ones({3, 2, 4}), ones({1, 2, 2}), ones({1, 2, 2})},
                 [](const Own& own) {
                   return std::get<0>(nn::LSTM(4, 2)(*own[0], {*own[1], *own[2]}, Tensor()));
                 }},
        Function{"LSTMCell",
                 {ones({4}), ones({2}), ones({2})},
                 [](const Own& own) {
                   return std::get<0>(nn::LSTMCell(4, 2)(*own[0], {*own[1], *own[2]}));
                 }},
        Function{"TransformerEncoderLayer",
                 {ones({3, 2, 4})},
                 [](const Own& own) {
                   return nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 4})(
                       *own[0], nn::TransformerEncoderLayerCall());
                 }},
        Function{"TransformerDecoderLayer",
                 {ones({3, 2, 4}), ones({3, 2, 4})},
                 [](const Own& own) {
                   return nn::TransformerDecoderLayer(4, 2, {.dim_feedforward = 4})(
                       *own[0], *own[1], nn::TransformerDecoderLayerCall());
                 }},
        Function{"Transformer",
                 {ones({3, 2, 4}), ones({3, 2, 4})},
                 [](const Own& own) {
                   return nn::Transformer({.d_model = 4,
                                           .nhead = 2,
                                           .num_encoder_layers = 1,
                                           .num_decoder_layers = 1,
                                           .dim_feedforward = 4})(*own[0], *own[1],
                                                                  nn::TransformerCall());
                 }}),
    name_of);

// A number is the caller's variable, too.
struct OfANumber {
  const char* name;
  Tensor (*run)(const Tensor& self, const Scalar& value);
};
void PrintTo(const OfANumber& one, std::ostream* out) { *out << one.name; }

class NumbersOf : public testing::TestWithParam<OfANumber> {};

TEST_P(NumbersOf, StayWhateverAnOperatorDoesToTheCallersVariable) {
  const Tensor expected = GetParam().run(kPair.clone(), 2.0);
  for (int when = 1; when < 50; ++when) {
    SCOPED_TRACE(testing::Message() << "step " << when);
    auto number = std::make_unique<Scalar>(2.0);
    const Tensor self = make_tensor<Talker>(kPair.clone());
    int calls = 0;
    Tensor result;
    {
      const Talker::Steps steps([&] {
        if (++calls == when) number.reset();
      });
      result = GetParam().run(self, *number);
    }
    EXPECT_TRUE(equal(Talker::unwrap(result), expected));
    EXPECT_GT(calls, 0);
    if (calls < when) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NumbersOf,
                         testing::Values(OfANumber{"scatter",
                                                   [](const Tensor& x, const Scalar& n) {
                                                     return scatter(x, 1, kPlaces, n);
                                                   }},
                                         OfANumber{"index_fill",
                                                   [](const Tensor& x, const Scalar& n) {
                                                     return index_fill(x, 0, kRows, n);
                                                   }},
                                         OfANumber{"index_put_",
                                                   [](const Tensor& x, const Scalar& n) {
                                                     const Tensor own = x;
                                                     own.index_put_({0, kPositions}, n);
                                                     return own;
                                                   }},
                                         OfANumber{"index_put_of_a_slice",
                                                   [](const Tensor& x, const Scalar& n) {
                                                     const Tensor own = x;
                                                     own.index_put_({0, Slice(0, 2)}, n);
                                                     return own;
                                                   }}),
                         [](const auto& one) { return std::string(one.param.name); });

// So are options.
TEST(Arguments, StayWhateverAnOperatorDoesToTheCallersOptions) {
  RepeatInterleaveOptions options{.dim = 1, .output_size = 6};
  const Tensor self = make_tensor<Talker>(kPair.clone());
  int calls = 0;
  const Talker::Steps steps([&] {
    ++calls;
    options = {.dim = 0, .output_size = 1};
  });
  EXPECT_NO_THROW(EXPECT_EQ(repeat_interleave(self, 2, options).size(1), 6));
  EXPECT_GT(calls, 0);
}

// A layer whose counter is somebody's.
TEST(Arguments, StayWhateverCountingBatchesDoes) {
  auto input = std::make_unique<Tensor>(kPair.clone());
  nn::BatchNorm1d layer(3);
  layer.num_batches_tracked = make_tensor<Talker>(zeros({}, {.dtype = int64}));
  const Talker::Steps steps([&] { input.reset(); });
  EXPECT_NO_THROW(layer(*input));
  EXPECT_EQ(input, nullptr);
}

// The memory that it had goes last.
TEST(Arguments, OfSetDataMayGoWithItsMemory) {
  float element = 1;
  auto tensor = std::make_unique<Tensor>();
  *tensor = from_blob(&element, {1}, {.deleter = [&](void*) { tensor.reset(); }}).requires_grad_();
  tensor->set_data(ones({2}));
  EXPECT_EQ(tensor, nullptr);
}

// Warnings. Their handler does it to plain tensors.
class WarnedArgumentsOf : public testing::TestWithParam<Function> {};

TEST_P(WarnedArgumentsOf, StayWhateverTheHandlerDoesToTheCallersVariables) {
  const Tensor expected = GetParam().run(variables(GetParam().given, false));
  for (const auto& [name, deed] : kDeeds) {
    SCOPED_TRACE(name);
    Own own = variables(GetParam().given, false);
    int said = 0;
    const auto before = set_warning_handler([&](const std::string&) {
      ++said;
      deed(own);
    });
    EXPECT_NO_THROW(EXPECT_TRUE(equal(GetParam().run(own), expected)));
    set_warning_handler(before);
    EXPECT_GT(said, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WarnedArgumentsOf,
    testing::Values(
        Function{
            "mse", {ones({3}), kPair}, [](const Own& own) { return mse_loss(*own[0], *own[1]); }},
        Function{"weighted_mse",
                 {kPair, ones({3}), kPair},
                 [](const Own& own) { return mse_loss(*own[0], *own[1], {.weight = *own[2]}); }},
        Function{
            "l1", {ones({3}), kPair}, [](const Own& own) { return l1_loss(*own[0], *own[1]); }},
        Function{"smooth",
                 {ones({3}), kPair},
                 [](const Own& own) { return smooth_l1_loss(*own[0], *own[1]); }},
        Function{"huber",
                 {ones({3}), kPair},
                 [](const Own& own) { return huber_loss(*own[0], *own[1]); }},
        Function{"kl_div", {kPair, kPair}, [](const Own& own) { return kl_div(*own[0], *own[1]); }},
        Function{"softmax", {kPair}, [](const Own& own) { return softmax(*own[0]); }},
        Function{"log_softmax", {kPair}, [](const Own& own) { return log_softmax(*own[0]); }},
        Function{"softmin", {kPair}, [](const Own& own) { return softmin(*own[0]); }},
        Function{"dropout2d",
                 {ones({2, 3, 4})},
                 [](const Own& own) { return dropout2d(*own[0], {.p = 0}); }},
        Function{"dropout2d_of_two",
                 {kPair},
                 [](const Own& own) { return dropout2d(*own[0], {.p = 0}); }},
        Function{"dropout3d", {kPair}, [](const Own& own) { return dropout3d(*own[0], {.p = 0}); }},
        Function{"grid_sample",
                 {ones({1, 1, 3, 3}), zeros({1, 2, 2, 2})},
                 [](const Own& own) { return grid_sample(*own[0], *own[1]); }},
        Function{"affine_grid",
                 {ones({1, 2, 3})},
                 [](const Own& own) { return affine_grid(*own[0], {1, 1, 2, 2}); }},
        Function{"instance_norm",
                 {ones({2, 3, 4})},
                 [](const Own& own) { return nn::InstanceNorm1d(5)(*own[0]); }},
        Function{"trunc_normal_",
                 {kPair},
                 [](const Own& own) {
                   return done(nn::init::trunc_normal_(*own[0], {.mean = 5, .a = -1, .b = 1}));
                 }},
        Function{"random_",
                 {zeros({4}, {.dtype = float16})},
                 [](const Own& own) { return done(own[0]->random_(3000)); }},
        Function{"multi_head_attention",
                 {ones({3, 2, 4}), ones({12, 4}), ones({12}), ones({4, 4}), ones({4}),
                  ones({2, 3}, {.dtype = bool_}).logical_not(), zeros({3, 3})},
                 [](const Own& own) {
                   return std::get<0>(multi_head_attention_forward(
                       *own[0], *own[0], *own[0], 4, 2, *own[1], *own[2], {}, {}, false, 0, *own[3],
                       *own[4], {.key_padding_mask = *own[5], .attn_mask = *own[6]}));
                 }}),
    name_of);

// In a process of its own: the warning is said once in the life of one.
TEST(WarnedCopies, AreOfWhatWasThereWhateverTheHandlerDoesToIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto convert = [] {
    auto source = std::make_unique<Tensor>(ones({1 << 16}, {.dtype = complex64}));
    set_warning_handler([&](const std::string&) {
      source->set_data(zeros({1}, {.dtype = complex64}));
      source.reset();
    });
    const Tensor real = source->to(float32);
    ::_exit(source == nullptr && real.sum().item<double>() == 1 << 16 ? 0 : 1);
  };
  EXPECT_EXIT(convert(), testing::ExitedWithCode(0), "");
  const auto copy = [] {
    auto source = std::make_unique<Tensor>(ones({1 << 16}, {.dtype = complex64}));
    auto into = std::make_unique<Tensor>(zeros({1 << 16}));
    const Tensor same = into->detach();
    set_warning_handler([&](const std::string&) {
      source.reset();
      into.reset();
    });
    into->copy_(*source);
    ::_exit(into == nullptr && same.sum().item<double>() == 1 << 16 ? 0 : 1);
  };
  EXPECT_EXIT(copy(), testing::ExitedWithCode(0), "");
  const auto give_other_data = [] {
    const Tensor source = ones({1 << 16}, {.dtype = complex64}), into = zeros({1 << 16});
    set_warning_handler([&](const std::string&) { into.set_data(zeros({1})); });
    try {
      into.copy_(source);
    } catch (const ShapeError&) {
      ::_exit(0);
    }
    ::_exit(1);
  };
  EXPECT_EXIT(give_other_data(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tenon
