#include "ops/nn/recurrent_gradients.h"

#include <algorithm>
#include <vector>

#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

namespace {

// The first rows replaced.
Tensor with_first(const Tensor& all, const Tensor& rows) {
  const std::int64_t n = rows.size(0), rest = all.size(0) - n;
  return rest == 0 ? rows : cat({rows, all.narrow(0, n, rest)});
}

std::vector<Tensor> by_step(const Tensor& rows, const Dims& sizes) {
  return rows.defined() ? rows.split(sizes, 0) : std::vector<Tensor>(sizes.size());
}
Tensor together(const std::vector<Tensor>& steps) { return cat(steps); }

// Those of a step before: what was carried over, and what a sequence began with.
Tensor before(const std::vector<Tensor>& steps, const Tensor& first, std::size_t t, bool reverse) {
  const std::int64_t size = steps[t].size(0);
  const bool begins = reverse ? t + 1 == steps.size() : t == 0;
  if (begins) return first.narrow(0, 0, size);
  const Tensor& earlier = steps[reverse ? t + 1 : t - 1];
  const std::int64_t carried = std::min(size, earlier.size(0));
  if (carried == size) return earlier.narrow(0, 0, size);
  return cat({earlier, first.narrow(0, carried, size - carried)});
}

Tensor gate_gradient(const Tensor& gate) { return gate * (1 - gate); }
Tensor tanh_gradient(const Tensor& result) { return 1 - result * result; }

}  // namespace

RecurrentGradients recurrent_gradients(const RecurrentPlan& plan, const RecurrentState& grads,
                                       const RecurrentState& from, const Tensor& state,
                                       const Tensor& cell, const RecurrentWeights& weights) {
  const bool lstm = plan.kind == RecurrentKind::lstm, gru = plan.kind == RecurrentKind::gru;
  const Dims& sizes = plan.batch_sizes;
  const auto outs = by_step(from.out, sizes), of_outs = by_step(grads.out, sizes);
  const auto kept = by_step(plan.kept() > 0 ? from.kept : Tensor(), sizes),
             of_kept = by_step(plan.kept() > 0 ? grads.kept : Tensor(), sizes);
  const auto cells = by_step(lstm ? from.cells : Tensor(), sizes),
             of_cells = by_step(lstm ? grads.cells : Tensor(), sizes);
  const auto begin = [](const Tensor& grad, const Tensor& like) {
    return grad.defined() ? grad : zeros_like(like);
  };
  Tensor of_state = begin(grads.state, state);
  Tensor of_cell = lstm ? begin(grads.cell, cell) : Tensor();
  std::vector<Tensor> of_projected(sizes.size()), of_hidden(sizes.size()), earlier(sizes.size()),
      of_shown(sizes.size()), raw(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t t = plan.reverse ? i : sizes.size() - 1 - i;
    const auto part = [&](const std::vector<Tensor>& of, std::int64_t number) {
      return of[t].narrow(1, number * plan.hidden, plan.hidden);
    };
    // With the gradient of what was kept itself, where it has one.
    const auto plus_kept = [&](const Tensor& grad, std::int64_t number) {
      return of_kept[t].defined() ? grad + part(of_kept, number) : grad;
    };
    Tensor grad = of_state.narrow(0, 0, sizes[t]);
    if (of_outs[t].defined()) grad = grad + of_outs[t];
    earlier[t] = before(outs, state, t, plan.reverse);
    Tensor passed;
    if (lstm) {
      const Tensor in = part(kept, 0), forget = part(kept, 1), now = part(kept, 2),
                   out = part(kept, 3), shown = part(kept, 4);
      of_shown[t] = grad;
      raw[t] = out * shown;
      if (weights.projection) grad = matmul(grad, *weights.projection);
      Tensor of = of_cell.narrow(0, 0, sizes[t]) + plus_kept(grad * out, 4) * tanh_gradient(shown);
      if (of_cells[t].defined()) of = of + of_cells[t];
      const Tensor last = before(cells, cell, t, plan.reverse);
      of_projected[t] = cat({plus_kept(of * now, 0) * gate_gradient(in),
                             plus_kept(of * last, 1) * gate_gradient(forget),
                             plus_kept(of * in, 2) * tanh_gradient(now),
                             plus_kept(grad * shown, 3) * gate_gradient(out)},
                            1);
      of_cell = with_first(of_cell, of * forget);
      of_hidden[t] = of_projected[t];
    } else if (gru) {
      const Tensor reset = part(kept, 0), keep = part(kept, 1), now = part(kept, 2),
                   hidden = part(kept, 3);
      const Tensor of_now = plus_kept(grad * (1 - keep), 2) * tanh_gradient(now);
      const Tensor of_reset = plus_kept(of_now * hidden, 0) * gate_gradient(reset);
      const Tensor of_keep = plus_kept(grad * (earlier[t] - now), 1) * gate_gradient(keep);
      of_projected[t] = cat({of_reset, of_keep, of_now}, 1);
      of_hidden[t] = cat({of_reset, of_keep, plus_kept(of_now * reset, 3)}, 1);
      passed = grad * keep;
    } else {
      of_projected[t] = plan.kind == RecurrentKind::rnn_relu ? grad * (outs[t] > 0).to(grad.dtype())
                                                             : grad * tanh_gradient(outs[t]);
      of_hidden[t] = of_projected[t];
    }
    const Tensor next = matmul(of_hidden[t], weights.hidden);
    of_state = with_first(of_state, passed.defined() ? next + passed : next);
  }
  RecurrentGradients all;
  all.projected = together(of_projected);
  all.state = of_state;
  all.cell = of_cell;
  const Tensor of_products = together(of_hidden);
  all.hidden = matmul(of_products.t(), together(earlier));
  if (gru) all.bias = sum(of_products, 0);
  if (weights.projection) all.projection = matmul(together(of_shown).t(), together(raw));
  return all;
}

}  // namespace tenon
