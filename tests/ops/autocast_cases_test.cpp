// What autocast makes of every operator, beside what PyTorch made of it (cases/autocast.cases, by
// tests/record/autocast.py). CUDA is a class of user-defined tensors here, with its elements on the CPU:
// autocast comes before they are asked.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "support/host_device.h"
#include "support/matchers.h"
#include "support/recorded.h"
#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

class OnCuda final : public Wrapper<OnCuda> {
 public:
  explicit OnCuda(Tensor payload) : Wrapper(layout_of(payload)), elements(std::move(payload)) {}

  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.op().kind() == OpKind::composite) return std::nullopt;
    return wrapped(call.call_with(plain));
  }

  Tensor elements;

 private:
  static Layout layout_of(const Tensor& payload) {
    Layout layout = payload.layout();
    layout.device = Device::cuda(0);
    return layout;
  }
  static Tensor plain(const Tensor& t) {
    if (const auto* own = t.as<OnCuda>()) return own->elements;
    return HostBackend::on_host(t);
  }
  static Value wrapped(const Value& value) {
    if (value.is_tensor()) {
      const Tensor t = value.as_tensor();
      return t.as<OnCuda>() ? t : make_tensor<OnCuda>(HostBackend::on_host(t));
    }
    if (value.kind() != Value::Kind::list && value.kind() != Value::Kind::tuple) return value;
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(wrapped(item));
    return value.kind() == Value::Kind::list ? Value::list(items) : Value::tuple(items);
  }
};

// The tensors of a case: those of tests/record/autocast.py's Maker, by their place.
class Maker {
 public:
  Maker(std::string variant, DType lower, bool cuda)
      : variant_(std::move(variant)), lower_(lower), cuda_(cuda) {}

  Tensor operator()(std::int64_t place, const Shape& shape) {
    Tensor& t = made[place];
    t = values(place, shape);
    if (cuda_) t = make_tensor<OnCuda>(t);
    t.requires_grad_();
    return t;
  }
  // As the parameters of a layer, in their order.
  void give(nn::Module& module) {
    std::int64_t place = 0;
    for (const Tensor& parameter : module.parameters()) {
      const Tensor value = values(place, parameter.shape());
      if (cuda_) {
        swap_tensors(parameter, make_tensor<OnCuda>(value).requires_grad_());
      } else {
        parameter.set_data(value);
      }
      made[place++] = parameter;
    }
  }
  Tensor index(std::vector<std::int64_t> numbers) const {
    const Tensor t = tensor(numbers);
    return cuda_ ? make_tensor<OnCuda>(t) : t;
  }

  std::map<std::int64_t, Tensor> made;

 private:
  Tensor values(std::int64_t place, const Shape& shape) const {
    const char kind = variant_[static_cast<std::size_t>(place) % variant_.size()];
    const Tensor numbers = remainder(arange(shape.numel()) * 37 + place * 11, 101) + 1;
    return (numbers.to(float32) / 128).to(kind == 'f' ? float32 : lower_).view(shape);
  }

  std::string variant_;
  DType lower_;
  bool cuda_;
};

using Results = std::vector<Tensor>;
using Case = std::function<Results(Maker& t)>;

template <class M, class... A>
Case layer_case(const Shape& input, A... args) {
  return [=](Maker& t) -> Results {
    auto layer = nn::make<M>(args...);
    t.give(*layer);
    const Tensor x = t(static_cast<std::int64_t>(layer->parameters().size()), input);
    if constexpr (std::is_same_v<M, nn::LSTM>) {
      const auto [out, state] = (*layer)(x);
      return {out, std::get<0>(state), std::get<1>(state)};
    } else if constexpr (std::is_same_v<M, nn::GRU> || std::is_same_v<M, nn::RNN>) {
      const auto [out, state] = (*layer)(x);
      return {out, state};
    } else if constexpr (std::is_same_v<M, nn::LSTMCell>) {
      const auto [h, c] = (*layer)(x, {});
      return {h, c};
    } else if constexpr (std::is_same_v<M, nn::MultiheadAttention>) {
      const auto [out, weights] = (*layer)(x, x, x);
      return {out, weights};
    } else if constexpr (std::is_same_v<M, nn::TransformerEncoderLayer>) {
      return {(*layer)(x)};
    } else {
      return {(*layer)(x, {})};
    }
  };
}

