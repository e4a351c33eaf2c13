// Callable: a module that is called. Its arguments and its result have types, and so have its
// hooks.
//
//   class Scale final : public nn::Callable<Tensor(const Tensor&, double)> {
//    protected:
//     Tensor forward(const Tensor& x, double by) override { return x * by; }
//   };
//   Scale scale;
//   scale.register_forward_pre_hook([](nn::Module&, auto& args) { std::get<1>(args) *= 2; });
//   Tensor y = scale(x, 0.5);
//
// forward is protected: operator() is the only way in, so hooks always run. Arguments at the end
// that can be made from nothing may be left out. An error that leaves it says which layer it came
// from: "... (in layer1.0.conv1: Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1)))".
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/error.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

namespace detail {

[[noreturn]] TENON_API void throw_wrong_arguments(const Module& module, std::size_t given,
                                                  std::size_t takes);
[[noreturn]] TENON_API void throw_wrong_argument(const Module& module, std::size_t position,
                                                 const std::type_info& given,
                                                 const std::type_info& takes);
[[noreturn]] TENON_API void throw_not_tensors(const Module& module);
// Adds to an error that passes through a module which layer it came from, as seen from there.
TENON_API void add_place(Error& error, const Module& module) noexcept;

template <class T>
T& argument(const Module& module, Arguments& args, std::size_t position) {
  T* found = std::any_cast<T>(&args[position]);
  if (found == nullptr) throw_wrong_argument(module, position, args[position].type(), typeid(T));
  return *found;
}

}  // namespace detail

template <class Signature>
class Callable;

template <class R, class... A>
class Callable<R(A...)> : public Module {
 public:
  using Signature = R(A...);
  using Args = std::tuple<std::decay_t<A>...>;
  using Result = R;
  using ForwardPreHook = std::function<void(Module&, Args& args)>;
  using ForwardHook = std::function<void(Module&, const Args& args, R& result)>;

  // Whether the first arguments can be made from these. (Before what asks it.)
  template <class... B>
  static constexpr bool begins_with = []<std::size_t... I>(std::index_sequence<I...>) {
    return (std::is_constructible_v<std::tuple_element_t<I, Args>, B> && ...);
  }(std::index_sequence_for<B...>());

  // So that it can be called at once: net.eval()(x).
  Callable& eval() {
    Module::eval();
    return *this;
  }

  R operator()(A... args) {
    return located([&](const detail::Guard& guard) -> R {
      if (pre_hooks_.empty() && hooks_.empty() && !detail::has_global_forward_hooks()) [[likely]]
        return forward(std::forward<A>(args)...);
      return call(guard, Args(std::forward<A>(args)...));
    });
  }
  // The rest of the arguments made from nothing.
  template <class... B>
    requires(sizeof...(B) > 0 && sizeof...(B) < sizeof...(A) && begins_with<B...>)
  R operator()(B&&... args) {
    return with_defaults(std::index_sequence_for<B...>(),
                         std::make_index_sequence<sizeof...(A) - sizeof...(B)>(),
                         std::forward<B>(args)...);
  }

  // May replace arguments, in place.
  RemovableHandle register_forward_pre_hook(ForwardPreHook hook,
                                            const PreHookOptions& options = {}) {
    return pre_hooks_.add(std::move(hook), options.prepend);
  }
  // May replace the result, in place. An always-called hook sees a result made from nothing if
  // forward threw.
  RemovableHandle register_forward_hook(ForwardHook hook, const HookOptions& options = {}) {
    return hooks_.add(std::move(hook), options.prepend, options.always_call);
  }

  std::any invoke(Arguments args) override {
    if (args.size() > sizeof...(A)) detail::throw_wrong_arguments(*this, args.size(), sizeof...(A));
    return std::any(located([&](const detail::Guard& guard) -> R {
      return call(guard, from_any(args, std::index_sequence_for<A...>()));
    }));
  }
  Tensor invoke(const Tensor& input) override {
    if constexpr (kMapsTensors) {
      return (*this)(input);
    } else {
      detail::throw_not_tensors(*this);
    }
  }

 protected:
  Callable() = default;
  Callable(const Callable&) = default;

  virtual R forward(A... args) = 0;

  // What a handle's remove() does, of a module that may be a clone since.
  void remove_forward_pre_hook(std::uint64_t id) { pre_hooks_.remove(id); }

 private:
  template <class T>
  using At = std::decay_t<T>;

  static constexpr bool maps_tensors() {
    if constexpr (sizeof...(A) == 0 || !std::is_same_v<R, Tensor>) {
      return false;
    } else {
      return std::is_same_v<std::tuple_element_t<0, Args>, Tensor> &&
             (std::is_default_constructible_v<At<A>> && ...);
    }
  }
  static constexpr bool kMapsTensors = maps_tensors();

