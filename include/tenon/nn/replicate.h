// Replicas: modules over the same parameters that run at once, each on its part of a batch.
//
//   Tensor out = nn::data_parallel(net, batch, {.replicas = 4});
//   cross_entropy(out, target).backward();
//
// Every replica is run by one thread of the pool, and what it calculates stays on that thread: as
// many replicas as there are threads use them all. Results, gradients and random numbers depend on
// how many replicas there are, and not on which thread was first.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/nn/module.h"
#include "tenon/tensor.h"

namespace tenon::nn {

struct ReplicateOptions {
  // Parameters of their own, with the same values: their gradients are their own, too, and
  // reduce_gradients gives them to the module.
  bool copy = false;
};
struct DataParallelOptions {
  std::optional<std::int64_t> replicas = {};  // as many as there are threads
  std::int64_t dim = 0;
};

namespace detail {

TENON_API std::vector<std::shared_ptr<Module>> replicate(const Module& module, std::int64_t n,
                                                         const ReplicateOptions& options);
// Calls it for 0, ..., count - 1, each as a replica.
TENON_API void run_replicas(std::size_t count, const std::function<void(std::size_t)>& run);
TENON_API void check_replicas(std::size_t modules, std::size_t inputs);
TENON_API void reduce_gradients(const Module& module, const std::vector<const Module*>& replicas);
TENON_API Tensor data_parallel(Module& module, const Tensor& input,
                               const DataParallelOptions& options);

template <class M>
const M& known(const M& module) {
  if constexpr (!std::is_abstract_v<M>) note_exact_type_of<M>(const_cast<M&>(module));
  return module;
}

[[noreturn]] TENON_API void throw_no_module();
template <class M>
M& present(const std::shared_ptr<M>& module) {
  if (!module) throw_no_module();
  return *module;
}

// What a module gives that is called with one tensor.
template <class M>
struct GivenBy {
  using type = Tensor;
};
template <class M>
  requires requires { typename M::Result; }
struct GivenBy<M> {
  using type = typename M::Result;
};

}  // namespace detail

// Modules of the same class, tied where the module is, with its hooks and modes. Parameters are the
// module's own, unless they are to be copied. Buffers of the first replica are the module's, so
// that what it counts stays; those of the others are copies (but for those that require grad), and
// what is written to them is lost. ValueError if n is negative; Error if a class cannot be cloned.
//
// Hooks run on the threads of their replicas, several at once.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const M& module, std::int64_t n,
                                          const ReplicateOptions& options = {}) {
  std::vector<std::shared_ptr<M>> replicas;
  for (auto& one : detail::replicate(detail::known(module), n, options))
    replicas.push_back(std::static_pointer_cast<M>(std::move(one)));
  return replicas;
}

// Calls f(module, i) for every module, each on a thread with the caller's grad mode, devices and
// the like; returns what they give, in order. Modules that wait for each other would wait forever.
//
// If some throw, the exception of the first of them comes out when all have ended; of an Error the
// message says which: "Caught ShapeError in replica 1: ...".
//
// Where no generator is named, the first draws from the caller's, and the others from streams of
// their own, which begin by where the caller's stands. manual_seed() there seeds that stream.
template <class M, class F>
  requires std::invocable<F&, M&, std::size_t>
auto parallel_apply(std::vector<std::shared_ptr<M>> modules, F&& f) {
  using R = std::invoke_result_t<F&, M&, std::size_t>;
  if constexpr (std::is_void_v<R>) {
    detail::run_replicas(modules.size(), [&](std::size_t i) { f(detail::present(modules[i]), i); });
  } else {
    std::vector<std::optional<R>> given(modules.size());
    detail::run_replicas(modules.size(), [&](std::size_t i) {
      given[i].emplace(f(detail::present(modules[i]), i));
    });
    std::vector<R> results;
    results.reserve(given.size());
    for (auto& one : given) results.push_back(std::move(*one));
    return results;
  }
}
// Each with its input. ValueError if there are not as many.
template <class M>
auto parallel_apply(std::vector<std::shared_ptr<M>> modules, std::vector<Tensor> inputs) {
  detail::check_replicas(modules.size(), inputs.size());
  return parallel_apply(std::move(modules),
                        [&](M& one, std::size_t i) ->
                        typename detail::GivenBy<M>::type { return one(inputs[i]); });
}
// Each with all of its arguments.
template <class M>
  requires(std::tuple_size_v<typename M::Args> > 1)
auto parallel_apply(std::vector<std::shared_ptr<M>> modules, std::vector<typename M::Args> inputs) {
  detail::check_replicas(modules.size(), inputs.size());
  return parallel_apply(std::move(modules), [&](M& one, std::size_t i) -> typename M::Result {
    return std::apply([&](const auto&... args) -> typename M::Result { return one(args...); },
                      inputs[i]);
  });
}

// Adds the gradients of copied parameters, in the order of the replicas, to those of the module;
// the replicas have none afterwards. Hooks on the module's parameters do not run. So every replica
// can run backward on its thread:
//
//   auto replicas = nn::replicate(net, 4, {.copy = true});
//   nn::parallel_apply(replicas, [&](Net& net, std::size_t i) {
//     mse_loss(net(x[i]), y[i], {.reduction = Reduction::sum}).backward();
//   });
//   nn::reduce_gradients(net, replicas);
//
// ValueError if they are no replicas of this module, or share its parameters.
template <class M>
void reduce_gradients(const M& module, const std::vector<std::shared_ptr<M>>& replicas) {
  std::vector<const Module*> all;
  for (const auto& one : replicas) all.push_back(one.get());
  detail::reduce_gradients(module, all);
}

// Cuts the input into parts along a dimension as chunk() does, runs the module on the first and
// replicas that share its parameters on the others, and puts the results together again: cat, or,
// if they are numbers, stack. There may be fewer parts than replicas. Layers that look at the whole
// batch, such as batch normalization, see their part, and statistics are those of the first.
template <class M>
Tensor data_parallel(M& module, const Tensor& input, const DataParallelOptions& options = {}) {
  detail::known(module);
  return detail::data_parallel(module, input, options);
}

}  // namespace tenon::nn
