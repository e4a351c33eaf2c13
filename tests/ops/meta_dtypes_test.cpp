// Every operator with tensors of every dtype, and of every two dtypes: the CPU and meta give the same
// dtype and shape, or refuse with the same error and text. What needs the elements to have a shape,
// as an index with a mask, is not here.
#include <cstddef>
#include <functional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using OfOne = std::function<Tensor(const Tensor&)>;
using OfTwo = std::function<Tensor(const Tensor&, const Tensor&)>;
template <class F>
using Named = std::vector<std::pair<std::string, F>>;

std::vector<DType> every_dtype() {
  std::vector<DType> all;
  for (std::size_t i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

// A matrix of ones: a divisor, an index and a probability that nothing refuses for its value. Where
// elements are opaque, all bytes are 1.
Tensor sample(DType dtype) {
  if (!is_opaque(dtype)) return ones({4, 4}, {.dtype = dtype});
  return ones({16 * itemsize(dtype)}, {.dtype = uint8}).view(dtype).view({4, 4});
}

template <class Run>
std::string outcome_of(const Run& run) {
  try {
    const Tensor result = run();
    return repr(result.dtype()) + " " + result.shape().repr();
  } catch (const Error& error) {
    return std::string(typeid(error).name()) + ": " + error.what();
  }
}

#define TENON_METHOD(name) {#name, [](const Tensor& x) { return x.name(); }}
#define TENON_IN_PLACE(name) {#name, [](const Tensor& x) { return x.clone().name(); }}
#define TENON_METHOD_OF_TWO(name) \
  {#name, [](const Tensor& x, const Tensor& y) { return x.name(y); }}
#define TENON_IN_PLACE_OF_TWO(name) \
  {#name, [](const Tensor& x, const Tensor& y) { return x.clone().name(y); }}
#define TENON_WITH_NUMBER(name)                               \
  {#name " 1", [](const Tensor& x) { return x.name(1); }}, {  \
    #name " 1.5", [](const Tensor& x) { return x.name(1.5); } \
  }

Named<OfOne> pointwise() {
  return {
      TENON_METHOD(neg),
      TENON_METHOD(abs),
      TENON_METHOD(square),
      TENON_METHOD(reciprocal),
      TENON_METHOD(sqrt),
      TENON_METHOD(rsqrt),
      TENON_METHOD(exp),
      TENON_METHOD(exp2),
      TENON_METHOD(expm1),
      TENON_METHOD(log),
      TENON_METHOD(log2),
      TENON_METHOD(log10),
      TENON_METHOD(log1p),
      TENON_METHOD(sin),
      TENON_METHOD(cos),
      TENON_METHOD(tan),
      TENON_METHOD(asin),
      TENON_METHOD(acos),
      TENON_METHOD(atan),
      TENON_METHOD(sinh),
      TENON_METHOD(cosh),
      TENON_METHOD(tanh),
      TENON_METHOD(asinh),
      TENON_METHOD(acosh),
      TENON_METHOD(atanh),
      TENON_METHOD(sigmoid),
      TENON_METHOD(relu),
      TENON_METHOD(erf),
      TENON_METHOD(erfc),
      TENON_METHOD(erfinv),
      TENON_METHOD(lgamma),
      TENON_METHOD(digamma),
      TENON_METHOD(floor),
      TENON_METHOD(ceil),
      TENON_METHOD(round),
      TENON_METHOD(trunc),
      TENON_METHOD(frac),
      TENON_METHOD(sign),
      TENON_METHOD(sgn),
      TENON_METHOD(bitwise_not),
      TENON_METHOD(logical_not),
      TENON_METHOD(angle),
      TENON_METHOD(isnan),
      TENON_METHOD(isinf),
      TENON_METHOD(isfinite),
      TENON_METHOD(signbit),
      TENON_IN_PLACE(neg_),
      TENON_IN_PLACE(abs_),
      TENON_IN_PLACE(square_),
      TENON_IN_PLACE(reciprocal_),
      TENON_IN_PLACE(sqrt_),
      TENON_IN_PLACE(rsqrt_),
      TENON_IN_PLACE(exp_),
      TENON_IN_PLACE(exp2_),
      TENON_IN_PLACE(expm1_),
      TENON_IN_PLACE(log_),
      TENON_IN_PLACE(log2_),
      TENON_IN_PLACE(log10_),
      TENON_IN_PLACE(log1p_),
      TENON_IN_PLACE(sin_),
      TENON_IN_PLACE(cos_),
      TENON_IN_PLACE(tan_),
      TENON_IN_PLACE(asin_),
      TENON_IN_PLACE(acos_),
      TENON_IN_PLACE(atan_),
      TENON_IN_PLACE(sinh_),
      TENON_IN_PLACE(cosh_),
      TENON_IN_PLACE(tanh_),
      TENON_IN_PLACE(asinh_),
      TENON_IN_PLACE(acosh_),
      TENON_IN_PLACE(atanh_),
      TENON_IN_PLACE(sigmoid_),
      TENON_IN_PLACE(relu_),
      TENON_IN_PLACE(erf_),
      TENON_IN_PLACE(erfc_),
      TENON_IN_PLACE(erfinv_),
      TENON_IN_PLACE(lgamma_),
      TENON_IN_PLACE(digamma_),
      TENON_IN_PLACE(floor_),
      TENON_IN_PLACE(ceil_),
      TENON_IN_PLACE(round_),
      TENON_IN_PLACE(trunc_),
      TENON_IN_PLACE(frac_),
      TENON_IN_PLACE(sign_),
      TENON_IN_PLACE(sgn_),
      TENON_IN_PLACE(bitwise_not_),
      TENON_IN_PLACE(logical_not_),
      TENON_WITH_NUMBER(add),
      TENON_WITH_NUMBER(sub),
      TENON_WITH_NUMBER(mul),
      TENON_WITH_NUMBER(div),
      TENON_WITH_NUMBER(floor_divide),
      TENON_WITH_NUMBER(trunc_divide),
      TENON_WITH_NUMBER(remainder),
      TENON_WITH_NUMBER(fmod),
      TENON_WITH_NUMBER(pow),
      TENON_WITH_NUMBER(atan2),
      TENON_WITH_NUMBER(hypot),
      TENON_WITH_NUMBER(copysign),
      TENON_WITH_NUMBER(nextafter),
      TENON_WITH_NUMBER(xlogy),
      TENON_WITH_NUMBER(eq),
      TENON_WITH_NUMBER(ne),
      TENON_WITH_NUMBER(lt),
      TENON_WITH_NUMBER(le),
      TENON_WITH_NUMBER(gt),
      TENON_WITH_NUMBER(ge),
      TENON_WITH_NUMBER(logical_and),
      TENON_WITH_NUMBER(logical_or),
      TENON_WITH_NUMBER(logical_xor),
      TENON_WITH_NUMBER(bitwise_and),
      TENON_WITH_NUMBER(bitwise_or),
      TENON_WITH_NUMBER(bitwise_xor),
      TENON_WITH_NUMBER(bitwise_left_shift),
      TENON_WITH_NUMBER(bitwise_right_shift),
      TENON_WITH_NUMBER(maximum),
      TENON_WITH_NUMBER(minimum),
      TENON_WITH_NUMBER(fmax),
      TENON_WITH_NUMBER(fmin),
      TENON_WITH_NUMBER(logaddexp),
      TENON_WITH_NUMBER(logaddexp2),
  };
}

Named<OfTwo> pointwise_of_two() {
  return {
      TENON_METHOD_OF_TWO(add),
      TENON_METHOD_OF_TWO(sub),
      TENON_METHOD_OF_TWO(mul),
      TENON_METHOD_OF_TWO(div),
      TENON_METHOD_OF_TWO(floor_divide),
      TENON_METHOD_OF_TWO(trunc_divide),
      TENON_METHOD_OF_TWO(remainder),
      TENON_METHOD_OF_TWO(fmod),
      TENON_METHOD_OF_TWO(pow),
      TENON_METHOD_OF_TWO(atan2),
      TENON_METHOD_OF_TWO(hypot),
      TENON_METHOD_OF_TWO(copysign),
      TENON_METHOD_OF_TWO(nextafter),
      TENON_METHOD_OF_TWO(xlogy),
      TENON_METHOD_OF_TWO(eq),
      TENON_METHOD_OF_TWO(ne),
      TENON_METHOD_OF_TWO(lt),
      TENON_METHOD_OF_TWO(le),
      TENON_METHOD_OF_TWO(gt),
      TENON_METHOD_OF_TWO(ge),
      TENON_METHOD_OF_TWO(logical_and),
      TENON_METHOD_OF_TWO(logical_or),
      TENON_METHOD_OF_TWO(logical_xor),
      TENON_METHOD_OF_TWO(bitwise_and),
      TENON_METHOD_OF_TWO(bitwise_or),
      TENON_METHOD_OF_TWO(bitwise_xor),
      TENON_METHOD_OF_TWO(bitwise_left_shift),
      TENON_METHOD_OF_TWO(bitwise_right_shift),
      TENON_METHOD_OF_TWO(maximum),
      TENON_METHOD_OF_TWO(minimum),
      TENON_METHOD_OF_TWO(fmax),
      TENON_METHOD_OF_TWO(fmin),
      TENON_METHOD_OF_TWO(logaddexp),
      TENON_METHOD_OF_TWO(logaddexp2),
      TENON_IN_PLACE_OF_TWO(add_),
      TENON_IN_PLACE_OF_TWO(sub_),
      TENON_IN_PLACE_OF_TWO(mul_),
      TENON_IN_PLACE_OF_TWO(div_),
      TENON_IN_PLACE_OF_TWO(floor_divide_),
      TENON_IN_PLACE_OF_TWO(trunc_divide_),
      TENON_IN_PLACE_OF_TWO(remainder_),
      TENON_IN_PLACE_OF_TWO(fmod_),
      TENON_IN_PLACE_OF_TWO(pow_),
      TENON_IN_PLACE_OF_TWO(atan2_),
      TENON_IN_PLACE_OF_TWO(hypot_),
      TENON_IN_PLACE_OF_TWO(copysign_),
      TENON_IN_PLACE_OF_TWO(nextafter_),
      TENON_IN_PLACE_OF_TWO(xlogy_),
      TENON_IN_PLACE_OF_TWO(eq_),
      TENON_IN_PLACE_OF_TWO(ne_),
      TENON_IN_PLACE_OF_TWO(lt_),
      TENON_IN_PLACE_OF_TWO(le_),
      TENON_IN_PLACE_OF_TWO(gt_),
      TENON_IN_PLACE_OF_TWO(ge_),
      TENON_IN_PLACE_OF_TWO(logical_and_),
      TENON_IN_PLACE_OF_TWO(logical_or_),
      TENON_IN_PLACE_OF_TWO(logical_xor_),
      TENON_IN_PLACE_OF_TWO(bitwise_and_),
      TENON_IN_PLACE_OF_TWO(bitwise_or_),
      TENON_IN_PLACE_OF_TWO(bitwise_xor_),
      TENON_IN_PLACE_OF_TWO(bitwise_left_shift_),
      TENON_IN_PLACE_OF_TWO(bitwise_right_shift_),
  };
}

Named<OfOne> others() {
  return {
      {"sum", [](const Tensor& x) { return x.sum(); }},
      {"sum dim", [](const Tensor& x) { return x.sum(1); }},
      {"mean", [](const Tensor& x) { return x.mean(); }},
      {"prod", [](const Tensor& x) { return x.prod(); }},
      {"amax", [](const Tensor& x) { return x.amax(1); }},
      {"amin", [](const Tensor& x) { return x.amin(); }},
      {"any", [](const Tensor& x) { return x.any(); }},
      {"all", [](const Tensor& x) { return x.all(0); }},
      {"count_nonzero", [](const Tensor& x) { return count_nonzero(x); }},
      {"argmax", [](const Tensor& x) { return x.argmax(); }},
      {"argmin", [](const Tensor& x) { return x.argmin(1); }},
      {"max", [](const Tensor& x) { return x.max(); }},
      {"min", [](const Tensor& x) { return x.min(); }},
      {"max dim", [](const Tensor& x) { return std::get<0>(x.max(1)); }},
      {"min dim", [](const Tensor& x) { return std::get<1>(x.min(1)); }},
      {"var", [](const Tensor& x) { return x.var(); }},
      {"std", [](const Tensor& x) { return x.std(1); }},
      {"norm", [](const Tensor& x) { return x.norm(); }},
      {"norm 1", [](const Tensor& x) { return norm(x, {.p = 1}); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 0); }},
      {"cumprod", [](const Tensor& x) { return cumprod(x, 1); }},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, 1); }},
      {"softmax", [](const Tensor& x) { return softmax(x, 1); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x, 0); }},
      {"softmin", [](const Tensor& x) { return softmin(x, 1); }},
      {"sort", [](const Tensor& x) { return std::get<0>(sort(x)); }},
      {"argsort", [](const Tensor& x) { return argsort(x); }},
      {"topk", [](const Tensor& x) { return std::get<0>(topk(x, 2)); }},
      {"clone", [](const Tensor& x) { return x.clone(); }},
      {"contiguous", [](const Tensor& x) { return x.t().contiguous(); }},
      {"flip", [](const Tensor& x) { return flip(x, {0}); }},
      {"roll", [](const Tensor& x) { return roll(x, {1}); }},
      {"repeat", [](const Tensor& x) { return x.repeat({2, 1}); }},
      {"rot90", [](const Tensor& x) { return rot90(x); }},
      {"tril", [](const Tensor& x) { return tril(x); }},
      {"triu_", [](const Tensor& x) { return x.clone().triu_(); }},
      {"diag", [](const Tensor& x) { return diag(x); }},
      {"diag_embed", [](const Tensor& x) { return diag_embed(x); }},
      {"trace", [](const Tensor& x) { return trace(x); }},
      {"pad", [](const Tensor& x) { return pad(x, {1, 1}); }},
      {"pad 300", [](const Tensor& x) { return pad(x, {1, 1}, {.value = 300}); }},
      {"pad less", [](const Tensor& x) { return pad(x, {-1, 0}); }},
      {"fill_", [](const Tensor& x) { return x.clone().fill_(1); }},
      {"fill_ float", [](const Tensor& x) { return x.clone().fill_(1.5); }},
      {"zero_", [](const Tensor& x) { return x.clone().zero_(); }},
      {"index", [](const Tensor& x) { return x.index({0}); }},
      {"index_put_", [](const Tensor& x) { return x.clone().index_put_({0}, 1); }},
      {"ones_like", [](const Tensor& x) { return ones_like(x); }},
      {"zeros_like", [](const Tensor& x) { return zeros_like(x); }},
      {"full_like", [](const Tensor& x) { return full_like(x, 2); }},
      {"empty_like", [](const Tensor& x) { return empty_like(x); }},
      {"rand_like", [](const Tensor& x) { return rand_like(x); }},
      {"randn_like", [](const Tensor& x) { return randn_like(x); }},
      {"bernoulli", [](const Tensor& x) { return bernoulli(x); }},
      {"uniform_", [](const Tensor& x) { return x.clone().uniform_(); }},
      {"normal_", [](const Tensor& x) { return x.clone().normal_(); }},
      {"random_", [](const Tensor& x) { return x.clone().random_(); }},
      {"exponential_", [](const Tensor& x) { return x.clone().exponential_(); }},
      {"bernoulli_", [](const Tensor& x) { return x.clone().bernoulli_(); }},
      {"dropout", [](const Tensor& x) { return dropout(x, {.p = 0.5}); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"celu", [](const Tensor& x) { return celu(x); }},
      {"selu", [](const Tensor& x) { return selu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"mish", [](const Tensor& x) { return mish(x); }},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"relu6", [](const Tensor& x) { return relu6(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"softsign", [](const Tensor& x) { return softsign(x); }},
      {"tanhshrink", [](const Tensor& x) { return tanhshrink(x); }},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }},
      {"softshrink", [](const Tensor& x) { return softshrink(x); }},
      {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }},
      {"threshold", [](const Tensor& x) { return threshold(x, 0.5, 1); }},
      {"glu", [](const Tensor& x) { return glu(x); }},
      {"clamp", [](const Tensor& x) { return clamp(x, {.min = 0, .max = 1}); }},
      {"nan_to_num", [](const Tensor& x) { return nan_to_num(x); }},
      {"polygamma", [](const Tensor& x) { return polygamma(1, x); }},
      {"normalize", [](const Tensor& x) { return normalize(x); }},
      {"real", [](const Tensor& x) { return x.real(); }},
      {"imag", [](const Tensor& x) { return x.imag(); }},
      {"conj", [](const Tensor& x) { return x.conj(); }},
      {"view_as_real", [](const Tensor& x) { return view_as_real(x); }},
      {"view_as_complex", [](const Tensor& x) { return view_as_complex(x.view({8, 2})); }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x, {4}); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x, {4}); }},
      {"group_norm", [](const Tensor& x) { return group_norm(x.view({2, 2, 4}), 2); }},
      {"max_pool2d", [](const Tensor& x) { return max_pool2d(x.view({1, 4, 4}), 2); }},
      {"avg_pool2d", [](const Tensor& x) { return avg_pool2d(x.view({1, 4, 4}), 2); }},
      {"adaptive_avg_pool2d",
       [](const Tensor& x) { return adaptive_avg_pool2d(x.view({1, 4, 4}), {2, 2}); }},
      {"interpolate",
       [](const Tensor& x) { return interpolate(x.view({1, 1, 4, 4}), {.scale_factor = 2}); }},
      {"pixel_shuffle", [](const Tensor& x) { return pixel_shuffle(x.view({4, 2, 2}), 2); }},
      {"one_hot", [](const Tensor& x) { return one_hot(x, 3); }},
      {"repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, 2, 0); }},
      {"unfold", [](const Tensor& x) { return x.unfold(0, 2, 1); }},
  };
}