  // While it runs, the module is kept if it leaves its place. A forward that user code below it has
  // left without its module is not gone back to.
  template <class F>
  R located(F&& f) {
    const detail::Guard guard(static_cast<const Module&>(*this), "it was called");
    try {
      R result = f(guard);
      guard.check_return();
      return result;
    } catch (Error& error) {
      if (!guard.is_gone()) detail::add_place(error, *this);
      throw;
    }
  }
  template <std::size_t... Given, std::size_t... Left, class... B>
  R with_defaults(std::index_sequence<Given...>, std::index_sequence<Left...>, B&&... args) {
    return call_or_forward(
        Args(std::forward<B>(args)..., std::tuple_element_t<sizeof...(Given) + Left, Args>()...));
  }
  R call_or_forward(Args args) {
    return located([&](const detail::Guard& guard) -> R {
      if (pre_hooks_.empty() && hooks_.empty() && !detail::has_global_forward_hooks())
        return run(args);
      return call(guard, std::move(args));
    });
  }
  R run(Args& args) {
    return std::apply([this](auto&... each) -> R { return forward(pass<A>(each)...); }, args);
  }
  // As the parameter is declared: by reference what is taken by reference, a copy otherwise,
  // because hooks that run later see the arguments too.
  template <class T>
  static decltype(auto) pass(std::decay_t<T>& value) {
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(value);
    } else {
      return T(value);
    }
  }

  template <std::size_t... I>
  Args from_any(Arguments& args, std::index_sequence<I...>) {
    const auto one = [&]<class T>(std::type_identity<T>, std::size_t i) -> T {
      if (i < args.size()) return detail::argument<T>(*this, args, i);
      if constexpr (std::is_default_constructible_v<T>) {
        return T();
      } else {
        detail::throw_wrong_arguments(*this, args.size(), sizeof...(A));
      }
    };
    return Args(one(std::type_identity<std::tuple_element_t<I, Args>>(), I)...);
  }

  R call(const detail::Guard& guard, Args args) {
    Run run_{*this, guard, std::move(args), {}, {}};
    try {
      return run_.all();
    } catch (...) {
      run_.after_failure();
      throw;
    }
  }

  // One call with its hooks; remembers which always-called ones have run.
  struct Run {
    Callable& module;
    const detail::Guard& guard;
    Args args;
    std::optional<R> result;
    std::vector<std::uint64_t> ran;

    R all() {
      if (const auto& global = detail::global_forward_pre_hooks(); !global.empty()) {
        Arguments erased = erase(std::index_sequence_for<A...>());
        global.run(guard, module, erased);
        if (erased.size() != sizeof...(A))
          detail::throw_wrong_arguments(module, erased.size(), sizeof...(A));
        args = module.from_any(erased, std::index_sequence_for<A...>());
      }
      // (nvcc takes a line that begins with the word module for one of C++20's.)
      const auto& own = module.pre_hooks_;
      own.run(guard, module, args);
      result.emplace(module.run(args));
      guard.check();
      post_hooks(false);
      return std::move(*result);
    }

    void after_failure() noexcept {
      if constexpr (std::is_default_constructible_v<R>) {
        if (guard.is_gone()) return;
        try {
          if (!result) result.emplace();
          post_hooks(true);
        } catch (...) {
          detail::warn_silenced(false);
        }
      }
    }

    void post_hooks(bool failed) {
      const auto& for_all = detail::global_forward_hooks();
      if (const auto global = for_all.snapshot()) {
        for (const auto& entry : *global) {
          if (!begins(entry.id, entry.always_call, failed)) continue;
          guarded(failed, true, [&] {
            std::any erased(*result);
            for_all.function(entry)(module, erase(std::index_sequence_for<A...>()), erased);
            guard.check();
            R* replaced = std::any_cast<R>(&erased);
            if (replaced == nullptr)
              detail::throw_wrong_argument(module, sizeof...(A), erased.type(), typeid(R));
            *result = std::move(*replaced);
          });
        }
      }
      if (guard.is_gone()) return;  // silenced, after a failure
      if (const auto own = module.hooks_.snapshot()) {
        for (const auto& entry : *own) {
          if (!begins(entry.id, entry.always_call, failed)) continue;
          guarded(failed, false, [&] {
            detail::HookList<ForwardHook>::function(entry)(module, args, *result);
            guard.check();
          });
        }
      }
    }

    bool begins(std::uint64_t id, bool always_call, bool failed) {
      if (failed && (!always_call || std::find(ran.begin(), ran.end(), id) != ran.end()))
        return false;
      if (always_call) ran.push_back(id);
      return true;
    }
    template <class F>
    void guarded(bool failed, bool global, F&& f) const {
      if (!failed) return f();
      try {
        guard.check();
        f();
      } catch (...) {
        detail::warn_silenced(global);
      }
    }
    template <std::size_t... I>
    Arguments erase(std::index_sequence<I...>) const {
      Arguments erased;
      erased.reserve(sizeof...(A));
      (erased.emplace_back(std::get<I>(args)), ...);
      return erased;
    }
  };

  detail::HookList<ForwardPreHook> pre_hooks_;
  detail::HookList<ForwardHook> hooks_;
};

// The usual module: one tensor in, one out.
using Layer = Callable<Tensor(const Tensor&)>;

}  // namespace tenon::nn