#define ONE(name) {#name, [](Maker& t) -> Results { return {name(t(0, {6}))}; }}
#define TWO(name) {#name, [](Maker& t) -> Results { return {name(t(0, {6}), t(1, {6}))}; }}
#define CASE(name, ...) {name, [](Maker& t) -> Results { return {__VA_ARGS__}; }}

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all{
      ONE(neg),
      ONE(abs),
      ONE(square),
      ONE(reciprocal),
      ONE(sqrt),
      ONE(rsqrt),
      ONE(exp),
      ONE(exp2),
      ONE(expm1),
      ONE(log),
      ONE(log2),
      ONE(log10),
      ONE(log1p),
      ONE(sin),
      ONE(cos),
      ONE(tan),
      ONE(asin),
      ONE(acos),
      ONE(atan),
      ONE(sinh),
      ONE(cosh),
      ONE(tanh),
      ONE(asinh),
      ONE(atanh),
      ONE(sigmoid),
      ONE(relu),
      ONE(erf),
      ONE(erfc),
      ONE(erfinv),
      ONE(lgamma),
      ONE(digamma),
      TWO(add),
      TWO(sub),
      TWO(mul),
      TWO(div),
      TWO(pow),
      TWO(maximum),
      TWO(minimum),
      TWO(atan2),
      TWO(hypot),
      TWO(logaddexp),
      TWO(xlogy),
      CASE("pow_number", pow(t(0, {6}), 2.5)),
      CASE("number_pow", pow(wrapped_number(2.5), t(0, {6}))),
      CASE("mul_number", t(0, {6}) * 2.5),
      CASE("rsub", 1 - t(0, {6})),
      CASE("mm", mm(t(0, {3, 4}), t(1, {4, 2}))),
      CASE("bmm", bmm(t(0, {2, 3, 4}), t(1, {2, 4, 2}))),
      CASE("mv", mv(t(0, {3, 4}), t(1, {4}))),
      CASE("dot", dot(t(0, {4}), t(1, {4}))),
      CASE("matmul", matmul(t(0, {2, 3, 4}), t(1, {4, 2}))),
      CASE("matmul_mv", matmul(t(0, {3, 4}), t(1, {4}))),
      CASE("matmul_dot", matmul(t(0, {4}), t(1, {4}))),
      CASE("addmm", addmm(t(0, {2}), t(1, {3, 4}), t(2, {4, 2}))),
      CASE("addmv", addmv(t(0, {3}), t(1, {3, 4}), t(2, {4}))),
      CASE("addr", addr(t(0, {3, 4}), t(1, {3}), t(2, {4}))),
      CASE("addbmm", addbmm(t(0, {3, 2}), t(1, {2, 3, 4}), t(2, {2, 4, 2}))),
      CASE("baddbmm", baddbmm(t(0, {2, 3, 2}), t(1, {2, 3, 4}), t(2, {2, 4, 2}))),
      CASE("outer", outer(t(0, {3}), t(1, {4}))),
      CASE("einsum", einsum("ij,jk->ik", {t(0, {3, 4}), t(1, {4, 2})})),
      CASE("tensordot", tensordot(t(0, {3, 4}), t(1, {4, 2}), 1)),
      CASE("kron", kron(t(0, {2, 2}), t(1, {2, 3}))),
      CASE("linear", linear(t(0, {3, 4}), t(1, {2, 4}), t(2, {2}))),
      CASE("linear_no_bias", linear(t(0, {3, 4}), t(1, {2, 4}))),
      CASE("bilinear", bilinear(t(0, {3, 4}), t(1, {3, 2}), t(2, {5, 4, 2}), t(3, {5}))),
      CASE("conv1d", conv1d(t(0, {1, 2, 5}), t(1, {3, 2, 3}), {.bias = t(2, {3})})),
      CASE("conv2d", conv2d(t(0, {1, 2, 5, 5}), t(1, {3, 2, 3, 3}), {.bias = t(2, {3})})),
      CASE("conv2d_same",
           conv2d(t(0, {1, 2, 5, 5}), t(1, {3, 2, 3, 3}), {.bias = t(2, {3}), .padding = "same"})),
      CASE("conv3d", conv3d(t(0, {1, 2, 4, 4, 4}), t(1, {3, 2, 2, 2, 2}), {.bias = t(2, {3})})),
      CASE("conv_transpose1d",
           conv_transpose1d(t(0, {1, 2, 5}), t(1, {2, 3, 3}), {.bias = t(2, {3})})),
      CASE("conv_transpose2d",
           conv_transpose2d(t(0, {1, 2, 4, 4}), t(1, {2, 3, 3, 3}), {.bias = t(2, {3})})),
      CASE("conv_transpose3d",
           conv_transpose3d(t(0, {1, 2, 3, 3, 3}), t(1, {2, 3, 2, 2, 2}), {.bias = t(2, {3})})),
      CASE("sdpa", scaled_dot_product_attention(t(0, {1, 2, 3, 4}), t(1, {1, 2, 3, 4}),
                                                t(2, {1, 2, 3, 4}))),
      CASE("cdist", cdist(t(0, {3, 4}), t(1, {2, 4}))),
      CASE("cross", cross(t(0, {2, 3}), t(1, {2, 3}), 1)),
      CASE("prelu", prelu(t(0, {2, 3}), t(1, {3}))),
      ONE(softplus),
      CASE("softmax", softmax(t(0, {2, 3}), 1)),
      CASE("softmin", softmin(t(0, {2, 3}), 1)),
      CASE("log_softmax", log_softmax(t(0, {2, 3}), 1)),
      ONE(gelu),
      ONE(silu),
      ONE(mish),
      ONE(elu),
      ONE(selu),
      ONE(celu),
      ONE(glu),
      ONE(leaky_relu),
      ONE(logsigmoid),
      ONE(hardswish),
      ONE(softsign),
      ONE(tanhshrink),
      CASE("layer_norm", layer_norm(t(0, {2, 3}), {3}, {.weight = t(1, {3}), .bias = t(2, {3})})),
      CASE("group_norm", group_norm(t(0, {2, 4, 3}), 2, {.weight = t(1, {4}), .bias = t(2, {4})})),
      CASE("rms_norm", rms_norm(t(0, {2, 3}), {3}, {.weight = t(1, {3})})),
      CASE("batch_norm", batch_norm(t(0, {4, 3}), {}, {},
                                    {.weight = t(1, {3}), .bias = t(2, {3}), .training = true})),
      CASE("instance_norm", instance_norm(t(0, {2, 3, 4}))),
      CASE("local_response_norm", local_response_norm(t(0, {1, 4, 3}), 2)),
      CASE("normalize", normalize(t(0, {2, 3}))),
      CASE("sum", t(0, {2, 3}).sum()),
      CASE("sum_dim", t(0, {2, 3}).sum(1)),
      CASE("mean", t(0, {2, 3}).mean(1)),
      CASE("prod", t(0, {2, 3}).prod()),
      CASE("prod_dim", t(0, {2, 3}).prod(1)),
      CASE("cumsum", cumsum(t(0, {2, 3}), 1)),
      CASE("cumprod", cumprod(t(0, {2, 3}), 1)),
      CASE("var", t(0, {2, 3}).var(1)),
      CASE("std", t(0, {2, 3}).std(1)),
      CASE("norm", t(0, {2, 3}).norm()),
      CASE("norm_dim", norm(t(0, {2, 3}), 2, {1})),
      CASE("logsumexp", logsumexp(t(0, {2, 3}), 1)),
      CASE("amax", amax(t(0, {2, 3}), 1)),
      CASE("trace", trace(t(0, {3, 3}))),
      CASE("l1_loss", l1_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("mse_loss", mse_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("smooth_l1_loss", smooth_l1_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("huber_loss", huber_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("nll_loss", nll_loss(t(0, {2, 3}), t.index({0, 2}))),
      CASE("nll_loss2d", nll_loss(t(0, {2, 3, 2}), t.index({0, 2, 1, 1}).view({2, 2}))),
      CASE("cross_entropy", cross_entropy(t(0, {2, 3}), t.index({0, 2}))),
      CASE("cross_entropy_probs", cross_entropy(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("cross_entropy_smooth",
           cross_entropy(t(0, {2, 3}), t.index({0, 2}), {.label_smoothing = 0.25})),
      CASE("kl_div", kl_div(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("binary_cross_entropy", binary_cross_entropy(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("binary_cross_entropy_with_logits",
           binary_cross_entropy_with_logits(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("poisson_nll_loss", poisson_nll_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("gaussian_nll_loss", gaussian_nll_loss(t(0, {2, 3}), t(1, {2, 3}), t(2, {2, 3}))),
      CASE("hinge_embedding_loss", hinge_embedding_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("cosine_embedding_loss",
           cosine_embedding_loss(t(0, {2, 3}), t(1, {2, 3}), t.index({1, -1}))),
      CASE("cosine_similarity", cosine_similarity(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("pairwise_distance", pairwise_distance(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("margin_ranking_loss", margin_ranking_loss(t(0, {2}), t(1, {2}), t.index({1, -1}))),
      CASE("triplet_margin_loss", triplet_margin_loss(t(0, {2, 3}), t(1, {2, 3}), t(2, {2, 3}))),
      CASE("multi_margin_loss", multi_margin_loss(t(0, {2, 3}), t.index({0, 2}))),
      CASE("multilabel_margin_loss",
           multilabel_margin_loss(t(0, {2, 3}), t.index({0, -1, 1, 2, 1, -1}).view({2, 3}))),
      CASE("multilabel_soft_margin_loss", multilabel_soft_margin_loss(t(0, {2, 3}), t(1, {2, 3}))),
      CASE("soft_margin_loss", soft_margin_loss(t(0, {2, 3}), t(1, {2, 3}).detach())),
      CASE("cat", cat({t(0, {2, 3}), t(1, {2, 3})})),
      CASE("stack", stack({t(0, {2, 3}), t(1, {2, 3})})),
      CASE("where", where(t.index({1, 0, 1}) > 0, t(0, {3}), t(1, {3}))),
      CASE("lerp", lerp(t(0, {3}), t(1, {3}), 0.25)),
      CASE("addcmul", addcmul(t(0, {3}), t(1, {3}), t(2, {3}))),
      CASE("addcdiv", addcdiv(t(0, {3}), t(1, {3}), t(2, {3}))),
      CASE("gather", gather(t(0, {2, 3}), 1, t.index({0, 2}).view({2, 1}))),
      CASE("index_select", index_select(t(0, {2, 3}), 1, t.index({0, 2}))),
      CASE("index_copy", index_copy(t(0, {2, 3}), 0, t.index({0}), t(1, {1, 3}))),
      CASE("index_add", index_add(t(0, {2, 3}), 0, t.index({0}), t(1, {1, 3}))),
      CASE("scatter_add", scatter_add(t(0, {2, 3}), 1, t.index({0, 2}).view({2, 1}), t(1, {2, 1}))),
      CASE("embedding", embedding(t.index({0, 2}), t(0, {3, 4}))),
      CASE("clamp", t(0, {3}).clamp({.min = 0.25, .max = 0.5})),
      CASE("flip", flip(t(0, {3}), {0})),
      CASE("avg_pool2d", avg_pool2d(t(0, {1, 1, 4, 4}), 2)),
      CASE("avg_pool3d", avg_pool3d(t(0, {1, 1, 4, 4, 4}), 2)),
      CASE("max_pool2d", max_pool2d(t(0, {1, 1, 4, 4}), 2)),
      CASE("max_pool3d", max_pool3d(t(0, {1, 1, 4, 4, 4}), 2)),
      CASE("max_pool3d_indices", std::get<0>(max_pool3d_with_indices(t(0, {1, 1, 4, 4, 4}), 2))),
      CASE("adaptive_avg_pool2d", adaptive_avg_pool2d(t(0, {1, 1, 4, 4}), 2)),
      CASE("adaptive_avg_pool3d", adaptive_avg_pool3d(t(0, {1, 1, 4, 4, 4}), 2)),
      CASE("adaptive_max_pool2d", adaptive_max_pool2d(t(0, {1, 1, 4, 4}), 2)),
      CASE("adaptive_max_pool3d", adaptive_max_pool3d(t(0, {1, 1, 4, 4, 4}), 2)),
      CASE("max_unpool1d", max_unpool1d(t(0, {1, 1, 2}), t.index({0, 3}).view({1, 1, 2}), 2)),
      CASE("max_unpool2d", max_unpool2d(t(0, {1, 1, 1, 2}), t.index({0, 3}).view({1, 1, 1, 2}), 2)),
      CASE("max_unpool3d",
           max_unpool3d(t(0, {1, 1, 1, 1, 2}), t.index({0, 3}).view({1, 1, 1, 1, 2}), 2)),
      CASE("pad_reflect1d", pad(t(0, {1, 2, 4}), {1, 1}, {.mode = "reflect"})),
      CASE("pad_reflect2d", pad(t(0, {1, 2, 4, 4}), {1, 1, 1, 1}, {.mode = "reflect"})),
      CASE("pad_reflect3d", pad(t(0, {1, 2, 3, 3, 3}), {1, 1, 1, 1, 1, 1}, {.mode = "reflect"})),
      CASE("pad_replicate1d", pad(t(0, {1, 2, 4}), {1, 1}, {.mode = "replicate"})),
      CASE("pad_replicate2d", pad(t(0, {1, 2, 4, 4}), {1, 1, 1, 1}, {.mode = "replicate"})),
      CASE("pad_replicate3d",
           pad(t(0, {1, 2, 3, 3, 3}), {1, 1, 1, 1, 1, 1}, {.mode = "replicate"})),
      CASE("pad_constant", pad(t(0, {1, 2, 4}), {1, 1})),
      CASE("interpolate_nearest", interpolate(t(0, {1, 2, 4, 4}), {.scale_factor = 2})),
      CASE("interpolate_linear",
           interpolate(t(0, {1, 2, 4}), {.scale_factor = 2, .mode = "linear"})),
      CASE("interpolate_bilinear",
           interpolate(t(0, {1, 2, 4, 4}), {.scale_factor = 2, .mode = "bilinear"})),
      CASE("interpolate_bicubic",
           interpolate(t(0, {1, 2, 4, 4}), {.scale_factor = 2, .mode = "bicubic"})),
      CASE("interpolate_trilinear",
           interpolate(t(0, {1, 2, 3, 3, 3}), {.scale_factor = 2, .mode = "trilinear"})),
      CASE("grid_sample",
           grid_sample(t(0, {1, 2, 4, 4}), t(1, {1, 3, 3, 2}), {.align_corners = false})),
      CASE("pixel_shuffle", pixel_shuffle(t(0, {1, 4, 2, 2}), 2)),
      CASE("affine_grid", affine_grid(t(0, {1, 2, 3}), {1, 1, 2, 2}, {.align_corners = false})),
      CASE("lp_pool2d", lp_pool2d(t(0, {1, 1, 4, 4}), 2.0, 2)),
      CASE("embedding_bag", embedding_bag(t.index({0, 2}).view({1, 2}), t(0, {3, 4}))),
      CASE("chain_matmul", chain_matmul(std::vector{t(0, {3, 4}), t(1, {4, 2}), t(2, {2, 3})})),
      CASE("unfold", unfold(t(0, {1, 2, 4, 4}), 2)),
      CASE("polar", real(polar(t(0, {3}), t(1, {3})))),
      {"LSTM", layer_case<nn::LSTM>({5, 2, 3}, 3, 4)},
      {"GRU", layer_case<nn::GRU>({5, 2, 3}, 3, 4)},
      {"RNN", layer_case<nn::RNN>({5, 2, 3}, 3, 4)},
      {"LSTMCell", layer_case<nn::LSTMCell>({2, 3}, 3, 4)},
      {"GRUCell", layer_case<nn::GRUCell>({2, 3}, 3, 4)},
      {"RNNCell", layer_case<nn::RNNCell>({2, 3}, 3, 4)},
      {"MultiheadAttention", layer_case<nn::MultiheadAttention>({3, 2, 4}, 4, 2)},
      {"TransformerEncoderLayer",
       layer_case<nn::TransformerEncoderLayer>(
           {3, 2, 4}, 4, 2,
           nn::TransformerEncoderLayerOptions{.dim_feedforward = 8, .dropout = 0.0})},
  };
  return all;
}
#undef ONE
#undef TWO
#undef CASE

std::string letters(const Results& results) {
  std::string text;
  for (const Tensor& result : results) {
    text += result.dtype() == float32    ? "f"
            : result.dtype() == bfloat16 ? "b"
            : result.dtype() == float16  ? "h"
                                         : "?";
  }
  return text;
}

struct AutocastCase {
  std::string device, name, variant;
  std::string dtypes;  // of the results; f, b and h
  // Sums of the first result and of all gradients, and of the sizes of their elements.
  std::optional<double> result, result_size, gradients, gradients_size;
};

const std::vector<AutocastCase>& recorded_cases() {
  static const std::vector<AutocastCase> all = [] {
    std::vector<AutocastCase> made;
    for (const recorded::Line& row : recorded::rows("ops/cases/autocast", 1400)) {
      made.push_back({row.at(0), row.at(1), row.at(2), row.at(3), recorded::maybe_real(row.at(4)),
                      recorded::maybe_real(row.at(5)), recorded::maybe_real(row.at(6)),
                      recorded::maybe_real(row.at(7))});
    }
    return made;
  }();
  return all;
}

std::string name_of(const AutocastCase& expected) {
  return expected.device + " " + expected.name + " " + expected.variant;
}

Results run(const AutocastCase& expected, Maker& t) {
  const AutocastScope autocast{Device(expected.device)};
  return cases().at(expected.name)(t);
}

// Of two dtypes, what no list has is as it is without autocast, which is not looked at here:
// products that PyTorch refuses and we promote, or the other way round, and what fake tensors take.
bool is_beside_the_point(const AutocastCase& expected) {
  static const std::set<std::string> names{
      "cpu addr lf",      "cpu chain_matmul fl", "cpu chain_matmul lf",
      "cpu tensordot fl", "cpu tensordot lf",    "cpu cross fl",
      "cpu cross lf",     "cuda batch_norm fl",  "cuda batch_norm lf"};
  return names.contains(name_of(expected));
}

class AutocastCases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (find_backend(DeviceType::cuda) != nullptr) return;
    register_device("cuda", std::make_unique<HostBackend>());
    set_kernel<op::fill_>(DeviceType::cuda, [](const Tensor& self, const Scalar& value) {
      HostBackend::on_host(self).fill_(value);
    });
  }
};

TEST_F(AutocastCases, ResultsAreOfPyTorchsDtypes) {
  for (const AutocastCase& expected : recorded_cases()) {
    if (is_beside_the_point(expected)) continue;
    SCOPED_TRACE(name_of(expected));
    const bool cuda = expected.device == "cuda";
    Maker t(expected.variant, cuda ? float16 : bfloat16, cuda);
    std::string dtypes;
    try {
      dtypes = letters(run(expected, t));
    } catch (const Error& error) {
      dtypes = "error";
      if (expected.dtypes != "error") ADD_FAILURE() << error.what();
    }
    EXPECT_EQ(dtypes, expected.dtypes);
  }
}

// The lists are the same for float16. PyTorch's LSTM refuses it on some processors, which says
// nothing.
TEST_F(AutocastCases, Float16IsAsBfloat16) {
  for (const AutocastCase& expected : recorded_cases()) {
    const std::string variant = expected.variant;
    if (expected.device != "cpu" || (variant != "f" && variant != "l")) continue;
    SCOPED_TRACE(name_of(expected));
    Maker t(variant, float16, false);
    const AutocastScope autocast("cpu", {.dtype = float16});
    std::string dtypes = letters(cases().at(expected.name)(t));
    std::ranges::replace(dtypes, 'h', 'b');
    EXPECT_EQ(dtypes, expected.dtypes);
  }
}

// What is on no list, or on that of float32, is not touched inside either.
TEST_F(AutocastCases, WhatIsCalculatedInFloat32IsTheSameAsWithoutAutocast) {
  const std::set<std::string> lower_inside{"GRU", "GRUCell", "LSTMCell", "TransformerEncoderLayer"};
  for (const AutocastCase& expected : recorded_cases()) {
    if (name_of(expected) != "cpu " + expected.name + " f" || expected.dtypes != "f" ||
        lower_inside.contains(expected.name))
      continue;
    SCOPED_TRACE(expected.name);
    Maker with("f", bfloat16, false), without("f", bfloat16, false);
    const Results cast = run(expected, with), plain = cases().at(expected.name)(without);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(equal(cast[i], plain[i]));
    if (!plain[0].requires_grad()) continue;
    for (const Tensor& result : {cast[0], plain[0]})
      result.backward({.gradient = ones_like(result)});
    for (const auto& [place, made] : without.made) {
      if (!made.grad().defined()) continue;
      EXPECT_TRUE(equal(with.made[place].grad(), made.grad()));
    }
  }
}

// And what is calculated, forwards and backwards: 8 bits are good for 1 in 256.
void expect_numbers(bool backward_inside) {
  for (const AutocastCase& expected : recorded_cases()) {
    SCOPED_TRACE(name_of(expected));
    if (!expected.result || is_beside_the_point(expected)) continue;
    Maker t(expected.variant, bfloat16, false);
    const Results results = run(expected, t);
    const auto sum_of = [](const Tensor& x) { return x.detach().to(float64).sum().item<double>(); };
    EXPECT_NEAR(sum_of(results[0]), *expected.result, 0.02 * *expected.result_size);
    if (!expected.gradients) continue;
    if (results[0].requires_grad()) {
      std::optional<AutocastScope> inside;
      if (backward_inside) inside.emplace("cpu");
      results[0].backward({.gradient = ones_like(results[0])});
    }
    double sum = 0;
    for (const auto& [place, made] : t.made) {
      if (!made.grad().defined()) continue;
      EXPECT_EQ(made.grad().dtype(), made.dtype());
      sum += sum_of(made.grad());
    }
    EXPECT_NEAR(sum, *expected.gradients, 0.04 * *expected.gradients_size + 1e-4);
  }
}
TEST_F(AutocastCases, NumbersAndGradientsArePyTorchs) { expect_numbers(false); }
TEST_F(AutocastCases, GradientsInsideOfTheScopeAreToo) { expect_numbers(true); }

}  // namespace
}  // namespace tenon
