#include "tenon/nn/replicate.h"

#include <exception>
#include <mutex>
#include <typeinfo>

#include "base/error_place.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/thread_state.h"
#include "base/warn.h"
#include "core/generator_state.h"
#include "dispatch/autocast_cache.h"
#include "nn/clone.h"
#include "nn/slot_editor.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/lazy.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/ops.h"
#include "tenon/threads.h"

namespace tenon::nn::detail {

namespace {

// What a replica shares with its module. Of the first everything that forward may write to.
std::vector<Tensor> shared_tensors(const Module& module, bool first, bool copy) {
  std::vector<Tensor> shared;
  if (!copy) shared = module.parameters();
  for (const Tensor& buffer : module.buffers()) {
    if (first || buffer.requires_grad()) shared.push_back(buffer);
  }
  return shared;
}

// Note [Random numbers of replicas]
// Threads that draw from one stream would get other numbers in every run. So the first replica
// draws from the caller's generator, which makes one replica the same as none, and each other one
// from a stream whose seed is made of its number, of how deep replicas are in replicas, and of 64
// bits that the caller's is about to give, without taking them. A module that draws nothing leaves
// the caller's generator where it is; if a replica drew, they are taken, so that the next run has
// other seeds even if the first replica drew none.
thread_local std::uint64_t depth = 0;

// Neighbours become numbers that have nothing in common.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

class Streams {
 public:
  explicit Streams(std::size_t count) : callers_(default_generator()) {
    if (count < 2) return;
    const std::uint64_t base =
        mixed(callers_.clone_state().state()->source.engine.next64()) + mixed(depth + 1);
    for (std::size_t i = 1; i < count; ++i) {
      seeds_.push_back(mixed(base + i));
      others_.emplace_back().manual_seed(seeds_.back());
    }
  }
  const Generator& of(std::size_t i) const { return i == 0 ? callers_ : others_[i - 1]; }
  void finish() const {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      if (!was_drawn(i)) continue;
      const std::lock_guard lock(callers_.state()->mutex);
      callers_.state()->source.engine.next64();
      return;
    }
  }

 private:
  bool was_drawn(std::size_t i) const {
    const Mt19937 fresh(seeds_[i]);
    const Mt19937::State &now = others_[i].state()->source.engine.state(), &then = fresh.state();
    return now.left != then.left || now.next != then.next || now.words != then.words;
  }

  Generator callers_;
  std::vector<std::uint64_t> seeds_;
  std::vector<Generator> others_;
};

// Note [Steps of replicas]
// Backward takes the step that was recorded last first, and threads count their steps on their own.
// Each replica therefore counts from a number of its own, far enough from the next one's: gradients
// that meet at a parameter are added in one order, from the last replica to the first, whichever
// threads they ran on.
constexpr std::uint64_t kSteps = 1 << 24;

// A thread while it runs a replica. What that leaves behind in the thread's state goes.
class Turn {
 public:
  Turn(std::uint64_t steps, std::uint64_t inside, const Generator& generator)
      : before_(thread_state()), depth_before_(depth), generator_(generator) {
    thread_state().nodes = steps;
    // Which of several threads converts a parameter first must not matter to its gradient.
    if (before_.autocast.cache != nullptr) thread_state().autocast.cache = &cache_;
    depth = inside;
  }
  ~Turn() {
    thread_state() = before_;
    depth = depth_before_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  ThreadState before_;
  std::uint64_t depth_before_;
  AutocastCache cache_;
  tenon::detail::DefaultGeneratorScope generator_;
};

void add_replica(Error& error, std::size_t i) noexcept {
  try {
    auto place = error.place() ? std::make_shared<tenon::detail::ErrorPlace>(*error.place())
                               : std::make_shared<tenon::detail::ErrorPlace>();
    place->what =
        concat("Caught ", class_name_of(typeid(error)), " in replica ", i, ": ", error.what());
    error.set_place(std::move(place));
  } catch (...) {
    return;  // without the memory to say which
  }
}

// In a catch clause.
std::exception_ptr caught(std::size_t i) {
  try {
    throw;
  } catch (Error& error) {
    add_replica(error, i);
    return std::current_exception();
  } catch (...) {
    return std::current_exception();
  }
}

Tensor gathered(const std::vector<Tensor>& outputs, std::int64_t dim) {
  for (const Tensor& output : outputs) {
    if (!output.defined()) throw ValueError("a replica gave an undefined tensor");
    if (output.dim() != 0 || dim != 0) return cat(outputs, dim);
  }
  warn(
      "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
      "unsqueeze and return a vector.");
  return stack(outputs);
}

// A module that does not know its sizes cannot be several: each would find out for itself.
void check_initialized(const Module& module) {
  for (Module* each : module.modules()) {
    const LazyModuleMixin* lazy = SlotEditor::lazy(*each);
    bool open = lazy != nullptr && lazy->is_waiting();
    for (const TensorSlot* slot : each->parameter_slots()) open = open || is_lazy(*slot);
    for (const TensorSlot* slot : each->buffer_slots()) open = open || is_lazy(*slot);
    if (!open) continue;
    throw Error(
        concat("Modules with uninitialized parameters can't be used with `DataParallel`. Run a "
               "dummy forward pass to correctly initialize the modules (this one has a ",
               each->type_name(), ")"));
  }
}

}  // namespace

std::vector<std::shared_ptr<Module>> replicate(const Module& module, std::int64_t n,
                                               const ReplicateOptions& options) {
  const bool copy = options.copy;  // constructors are user code, which may destroy the options
  check_initialized(module);
  if (n < 0) throw ValueError(concat("replicate expects a number of replicas, got ", n));
  std::vector<std::shared_ptr<Module>> replicas;
  for (std::int64_t i = 0; i < n; ++i)
    replicas.push_back(CloneRun::replica(module, shared_tensors(module, i == 0, copy)));
  return replicas;
}

void run_replicas(std::size_t count, const std::function<void(std::size_t)>& run) {
  const Streams streams(count);
  const std::uint64_t steps = thread_state().nodes, inside = depth + 1;
  std::vector<std::exception_ptr> failures(count);
  parallel_for(0, static_cast<std::int64_t>(count), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const Turn turn(steps + i * kSteps, inside, streams.of(i));
      try {
        run(i);
      } catch (...) {
        failures[i] = caught(i);
      }
    }
  });
  thread_state().nodes = steps + count * kSteps;
  streams.finish();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void throw_no_module() { throw ValueError("the module is null"); }