Named<OfTwo> others_of_two() {
  return {
      {"copy_", [](const Tensor& x, const Tensor& y) { return x.clone().copy_(y); }},
      {"to", [](const Tensor& x, const Tensor& y) { return x.to(y.dtype()); }},
      {"type_as", [](const Tensor& x, const Tensor& y) { return x.type_as(y); }},
      {"mm", [](const Tensor& x, const Tensor& y) { return x.mm(y); }},
      {"mv", [](const Tensor& x, const Tensor& y) { return mv(x, y[0]); }},
      {"dot", [](const Tensor& x, const Tensor& y) { return dot(x[0], y[0]); }},
      {"matmul", [](const Tensor& x, const Tensor& y) { return matmul(x, y); }},
      {"bmm", [](const Tensor& x, const Tensor& y) { return bmm(x.unsqueeze(0), y.unsqueeze(0)); }},
      {"addmm", [](const Tensor& x, const Tensor& y) { return addmm(x, x, y); }},
      {"linear", [](const Tensor& x, const Tensor& y) { return linear(x, y); }},
      {"outer", [](const Tensor& x, const Tensor& y) { return outer(x[0], y[0]); }},
      {"cat", [](const Tensor& x, const Tensor& y) { return cat({x, y}); }},
      {"stack", [](const Tensor& x, const Tensor& y) { return stack({x, y}); }},
      {"where", [](const Tensor& x, const Tensor& y) { return where(x, y, y); }},
      {"where two", [](const Tensor& x, const Tensor& y) { return where(x > 0, x, y); }},
      {"masked_fill", [](const Tensor& x, const Tensor& y) { return x.masked_fill(y, 1); }},
      {"masked_fill_ tensor",
       [](const Tensor& x, const Tensor& y) { return x.clone().masked_fill_(x == x, y[0][0]); }},
      {"gather", [](const Tensor& x, const Tensor& y) { return gather(x, 0, y); }},
      {"index_select", [](const Tensor& x, const Tensor& y) { return index_select(x, 0, y[0]); }},
      {"take", [](const Tensor& x, const Tensor& y) { return take(x, y); }},
      {"index_put_",
       [](const Tensor& x, const Tensor& y) { return x.clone().index_put_({0}, y[0]); }},
      {"embedding", [](const Tensor& x, const Tensor& y) { return embedding(y, x); }},
      {"fill_", [](const Tensor& x, const Tensor& y) { return x.clone().fill_(y[0][0]); }},
      {"lerp", [](const Tensor& x, const Tensor& y) { return lerp(x, y, 0.5); }},
      {"lerp_", [](const Tensor& x, const Tensor& y) { return x.clone().lerp_(y, y); }},
      {"addcmul", [](const Tensor& x, const Tensor& y) { return x.addcmul(y, y); }},
      {"addcdiv", [](const Tensor& x, const Tensor& y) { return x.addcdiv(y, y); }},
      {"complex", [](const Tensor& x, const Tensor& y) { return complex(x, y); }},
      {"polar", [](const Tensor& x, const Tensor& y) { return polar(x, y); }},
      {"isclose", [](const Tensor& x, const Tensor& y) { return isclose(x, y); }},
      {"prelu", [](const Tensor& x, const Tensor& y) { return prelu(x, y[0]); }},
      {"mse_loss", [](const Tensor& x, const Tensor& y) { return mse_loss(x, y); }},
      {"l1_loss", [](const Tensor& x, const Tensor& y) { return l1_loss(x, y); }},
      {"smooth_l1_loss", [](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y); }},
      {"huber_loss", [](const Tensor& x, const Tensor& y) { return huber_loss(x, y); }},
      {"binary_cross_entropy",
       [](const Tensor& x, const Tensor& y) { return binary_cross_entropy(x, y); }},
      {"cross_entropy", [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y[0]); }},
      {"nll_loss", [](const Tensor& x, const Tensor& y) { return nll_loss(x, y[0]); }},
      {"kl_div", [](const Tensor& x, const Tensor& y) { return kl_div(x, y); }},
      {"conv1d", [](const Tensor& x,
                    const Tensor& y) { return conv1d(x.view({1, 4, 4}), y.view({4, 4, 1})); }},
      {"layer_norm",
       [](const Tensor& x, const Tensor& y) { return layer_norm(x, {4}, {.weight = y[0]}); }},
      {"clamp", [](const Tensor& x, const Tensor& y) { return clamp(x, {.min = y}); }},
      {"kron", [](const Tensor& x, const Tensor& y) { return kron(x, y); }},
      {"cross", [](const Tensor& x,
                   const Tensor& y) { return cross(x[0].slice(0, 0, 3), y[0].slice(0, 0, 3)); }},
      {"cdist", [](const Tensor& x, const Tensor& y) { return cdist(x, y); }},
      {"scatter_", [](const Tensor& x, const Tensor& y) { return x.clone().scatter_(0, y, 1); }},
      {"scatter_ src",
       [](const Tensor& x, const Tensor& y) { return x.clone().scatter_(0, x.to(int64), y); }},
      {"scatter_add_",
       [](const Tensor& x, const Tensor& y) { return x.clone().scatter_add_(0, x.to(int64), y); }},
      {"index_add_",
       [](const Tensor& x, const Tensor& y) { return x.clone().index_add_(0, y[0], x); }},
      {"index_copy_",
       [](const Tensor& x, const Tensor& y) { return x.clone().index_copy_(0, y[0], x); }},
      {"index_fill_",
       [](const Tensor& x, const Tensor& y) { return x.clone().index_fill_(0, y[0], 2); }},
      {"masked_fill_ any",
       [](const Tensor& x, const Tensor& y) {
         return x.clone().masked_fill_(ones({4, 4}, {.dtype = bool_, .device = x.device()}),
                                       y[0][0]);
       }},
  };
}

