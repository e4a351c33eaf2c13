#include "ops/nn/recurrent_kernels.h"

#include <algorithm>
#include <vector>

#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/recurrent.h"
#include "ops/linalg/multiply.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

std::int64_t RecurrentPlan::gates() const {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}
std::int64_t RecurrentPlan::kept() const {
  return kind == RecurrentKind::lstm ? 5 : kind == RecurrentKind::gru ? 4 : 0;
}

namespace {

// The first rows of a as many rows of out: out = a * b.
void multiply(const Tensor& out, const Tensor& a, const Tensor& b, std::int64_t rows) {
  multiply_batch(out.narrow(0, 0, rows).unsqueeze(0), a.narrow(0, 0, rows).unsqueeze(0),
                 b.unsqueeze(0));
}
Tensor room(std::int64_t rows, std::int64_t columns, const Tensor& like) {
  return empty({rows, columns}, {.dtype = like.dtype(), .device = Device::cpu()});
}

// A step: the rows of one time, and where those of the step before are.
struct Step {
  std::int64_t first;    // row
  std::int64_t size;     // sequences
  std::int64_t earlier;  // the first row of the step before, for
  std::int64_t carried;  // so many sequences; the rest begins here
};

// In the order they are calculated.
std::vector<Step> steps_of(const RecurrentPlan& plan) {
  const Dims& sizes = plan.batch_sizes;
  std::vector<Step> steps(sizes.size());
  std::int64_t row = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    steps[t] = {row, sizes[t], 0, 0};
    row += sizes[t];
  }
  if (plan.reverse) std::reverse(steps.begin(), steps.end());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    steps[i].earlier = steps[i - 1].first;
    steps[i].carried = std::min(steps[i].size, steps[i - 1].size);
  }
  return steps;
}

// Calls f(row) for each of them, on several threads if that is worth it.
template <class F>
void for_each_row(std::int64_t rows, std::int64_t numbers, F&& f) {
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, numbers));
  parallel_for(0, rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) f(r);
  });
}

template <class T>
void run(const RecurrentPlan& plan, const RecurrentState& to, const Tensor& projected,
         const RecurrentWeights& weights) {
  const std::int64_t h = plan.hidden, width = plan.gates() * h, shown = to.state.size(1);
  const std::int64_t batch = to.state.size(0);
  const Tensor by = weights.hidden.t().contiguous();
  const Tensor product = room(batch, width, projected);
  const Tensor raw = weights.projection ? room(batch, h, projected) : to.state;
  const T* in = projected.data<T>();
  T *gates = product.data<T>(), *state = to.state.data<T>(), *out = to.out.data<T>();
  T *unprojected = raw.data<T>(), *cell = to.cell.data<T>(), *cells = to.cells.data<T>();
  T* kept = to.kept.data<T>();
  const T* bias = weights.bias ? weights.bias->data<T>() : nullptr;
  for (const Step& step : steps_of(plan)) {
    multiply(product, to.state, by, step.size);
    for_each_row(step.size, width, [&](std::int64_t r) {
      const T* from = in + (step.first + r) * width;
      T* hidden = gates + r * width;
      T* keep = kept + (step.first + r) * plan.kept() * h;
      if (plan.kind == RecurrentKind::lstm) {
        lstm_step(from, hidden, cell + r * h, unprojected + r * h, keep, h);
        std::copy_n(cell + r * h, h, cells + (step.first + r) * h);
      } else if (plan.kind == RecurrentKind::gru) {
        for (std::int64_t j = 0; bias != nullptr && j < width; ++j) hidden[j] += bias[j];
        gru_step(from, hidden, state + r * h, keep, h);
      } else {
        rnn_step(from, hidden, plan.kind == RecurrentKind::rnn_relu, state + r * h, h);
      }
    });
    if (weights.projection) multiply(to.state, raw, weights.projection->t(), step.size);
    std::copy_n(state, step.size * shown, out + step.first * shown);
  }
}

// Of what was kept of a row, if that has a gradient itself: when the gradient is run backwards.
template <class T>
struct KeptGradient {
  const T* row;
  T operator()(std::int64_t i) const { return row == nullptr ? T(0) : row[i]; }
};

// Gradients of the gates of a row from those of its state (and cell), in place.
template <class T>
void lstm_back(const T* kept, const T* before, const T* grad, KeptGradient<T> more, T* of_cell,
               T* of_gates, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T in = kept[j], forget = kept[n + j], now = kept[2 * n + j], out = kept[3 * n + j],
            shown = kept[4 * n + j];
    const T of = of_cell[j] + (grad[j] * out + more(4 * n + j)) * (1 - shown * shown);
    of_gates[j] = (of * now + more(j)) * in * (1 - in);
    of_gates[n + j] = (of * before[j] + more(n + j)) * forget * (1 - forget);
    of_gates[2 * n + j] = (of * in + more(2 * n + j)) * (1 - now * now);
    of_gates[3 * n + j] = (grad[j] * shown + more(3 * n + j)) * out * (1 - out);
    of_cell[j] = of * forget;
  }
}
template <class T>
void gru_back(const T* kept, const T* before, const T* grad, KeptGradient<T> more, T* of_projected,
              T* of_hidden, T* passed, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const T reset = kept[j], keep = kept[n + j], now = kept[2 * n + j], hidden = kept[3 * n + j];
    const T of_now = (grad[j] * (1 - keep) + more(2 * n + j)) * (1 - now * now);
    of_hidden[j] = of_projected[j] = (of_now * hidden + more(j)) * reset * (1 - reset);
    of_hidden[n + j] = of_projected[n + j] =
        (grad[j] * (before[j] - now) + more(n + j)) * keep * (1 - keep);
    of_projected[2 * n + j] = of_now;
    of_hidden[2 * n + j] = of_now * reset + more(3 * n + j);
    passed[j] = grad[j] * keep;
  }
}
template <class T>
void rnn_back(const T* out, const T* grad, bool relu, T* of_gates, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j)
    of_gates[j] = relu ? (out[j] > 0 ? grad[j] : 0) : grad[j] * (1 - out[j] * out[j]);
}

