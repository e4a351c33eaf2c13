// Recurrent layers as operators: what they look like, and their gradients.
#include "ops/nn/recurrent.h"

#include <tuple>

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/recurrent_gradients.h"
#include "ops/nn/recurrent_kernels.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

namespace op {
// The result, the last state and cell, and what the gradient needs: gates, and cells of all steps.
struct recurrent_layer {
  using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
      const Tensor& projected, const Tensor& state, const std::optional<Tensor>& cell,
      const Tensor& weight, const std::optional<Tensor>& bias,
      const std::optional<Tensor>& projection, const Dims& batch_sizes, RecurrentKind kind,
      bool reverse);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo recurrent_layer::info{"_recurrent_layer", kind};

// Gradients of what is projected, the state, the cell, and the three weights.
struct recurrent_layer_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>(
      const std::optional<Tensor>& grad, const std::optional<Tensor>& grad_state,
      const std::optional<Tensor>& grad_cell, const std::optional<Tensor>& grad_kept,
      const std::optional<Tensor>& grad_cells, const Tensor& out, const Tensor& kept,
      const Tensor& cells, const Tensor& state, const std::optional<Tensor>& cell,
      const Tensor& weight, const std::optional<Tensor>& projection, const Dims& batch_sizes,
      RecurrentKind kind, bool reverse);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo recurrent_layer_backward::info{"_recurrent_layer_backward", kind};
}  // namespace op

namespace {

DType wide(DType dtype) { return dtype == float16 || dtype == bfloat16 ? float32 : dtype; }

// As kernels take it.
Tensor plain(const Tensor& tensor, DType dtype) { return tensor.to(dtype).contiguous(); }
std::optional<Tensor> plain(const std::optional<Tensor>& tensor, DType dtype) {
  return tensor ? std::optional(plain(*tensor, dtype)) : std::nullopt;
}
Tensor nothing(DType dtype) { return empty({0}, {.dtype = dtype, .device = Device::cpu()}); }

std::int64_t rows_of(const Dims& batch_sizes) {
  std::int64_t rows = 0;
  for (const std::int64_t size : batch_sizes) rows += size;
  return rows;
}

RecurrentPlan plan_of(RecurrentKind kind, bool reverse, const Dims& batch_sizes,
                      const Tensor& weight) {
  RecurrentPlan plan{kind, reverse, batch_sizes, 0};
  plan.hidden = weight.size(0) / plan.gates();
  return plan;
}

void check(const Tensor& projected, const Tensor& other, const char* name) {
  const Tensor both[] = {projected, other};
  same_device("a recurrent layer", both);
  if (projected.dtype() == other.dtype()) return;
  throw DTypeError(
      concat("Input and ", name, " tensors are not the same dtype, found input tensor ", "with ",
             repr(projected.dtype()), " and ", name, " tensor with ", repr(other.dtype())));
}

}  // namespace

template <>
struct Rule<op::recurrent_layer> {
  static constexpr std::string_view gradient = "RecurrentLayerBackward0";
  static bool saves(std::size_t place, const Wanted&) {
    // All but what is projected and the bias, the result, and what was kept for this.
    return place != 0 && place != 4 && place != kResult + 1 && place != kResult + 2;
  }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*projected*/,
                       const Tensor& state, const std::optional<Tensor>& cell, const Tensor& weight,
                       const std::optional<Tensor>& /*bias*/,
                       const std::optional<Tensor>& projection, const Dims& batch_sizes,
                       RecurrentKind kind, bool reverse) {
    std::array<Tensor, 6> all;
    const detail::NoAutocastScope as_recorded;
    if (is_grad_enabled()) {
      const DType dtype = wide(weight.dtype());
      const auto exact = [&](const Tensor& tensor) {
        return tensor.defined() ? tensor.to(dtype) : tensor;
      };
      const RecurrentWeights weights{
          weight.to(dtype), {}, projection ? std::optional(projection->to(dtype)) : std::nullopt};
      const RecurrentGradients of = recurrent_gradients(
          plan_of(kind, reverse, batch_sizes, weight),
          {exact(grads[0]), exact(grads[1]), exact(grads[2]), grads[3], grads[4]},
          {exact(g.result(0)), {}, {}, g.result(3), g.result(4)}, state.to(dtype),
          cell ? cell->to(dtype) : Tensor(), weights);
      all = {of.projected, of.state, of.cell, of.hidden, of.bias, of.projection};
    } else {
      std::tie(all[0], all[1], all[2], all[3], all[4], all[5]) = call<op::recurrent_layer_backward>(
          grads[0], grads[1], grads[2], grads[3], grads[4], g.result(0), g.result(3), g.result(4),
          state, cell, weight, projection, batch_sizes, kind, reverse);
    }
    for (std::size_t i = 0; i < std::size(all); ++i) {
      if (g.wanted(i)) g.set(i, all[i]);
    }
  }
  static std::array<Layout, 5> infer(const Tensor& projected, const Tensor& state,
                                     const std::optional<Tensor>& cell, const Tensor& weight,
                                     const std::optional<Tensor>& /*bias*/,
                                     const std::optional<Tensor>& projection,
                                     const Dims& batch_sizes, RecurrentKind kind, bool reverse) {
    check(projected, state, "hidden");
    check(projected, weight, "weight");
    if (cell) check(projected, *cell, "cell");
    if (projection) check(projected, *projection, "weight");
    if (wide(projected.dtype()) != float32 && projected.dtype() != float64)
      not_implemented("a recurrent layer", projected.dtype());
    const RecurrentPlan plan = plan_of(kind, reverse, batch_sizes, weight);
    const std::int64_t rows = rows_of(batch_sizes), batch = state.size(0);
    const DType dtype = projected.dtype(), kept = wide(dtype);
    const Device device = projected.device();
    const bool lstm = kind == RecurrentKind::lstm;
    const auto only = [](bool there, const Shape& shape) { return there ? shape : Shape({0}); };
    return {Layout::packed({rows, state.size(1)}, dtype, device),
            Layout::packed(state.shape(), dtype, device),
            Layout::packed(only(lstm, {batch, plan.hidden}), dtype, device),
            Layout::packed(only(plan.kept() > 0, {rows, plan.kept() * plan.hidden}), kept, device),
            Layout::packed(only(lstm, {rows, plan.hidden}), kept, device)};
  }
  static void cpu(std::array<Tensor, 5>& out, const Tensor& projected, const Tensor& state,
                  const std::optional<Tensor>& cell, const Tensor& weight,
                  const std::optional<Tensor>& bias, const std::optional<Tensor>& projection,
                  const Dims& batch_sizes, RecurrentKind kind, bool reverse) {
    const DType dtype = wide(projected.dtype());
    const auto exact = [&](const Tensor& tensor) {
      return tensor.dtype() == dtype ? tensor : empty_like(tensor, {.dtype = dtype});
    };
    const RecurrentState to{exact(out[0]), exact(out[1]), exact(out[2]), out[3], out[4]};
    copy_tensor(to.state, state);
    if (cell) copy_tensor(to.cell, *cell);
    run_recurrent(plan_of(kind, reverse, batch_sizes, weight), to, plain(projected, dtype),
                  {plain(weight, dtype), plain(bias, dtype), plain(projection, dtype)});
    if (dtype == projected.dtype()) return;
    copy_tensor(out[0], to.out);
    copy_tensor(out[1], to.state);
    copy_tensor(out[2], to.cell);
  }
};