void check_replicas(std::size_t modules, std::size_t inputs) {
  if (modules == inputs) return;
  throw ValueError(
      concat("The number of modules ", modules, " is not equal to the number of inputs ", inputs));
}

void reduce_gradients(const Module& module, const std::vector<const Module*>& replicas) {
  const Module::NamedTensors own = module.named_parameters();
  std::vector<std::vector<Tensor>> theirs;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    const auto refuse = [&](auto&&... why) {
      throw ValueError(concat("replica ", r, " is no replica of this ", module.type_name(),
                              " with parameters of its own: ", why...));
    };
    if (replicas[r] == nullptr) refuse("it is null");
    theirs.push_back(replicas[r]->parameters());
    if (theirs[r].size() != own.size())
      refuse("it has ", theirs[r].size(), " parameters, and the module ", own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto& [name, parameter] = own[i];
      const Tensor& copy = theirs[r][i];
      if (copy.is(parameter)) refuse("'", name, "' is the module's");
      if (copy.shape() != parameter.shape() || copy.dtype() != parameter.dtype()) {
        refuse("'", name, "' is ", repr(copy.dtype()), " of shape ", bracketed(copy.shape()),
               ", and the module's ", repr(parameter.dtype()), " of shape ",
               bracketed(parameter.shape()));
      }
    }
  }
  const NoGradScope no_grad;
  for (std::size_t i = 0; i < own.size(); ++i) {
    Tensor sum;
    for (const std::vector<Tensor>& parameters : theirs) {
      const Tensor grad = parameters[i].grad();
      if (!grad.defined()) continue;
      sum = sum.defined() ? sum + grad : grad;
      parameters[i].set_grad(Tensor());
    }
    if (!sum.defined()) continue;
    const Tensor& parameter = own[i].second;
    if (const Tensor grad = parameter.grad(); grad.defined()) {
      grad.add_(sum);
    } else {
      parameter.set_grad(sum);
    }
  }
}

Tensor data_parallel(Module& module, const Tensor& input, const DataParallelOptions& options) {
  const Guard guard(module, "data_parallel() was running");
  // User code may destroy the caller's.
  const Tensor own = input;
  const std::int64_t dim = options.dim;
  check_initialized(module);
  const std::int64_t replicas = options.replicas.value_or(get_num_threads());
  if (replicas < 1)
    throw ValueError(concat("data_parallel expects at least one replica, got ", replicas));
  if (replicas == 1) return module.invoke(own);
  const std::vector<Tensor> parts = own.chunk(replicas, dim);
  guard.check();
  if (parts.size() == 1) return module.invoke(own);
  std::vector<std::shared_ptr<Module>> others;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    others.push_back(CloneRun::replica(module, shared_tensors(module, false, false)));
    guard.check();
  }
  std::vector<Tensor> outputs(parts.size());
  run_replicas(parts.size(), [&](std::size_t i) {
    outputs[i] = (i == 0 ? module : *others[i - 1]).invoke(parts[i]);
  });
  guard.check();
  return gathered(outputs, dim);
}

}  // namespace tenon::nn::detail
