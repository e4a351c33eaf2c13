#include "optim/unscale.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/reductions.h"

namespace tenon::optim {

namespace {

// Elements in a row, of a type that is calculated in as it is, or in float.
bool is_packed(const Tensor& grad) {
  const Layout& layout = grad.layout();
  const DType dtype = layout.dtype;
  return !grad.body().is_wrapper() && !grad.is_inference() && layout.device == Device::cpu() &&
         !layout.neg && layout.is_non_overlapping_and_dense() &&
         (dtype == float32 || dtype == float64 || dtype == bfloat16);
}

template <class T, class Compute>
bool unscale_row(T* row, std::int64_t n, Compute inverse) {
  int bad = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<Compute>(row[i]);
    bad |= !(std::abs(value) <= std::numeric_limits<Compute>::max());
    row[i] = static_cast<T>(value * inverse);
  }
  return bad != 0;
}

bool unscale_piece(const Tensor& grad, std::int64_t begin, std::int64_t n, float inverse) {
  switch (grad.dtype()) {
    case float32: return unscale_row<float, float>(grad.data<float>() + begin, n, inverse);
    case float64: return unscale_row<double, double>(grad.data<double>() + begin, n, inverse);
    default: return unscale_row<BFloat16, float>(grad.data<BFloat16>() + begin, n, inverse);
  }
}

// All of them in one pass, shared out by elements. No two share memory.
bool unscale_packed(const std::vector<Tensor>& grads, float inverse) {
  constexpr std::int64_t kGrain = 1 << 15;
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (const Tensor& grad : grads) ends.push_back(total += grad.numel());
  std::atomic<bool> bad{false};
  parallel_for(0, total, kGrain, [&](std::int64_t first, std::int64_t last) {
    auto i =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
    for (; first < last; ++i) {
      const std::int64_t n = std::min(last, ends[i]) - first;
      if (unscale_piece(grads[i], first - (i == 0 ? 0 : ends[i - 1]), n, inverse))
        bad.store(true, std::memory_order_relaxed);
      first += n;
    }
  });
  for (const Tensor& grad : grads) BodyEditor::bump_version(grad.body());
  return bad.load();
}

}  // namespace

bool unscale(const std::vector<Tensor>& grads, float inverse) {
  for (const Tensor& grad : grads) {
    if (is_complex(grad.dtype())) {
      throw NotImplementedError(
          concat("\"_amp_foreach_non_finite_check_and_unscale_\" not implemented for ",
                 repr(grad.dtype()), ": gradients of complex parameters cannot be scaled"));
    }
    // Before the first is written to.
    if (!grad.body().is_wrapper()) check_written_once(grad.layout());
  }
  std::vector<Tensor> packed;
  std::unordered_set<const void*> seen, storages;
  bool bad = false;
  const auto run = [&] {
    bad |= unscale_packed(packed, inverse);
    packed.clear();
    storages.clear();
  };
  for (const Tensor& grad : grads) {
    if (grad.is_meta() || !seen.insert(&grad.body()).second) continue;
    const bool is_row = is_packed(grad);
    // They may share memory with those that wait.
    if (!is_row || !storages.insert(grad.storage().identity()).second) run();
    if (is_row) {
      storages.insert(grad.storage().identity());
      packed.push_back(grad);
    } else {
      bad |= !all(isfinite(grad)).item<bool>();
      grad.mul_(static_cast<double>(inverse));
    }
  }
  run();
  return bad;
}

}  // namespace tenon::optim
