// Steps of the parameters of a group, all at once: shared out over the threads by elements.
//
// Which thread updates which element changes nothing: no element depends on another.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "tenon/nn/guard.h"
#include "tenon/optim/optimizer.h"
#include "tenon/tensor.h"

namespace tenon::optim {

using nn::detail::Guard;
inline constexpr const char* kStepping = "the optimizer took a step";

// The parameters of a group that have gradients, with them. Taken from it before anything else is
// done: what comes next may be user code, which may do anything to the group. Whether it destroys
// the optimizer is known to a guard on that.
template <class Work>
std::vector<Work> with_gradients(const ParamGroup& group) {
  std::vector<Work> all;
  for (const Tensor& parameter : group.params()) {
    if (Tensor grad = parameter.grad(); grad.defined())
      all.push_back(Work{.parameter = parameter, .grad = std::move(grad)});
  }
  return all;
}

// What is kept for a parameter. If there is nothing yet, `make` makes it, which may run user code.
template <class Make>
NamedValues& begun(Optimizer& optimizer, const Tensor& parameter, Make&& make) {
  if (NamedValues& kept = optimizer.state(parameter); !kept.empty()) return kept;
  const Guard guard(static_cast<const void*>(&optimizer), kStepping);
  NamedValues fresh = make();
  guard.check();
  return optimizer.state(parameter) = std::move(fresh);
}

// What is kept for a parameter has to go with it and with its gradient: it does not if the
// parameter was given another dtype or shape (set_data, a conversion that swaps) after its first
// step. Asked before anything is written, so that no step is half taken. User-defined tensors judge
// for themselves.
class KeptBeside {
 public:
  KeptBeside(const Tensor& parameter, const Tensor& grad) noexcept
      : parameter_(parameter), grad_(grad), is_usual_(is_like(grad, parameter)) {}

  // An average of gradients by lerp_ has their dtype; all else can be converted to the other's.
  void check(const char* name, const Tensor& kept, bool is_average = false) const {
    if (is_usual_ && is_like(kept, parameter_)) [[likely]]
      return;
    check_slowly(name, kept, is_average);
  }
  void check_steps(const Tensor& steps) const;

 private:
  static bool is_like(const Tensor& one, const Tensor& other) noexcept {
    const Layout &a = one.cell()->body->layout(), &b = other.cell()->body->layout();
    return a.dtype == b.dtype && a.device == b.device && a.shape == b.shape;
  }
  void check_slowly(const char* name, const Tensor& kept, bool is_average) const;

  const Tensor& parameter_;
  const Tensor& grad_;
  bool is_usual_;
};

// Whether kernels may take them as rows of floats: all of one shape, in one packed order, each in
// memory of its own, and none made in inference mode. Undefined ones do not matter.
bool are_packed_floats(std::span<const Tensor> tensors);

// Parameters that wait for their step. A step has numbers of its own for each parameter, and N
// tensors beside parameter and gradient.
template <class Step, std::size_t N>
class Updates {
 public:
  template <class... Kept>
  explicit Updates(void (*kernel)(const Step&, std::int64_t, float*, const float*, Kept...))
      : kernel_([kernel](const Step& step, std::int64_t n, float* parameter, const float* grad,
                         const std::array<float*, N>& kept) {
          std::apply([&](auto... k) { kernel(step, n, parameter, grad, k...); }, kept);
        }) {
    static_assert(sizeof...(Kept) == N);
  }

  // False: these are no rows of floats, and the caller is to update the parameter itself, now.
  // Those that waited have been updated then: they may share memory with it.
  bool take(const Step& step, const Tensor& parameter, const Tensor& grad,
            std::array<Tensor, N> kept) {
    std::array<Tensor, N + 2> all{parameter, grad};
    std::copy(kept.begin(), kept.end(), all.begin() + 2);
    const bool packed = are_packed_floats(all);
    if (!packed || shares_memory(all)) run();
    if (!packed) return false;
    for (const Tensor& tensor : all) {
      if (!tensor.defined()) continue;
      (tensor.is(grad) ? read_ : written_).insert(tensor.storage().impl());
    }
    waiting_.push_back({step, parameter, grad, std::move(kept)});
    return true;
  }

  // Before another tensor's operator, which may be somebody's code: that may give those that wait
  // other data.
  void prepare_for(const Tensor& other) {
    if (other.body().is_wrapper() || other.device().has_backend()) run();
  }

  void run() {
    constexpr std::int64_t kGrain = 1 << 15;
    std::vector<std::int64_t> ends;
    std::int64_t total = 0;
    for (const Update& update : waiting_) ends.push_back(total += update.parameter.numel());
    parallel_for(0, total, kGrain, [&](std::int64_t first, std::int64_t last) {
      auto i = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), first) -
                                        ends.begin());
      for (; first < last; ++i) {
        const std::int64_t n = std::min(last, ends[i]) - first;
        update_piece(waiting_[i], first - (i == 0 ? 0 : ends[i - 1]), n);
        first += n;
      }
    });
    for (const Update& update : waiting_) {
      BodyEditor::bump_version(update.parameter.body());
      for (const Tensor& kept : update.kept) {
        if (kept.defined()) BodyEditor::bump_version(kept.body());
      }
    }
    waiting_.clear();
    written_.clear();
    read_.clear();
  }

 private:
  struct Update {
    Step step;
    Tensor parameter, grad;
    std::array<Tensor, N> kept;  // the kernel is given null for undefined ones
  };

  // What one that waits writes is not for another to touch, nor what it reads for another to write.
  bool shares_memory(const std::array<Tensor, N + 2>& all) const {
    for (const Tensor& tensor : all) {
      if (!tensor.defined()) continue;
      const void* storage = tensor.storage().impl();
      if (written_.contains(storage) || (!tensor.is(all[1]) && read_.contains(storage)))
        return true;
    }
    return false;
  }

  void update_piece(const Update& update, std::int64_t begin, std::int64_t n) const {
    std::array<float*, N> kept{};
    for (std::size_t k = 0; k < N; ++k) {
      if (update.kept[k].defined()) kept[k] = update.kept[k].template data<float>() + begin;
    }
    kernel_(update.step, n, update.parameter.template data<float>() + begin,
            update.grad.template data<float>() + begin, kept);
  }

  std::function<void(const Step&, std::int64_t, float*, const float*, const std::array<float*, N>&)>
      kernel_;
  std::vector<Update> waiting_;
  std::unordered_set<const void*> written_, read_;  // their storages
};

}  // namespace tenon::optim