template <class T>
void run_backward(const RecurrentPlan& plan, const RecurrentGradients& to, const RecurrentState& of,
                  const RecurrentState& from, const Tensor& first_state, const Tensor& first_cell,
                  const RecurrentWeights& weights) {
  const std::int64_t h = plan.hidden, width = plan.gates() * h, shown = to.state.size(1);
  const std::int64_t batch = to.state.size(0), rows = from.out.size(0);
  const bool lstm = plan.kind == RecurrentKind::lstm, gru = plan.kind == RecurrentKind::gru;
  // What the weights were multiplied by, and the gradients of the products, of all steps: each
  // weight has its gradient in one product.
  const Tensor before = room(rows, shown, from.out);
  const Tensor of_hidden = gru ? room(rows, width, from.out) : to.projected;
  const Tensor of_shown = weights.projection ? room(rows, shown, from.out) : Tensor();
  const Tensor raw = weights.projection ? room(batch, h, from.out) : to.state;
  const Tensor passed = gru ? room(batch, h, from.out) : Tensor();
  const auto steps = steps_of(plan);
  const T *outs = from.out.data<T>(), *cells = from.cells.data<T>(), *kept = from.kept.data<T>();
  const auto if_there = [](const Tensor& tensor) -> const T* {
    return tensor.defined() ? tensor.data<T>() : nullptr;
  };
  const T *grads = if_there(of.out), *of_kept = if_there(of.kept), *of_cells = if_there(of.cells);
  const T *state0 = first_state.data<T>(), *cell0 = first_cell.data<T>();
  T *of_state = to.state.data<T>(), *of_cell = to.cell.data<T>();
  T *earlier = before.data<T>(), *of_gates = to.projected.data<T>(),
    *of_products = of_hidden.data<T>();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    for_each_row(step->size, width, [&](std::int64_t r) {
      const std::int64_t row = step->first + r;
      const bool carried = r < step->carried;
      T* grad = of_state + r * shown;
      for (std::int64_t j = 0; grads != nullptr && j < shown; ++j)
        grad[j] += grads[row * shown + j];
      std::copy_n(carried ? outs + (step->earlier + r) * shown : state0 + r * shown, shown,
                  earlier + row * shown);
    });
    if (weights.projection) {
      multiply(raw, to.state, *weights.projection, step->size);
      std::copy_n(of_state, step->size * shown, of_shown.data<T>() + step->first * shown);
    }
    const T* of_raw = raw.data<T>();
    for_each_row(step->size, width, [&](std::int64_t r) {
      const std::int64_t row = step->first + r;
      const T* grad = of_raw + r * h;
      const KeptGradient<T> more{of_kept == nullptr ? nullptr : of_kept + row * plan.kept() * h};
      if (lstm) {
        const T* cell = r < step->carried ? cells + (step->earlier + r) * h : cell0 + r * h;
        T* next = of_cell + r * h;
        for (std::int64_t j = 0; of_cells != nullptr && j < h; ++j)
          next[j] += of_cells[row * h + j];
        lstm_back(kept + row * 5 * h, cell, grad, more, next, of_gates + row * width, h);
      } else if (gru) {
        gru_back(kept + row * 4 * h, earlier + row * h, grad, more, of_gates + row * width,
                 of_products + row * width, passed.data<T>() + r * h, h);
      } else {
        rnn_back(outs + row * h, grad, plan.kind == RecurrentKind::rnn_relu, of_gates + row * width,
                 h);
      }
    });
    const Tensor of_step = of_hidden.narrow(0, step->first, step->size);
    multiply(to.state, of_step, weights.hidden, step->size);
    if (gru) {
      const T* more = passed.data<T>();
      for (std::int64_t j = 0; j < step->size * h; ++j) of_state[j] += more[j];
    }
  }
  multiply_batch(to.hidden.unsqueeze(0), of_hidden.t().unsqueeze(0), before.unsqueeze(0));
  if (gru) sum_out(to.bias.variable_data(), of_hidden, 0);
  if (!weights.projection) return;
  const Tensor all = room(rows, h, from.out);
  T* to_raw = all.data<T>();
  for_each_row(rows, h, [&](std::int64_t r) {
    const T *out = kept + (r * 5 + 3) * h, *seen = kept + (r * 5 + 4) * h;
    for (std::int64_t j = 0; j < h; ++j) to_raw[r * h + j] = out[j] * seen[j];
  });
  multiply_batch(to.projection.unsqueeze(0), of_shown.t().unsqueeze(0), all.unsqueeze(0));
}

}  // namespace

void run_recurrent(const RecurrentPlan& plan, const RecurrentState& to, const Tensor& projected,
                   const RecurrentWeights& weights) {
  if (projected.dtype() == float64) return run<double>(plan, to, projected, weights);
  run<float>(plan, to, projected, weights);
}

void run_recurrent_backward(const RecurrentPlan& plan, const RecurrentGradients& to,
                            const RecurrentState& grads, const RecurrentState& from,
                            const Tensor& state, const Tensor& cell,
                            const RecurrentWeights& weights) {
  if (from.out.dtype() == float64)
    return run_backward<double>(plan, to, grads, from, state, cell, weights);
  run_backward<float>(plan, to, grads, from, state, cell, weights);
}

}  // namespace tenon