void expect_agreement(const Named<OfOne>& operators) {
  for (const DType dtype : every_dtype()) {
    const Tensor x = sample(dtype), there = x.to(Device::meta());
    for (const auto& [name, run] : operators) {
      EXPECT_EQ(outcome_of([&] { return run(x); }), outcome_of([&] { return run(there); }))
          << name << " of " << repr(dtype);
    }
  }
}

void expect_agreement(const Named<OfTwo>& operators) {
  for (const DType first : every_dtype()) {
    const Tensor x = sample(first), x_there = x.to(Device::meta());
    for (const DType second : every_dtype()) {
      const Tensor y = sample(second), y_there = y.to(Device::meta());
      for (const auto& [name, run] : operators) {
        EXPECT_EQ(outcome_of([&] { return run(x, y); }),
                  outcome_of([&] { return run(x_there, y_there); }))
            << name << " of " << repr(first) << " and " << repr(second);
      }
    }
  }
}

using Factory = std::function<Tensor(DType, Device)>;

Named<Factory> factories() {
  return {
      {"empty", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}); }},
      {"zeros", [](DType t, Device d) { return zeros({2}, {.dtype = t, .device = d}); }},
      {"ones", [](DType t, Device d) { return ones({2}, {.dtype = t, .device = d}); }},
      {"full 1.5", [](DType t, Device d) { return full({2}, 1.5, {.dtype = t, .device = d}); }},
      {"full 300", [](DType t, Device d) { return full({2}, 300, {.dtype = t, .device = d}); }},
      {"arange", [](DType t, Device d) { return arange(5, {.dtype = t, .device = d}); }},
      {"arange 1.5", [](DType t, Device d) { return arange(1.5, {.dtype = t, .device = d}); }},
      {"eye", [](DType t, Device d) { return eye(3, {.dtype = t, .device = d}); }},
      {"linspace", [](DType t, Device d) { return linspace(0, 1, 3, {.dtype = t, .device = d}); }},
      {"rand", [](DType t, Device d) { return rand({2}, {.dtype = t, .device = d}); }},
      {"randn", [](DType t, Device d) { return randn({2}, {.dtype = t, .device = d}); }},
      {"randint", [](DType t, Device d) { return randint(5, {2}, {.dtype = t, .device = d}); }},
      {"zeros_like",
       [](DType t, Device d) { return zeros_like(empty({2}, {.dtype = t, .device = d})); }},
      {"ones_like",
       [](DType t, Device d) { return ones_like(empty({2}, {.dtype = t, .device = d})); }},
      {"full_like",
       [](DType t, Device d) { return full_like(empty({2}, {.device = d}), 1, {.dtype = t}); }},
      {"fill_", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}).fill_(1); }},
      {"zero_", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}).zero_(); }},
  };
}

TEST(MetaDtypes, FactoriesAgreeWithTheCpuForEveryDtype) {
  for (const DType dtype : every_dtype()) {
    for (const auto& [name, make] : factories()) {
      EXPECT_EQ(outcome_of([&] { return make(dtype, Device::cpu()); }),
                outcome_of([&] { return make(dtype, Device::meta()); }))
          << name << " of " << repr(dtype);
    }
    // As in PyTorch, which writes zeros as bytes.
    EXPECT_EQ(zeros({2}, {.dtype = dtype, .device = Device::meta()}).dtype(), dtype);
  }
}

TEST(MetaDtypes, FunctionsOfElementsAgreeWithTheCpuForEveryDtype) { expect_agreement(pointwise()); }

TEST(MetaDtypes, FunctionsOfTwoElementsAgreeWithTheCpuForEveryPairOfDtypes) {
  expect_agreement(pointwise_of_two());
}

TEST(MetaDtypes, OtherOperatorsAgreeWithTheCpuForEveryDtype) { expect_agreement(others()); }

TEST(MetaDtypes, ConversionsAndOperatorsOfTwoTensorsAgreeWithTheCpuForEveryPairOfDtypes) {
  expect_agreement(others_of_two());
}

}  // namespace
}  // namespace tenon
