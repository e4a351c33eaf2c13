// Operators that layers are made of, in the forms that meta_dtypes_operators.cpp does not have.
#include <tuple>

#include "ops/meta_dtypes.h"
#include "tenon/tenon.h"

namespace tenon {

Named<OfOne> layers_of_one() {
  return {
      // In place.
      {"elu_", [](const Tensor& x) -> Tensor { return elu_(x.clone()); }},
      {"celu_", [](const Tensor& x) -> Tensor { return celu_(x.clone()); }},
      {"selu_", [](const Tensor& x) -> Tensor { return selu_(x.clone()); }},
      {"silu_", [](const Tensor& x) { return silu(x.clone(), {.inplace = true}); }},
      {"mish_", [](const Tensor& x) { return mish(x.clone(), {.inplace = true}); }},
      {"hardswish_", [](const Tensor& x) { return hardswish(x.clone(), {.inplace = true}); }},
      {"hardsigmoid_", [](const Tensor& x) { return hardsigmoid(x.clone(), {.inplace = true}); }},
      {"hardtanh_", [](const Tensor& x) -> Tensor { return hardtanh_(x.clone()); }},
      {"hardtanh_ float",
       [](const Tensor& x) -> Tensor { return hardtanh_(x.clone(), {.max_val = 0.5}); }},
      {"leaky_relu_", [](const Tensor& x) -> Tensor { return leaky_relu_(x.clone()); }},
      {"relu6_", [](const Tensor& x) { return relu6(x.clone(), {.inplace = true}); }},
      {"threshold_",
       [](const Tensor& x) { return threshold(x.clone(), 0.5, 1, {.inplace = true}); }},
      {"threshold_ whole",
       [](const Tensor& x) { return threshold(x.clone(), 1, 300, {.inplace = true}); }},
      {"rrelu_", [](const Tensor& x) -> Tensor { return rrelu_(x.clone()); }},
      {"rrelu_ training",
       [](const Tensor& x) -> Tensor { return rrelu_(x.clone(), {.training = true}); }},
      {"dropout_", [](const Tensor& x) { return dropout(x.clone(), {.inplace = true}); }},
      {"alpha_dropout_",
       [](const Tensor& x) {
         return alpha_dropout(x.clone(), {.training = true, .inplace = true});
       }},
      // With random numbers.
      {"rrelu", [](const Tensor& x) { return rrelu(x); }},
      {"rrelu training", [](const Tensor& x) { return rrelu(x, {.training = true}); }},
      {"dropout2d", [](const Tensor& x) { return dropout2d(x.view({1, 4, 2, 2})); }},
      {"alpha_dropout", [](const Tensor& x) { return alpha_dropout(x, {.training = true}); }},
      {"feature_alpha_dropout",
       [](const Tensor& x) { return feature_alpha_dropout(x, {.training = true}); }},
      {"gumbel_softmax", [](const Tensor& x) { return gumbel_softmax(x); }},
      {"gumbel_softmax hard", [](const Tensor& x) { return gumbel_softmax(x, {.hard = true}); }},
      // Of other dtypes than the input's.
      {"softmax float64", [](const Tensor& x) { return softmax(x, 1, {.dtype = float64}); }},
      {"softmax half", [](const Tensor& x) { return softmax(x, 1, {.dtype = float16}); }},
      {"log_softmax int64", [](const Tensor& x) { return log_softmax(x, 1, {.dtype = int64}); }},
      {"sum int8", [](const Tensor& x) { return x.sum(0, {.dtype = int8}); }},
      {"cumsum float", [](const Tensor& x) { return cumsum(x, 0, {.dtype = float32}); }},
      {"mean float64", [](const Tensor& x) { return mean(x, {.dtype = float64}); }},
      {"prod bool", [](const Tensor& x) { return prod(x, {.dtype = bool_}); }},
      {"norm float64", [](const Tensor& x) { return norm(x, {.p = 2, .dtype = float64}); }},
      // Pools.
      {"max_pool1d", [](const Tensor& x) { return max_pool1d(x.view({1, 4, 4}), 2); }},
      {"max_pool3d", [](const Tensor& x) { return max_pool3d(x.view({1, 1, 4, 4}), {1, 2, 2}); }},
      {"max_pool1d_with_indices",
       [](const Tensor& x) { return std::get<1>(max_pool1d_with_indices(x.view({1, 4, 4}), 2)); }},
      {"max_pool2d_with_indices",
       [](const Tensor& x) { return std::get<0>(max_pool2d_with_indices(x.view({1, 4, 4}), 2)); }},
      {"max_pool3d_with_indices",
       [](const Tensor& x) {
         return std::get<1>(max_pool3d_with_indices(x.view({1, 1, 4, 4}), {1, 2, 2}));
       }},
      {"avg_pool1d", [](const Tensor& x) { return avg_pool1d(x.view({1, 4, 4}), 2); }},
      {"avg_pool3d", [](const Tensor& x) { return avg_pool3d(x.view({1, 1, 4, 4}), {1, 2, 2}); }},
      {"adaptive_avg_pool1d",
       [](const Tensor& x) { return adaptive_avg_pool1d(x.view({1, 4, 4}), 2); }},
      {"adaptive_avg_pool3d",
       [](const Tensor& x) { return adaptive_avg_pool3d(x.view({1, 1, 4, 4}), {1, 2, 3}); }},
      {"adaptive_max_pool1d",
       [](const Tensor& x) { return adaptive_max_pool1d(x.view({1, 4, 4}), 2); }},
      {"adaptive_max_pool2d",
       [](const Tensor& x) { return adaptive_max_pool2d(x.view({1, 4, 4}), {2, 3}); }},
      {"adaptive_max_pool3d",
       [](const Tensor& x) { return adaptive_max_pool3d(x.view({1, 1, 4, 4}), {1, 2, 3}); }},
      {"lp_pool2d", [](const Tensor& x) { return lp_pool2d(x.view({1, 4, 4}), 2, 2); }},
      {"lp_pool3d", [](const Tensor& x) { return lp_pool3d(x.view({1, 1, 4, 4}), 2, {1, 2, 2}); }},
      // Others.
      {"pad reflect",
       [](const Tensor& x) { return pad(x.view({1, 4, 4}), {1, 1}, {.mode = "reflect"}); }},
      {"pad replicate",
       [](const Tensor& x) { return pad(x.view({1, 4, 4}), {1, 1}, {.mode = "replicate"}); }},
      {"pad circular",
       [](const Tensor& x) { return pad(x.view({1, 4, 4}), {1, 1}, {.mode = "circular"}); }},
      {"interpolate bilinear",
       [](const Tensor& x) {
         return interpolate(x.view({1, 1, 4, 4}), {.size = {3, 5}, .mode = "bilinear"});
       }},
      {"interpolate area",
       [](const Tensor& x) {
         return interpolate(x.view({1, 1, 4, 4}), {.size = {3, 5}, .mode = "area"});
       }},
      {"local_response_norm",
       [](const Tensor& x) { return local_response_norm(x.view({1, 4, 4}), 2); }},
      {"pixel_unshuffle", [](const Tensor& x) { return pixel_unshuffle(x.view({1, 4, 4}), 2); }},
      {"channel_shuffle", [](const Tensor& x) { return channel_shuffle(x.view({1, 4, 2, 2}), 2); }},
  };
}

Named<OfTwo> layers_of_two() {
  return {
      {"RNN",
       [](const Tensor& x, const Tensor& y) {
         nn::RNN net(4, 4, {.device = Device::meta(), .dtype = y.dtype()});
         net.to_empty(x.device());
         return std::get<0>(net(x));
       }},
      {"LSTM",
       [](const Tensor& x, const Tensor& y) {
         nn::LSTM net(4, 4, {.device = Device::meta(), .dtype = y.dtype()});
         net.to_empty(x.device());
         return std::get<0>(net(x));
       }},
      {"GRU",
       [](const Tensor& x, const Tensor& y) {
         nn::GRU net(4, 4, {.device = Device::meta(), .dtype = y.dtype()});
         net.to_empty(x.device());
         return std::get<0>(net(x));
       }},
      {"conv2d",
       [](const Tensor& x, const Tensor& y) {
         return conv2d(x.view({1, 4, 2, 2}), y.view({4, 4, 1, 1}));
       }},
      {"conv2d bias",
       [](const Tensor& x, const Tensor& y) {
         return conv2d(x.view({1, 4, 2, 2}), x.view({4, 4, 1, 1}), {.bias = y[0]});
       }},
      {"conv3d",
       [](const Tensor& x, const Tensor& y) {
         return conv3d(x.view({1, 4, 1, 2, 2}), y.view({4, 4, 1, 1, 1}));
       }},
      {"conv_transpose1d",
       [](const Tensor& x, const Tensor& y) {
         return conv_transpose1d(x.view({1, 4, 4}), y.view({4, 4, 1}));
       }},
      {"conv_transpose2d",
       [](const Tensor& x, const Tensor& y) {
         return conv_transpose2d(x.view({1, 4, 2, 2}), y.view({4, 4, 1, 1}));
       }},
      {"conv_transpose3d",
       [](const Tensor& x, const Tensor& y) {
         return conv_transpose3d(x.view({1, 4, 1, 2, 2}), y.view({4, 4, 1, 1, 1}));
       }},
      {"convolution_backward",
       [](const Tensor& x, const Tensor& y) {
         return std::get<0>(
             convolution_backward(x.view({1, 4, 4}), y.view({1, 4, 4}), y.view({4, 4, 1})));
       }},
      {"max_unpool2d",
       [](const Tensor& x, const Tensor& y) {
         return max_unpool2d(x.view({1, 4, 4}), y.view({1, 4, 4}), 2);
       }},
      {"max_unpool3d",
       [](const Tensor& x, const Tensor& y) {
         return max_unpool3d(x.view({1, 1, 4, 4}), y.view({1, 1, 4, 4}), {1, 2, 2});
       }},
      {"cosine_similarity",
       [](const Tensor& x, const Tensor& y) { return cosine_similarity(x, y); }},
      {"pairwise_distance",
       [](const Tensor& x, const Tensor& y) { return pairwise_distance(x, y); }},
      {"batch_norm", [](const Tensor& x, const Tensor& y) { return batch_norm(x, y[0], y[0]); }},
      {"batch_norm weight",
       [](const Tensor& x, const Tensor& y) {
         return batch_norm(x, Tensor(), Tensor(), {.weight = y[0], .training = true});
       }},
      {"group_norm weight",
       [](const Tensor& x, const Tensor& y) {
         return group_norm(x.view({2, 2, 4}), 2, {.weight = y[0].slice(0, 0, 2)});
       }},
      {"rms_norm weight",
       [](const Tensor& x, const Tensor& y) { return rms_norm(x, {4}, {.weight = y[0]}); }},
      {"instance_norm weight",
       [](const Tensor& x, const Tensor& y) {
         return instance_norm(x.view({2, 2, 4}), {.weight = y[0].slice(0, 0, 2)});
       }},
      {"linear bias",
       [](const Tensor& x, const Tensor& y) { return linear(x, x, {.bias = y[0]}); }},
      {"cross_entropy probabilities",
       [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); }},
      {"cross_entropy weight",
       [](const Tensor& x, const Tensor& y) {
         return cross_entropy(x, zeros({4}, {.dtype = int64, .device = x.device()}),
                              {.weight = y[0]});
       }},
      {"nll_loss 2d",
       [](const Tensor& x, const Tensor& y) {
         return nll_loss(x.view({2, 2, 2, 2}), y.view({2, 2, 2, 2}).select(1, 0));
       }},
      {"multi_margin_loss weight",
       [](const Tensor& x, const Tensor& y) {
         return multi_margin_loss(x, zeros({4}, {.dtype = int64, .device = x.device()}),
                                  {.weight = y[0]});
       }},
      {"binary_cross_entropy weight",
       [](const Tensor& x, const Tensor& y) { return binary_cross_entropy(x, x, {.weight = y}); }},
      {"binary_cross_entropy_with_logits pos_weight",
       [](const Tensor& x, const Tensor& y) {
         return binary_cross_entropy_with_logits(x, x, {.pos_weight = y});
       }},
      {"grid_sample nearest",
       [](const Tensor& x, const Tensor& y) {
         return grid_sample(x.view({1, 1, 4, 4}), y.view({1, 2, 4, 2}), {.mode = "nearest"});
       }},
      {"attention mask",
       [](const Tensor& x, const Tensor& y) {
         return scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0),
                                             {.attn_mask = y});
       }},
      {"embedding_bag max",
       [](const Tensor& x, const Tensor& y) { return embedding_bag(x, y, {.mode = "max"}); }},
  };
}

}  // namespace tenon