// Where its gradient is to be recorded, recurrent_gradients() is called instead.
template <>
struct Rule<op::recurrent_layer_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 6> infer(
      const std::optional<Tensor>& /*grad*/, const std::optional<Tensor>& /*grad_state*/,
      const std::optional<Tensor>& /*grad_cell*/, const std::optional<Tensor>& /*grad_kept*/,
      const std::optional<Tensor>& /*grad_cells*/, const Tensor& out, const Tensor& /*kept*/,
      const Tensor& /*cells*/, const Tensor& state, const std::optional<Tensor>& cell,
      const Tensor& weight, const std::optional<Tensor>& projection, const Dims& /*batch_sizes*/,
      RecurrentKind kind, bool /*reverse*/) {
    const auto packed = [&](const Shape& shape) {
      return Layout::packed(shape, wide(out.dtype()), out.device());
    };
    const bool gru = kind == RecurrentKind::gru;
    return {packed({out.size(0), weight.size(0)}),
            packed(state.shape()),
            packed(cell ? cell->shape() : Shape({0})),
            packed(weight.shape()),
            packed({gru ? weight.size(0) : 0}),
            packed(projection ? projection->shape() : Shape({0}))};
  }
  static void cpu(std::array<Tensor, 6>& grads, const std::optional<Tensor>& grad,
                  const std::optional<Tensor>& grad_state, const std::optional<Tensor>& grad_cell,
                  const std::optional<Tensor>& grad_kept, const std::optional<Tensor>& grad_cells,
                  const Tensor& out, const Tensor& kept, const Tensor& cells, const Tensor& state,
                  const std::optional<Tensor>& cell, const Tensor& weight,
                  const std::optional<Tensor>& projection, const Dims& batch_sizes,
                  RecurrentKind kind, bool reverse) {
    const DType dtype = grads[0].dtype();
    const RecurrentGradients to{grads[0], grads[1], grads[2], grads[3], grads[4], grads[5]};
    const auto begin = [](const Tensor& with, const std::optional<Tensor>& given) {
      if (given) {
        copy_tensor(with, *given);
      } else {
        with.variable_data().zero_();
      }
    };
    begin(to.state, grad_state);
    begin(to.cell, cell ? grad_cell : std::nullopt);
    const auto given = [&](const std::optional<Tensor>& tensor) {
      return tensor ? plain(*tensor, dtype) : Tensor();
    };
    run_recurrent_backward(plan_of(kind, reverse, batch_sizes, weight), to,
                           {given(grad), {}, {}, given(grad_kept), given(grad_cells)},
                           {plain(out, dtype), {}, {}, kept, cells}, plain(state, dtype),
                           cell ? plain(*cell, dtype) : nothing(dtype),
                           {plain(weight, dtype), std::nullopt, plain(projection, dtype)});
  }
};

RecurrentResult recurrent_layer(RecurrentKind kind, const Tensor& projected, const Tensor& state,
                                const std::optional<Tensor>& cell, const RecurrentWeights& weights,
                                const Dims& batch_sizes, bool reverse) {
  const auto [out, last, last_cell, kept, cells] =
      call<op::recurrent_layer>(projected, state, cell, weights.hidden, weights.bias,
                                weights.projection, batch_sizes, kind, reverse);
  return {out, last, last_cell};
}

}  // namespace tenon
