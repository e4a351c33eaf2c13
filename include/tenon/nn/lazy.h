// Lazy modules: their parameters have no shape until the first input, or a loaded state dict, gives
// it. Afterwards they are the plain module in every way.
//
//   class Scale : public nn::Layer { ... nn::Parameter scale{this, "scale"}; };
//   class LazyScale final : public nn::Lazy<Scale> {
//    public:
//     LazyScale() { scale = uninitialized_parameter(); }
//     void initialize_parameters(const Tensor& input) override {
//       if (!has_uninitialized_params()) return;
//       materialize(scale, {input.size(-1)});
//       init::ones_(scale);
//     }
//   };
//
// The object stays what it is in memory, so that references to it stay good: a LazyScale that has
// become a Scale says so (type_name(), repr(), as<LazyScale>() is null), and has no hook left. The
// first call changes the module: one thread at a time. The lazy layers of torch.nn are in
// tenon/nn/lazy_layers.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/error.h"
#include "tenon/nn/callable.h"
#include "tenon/uninitialized.h"

namespace tenon::nn {

namespace detail {
[[noreturn]] TENON_API void throw_no_initialization(const Module& module);

// Whether the arguments of a constructor are one L, which is to be copied.
template <class L, class... B>
inline constexpr bool is_copied = false;
template <class L, class B>
inline constexpr bool is_copied<L, B> = std::derived_from<std::remove_cvref_t<B>, L>;
}  // namespace detail

// What lazy modules have in common.
class TENON_API LazyModuleMixin {
 public:
  virtual ~LazyModuleMixin();
  LazyModuleMixin& operator=(const LazyModuleMixin&) = delete;

  // Whether a parameter or buffer of the module itself has no shape yet.
  bool has_uninitialized_params() const;
  // Whether it still waits for its first call, or for a load that leaves nothing open.
  bool is_waiting() const noexcept { return waiting_; }
  // Whether it was lazy and is the plain class now.
  bool became_plain() const noexcept { return becomes_plain_ && !waiting_; }

  // The shape of one of the module's tensors, by its slot's name: what a load brings for it, or
  // else what it has; nothing while neither is known.
  using ShapeOf = std::function<std::optional<Shape>(std::string_view name)>;

  // The shape that a tensor without one is to have when a load brings `incoming` for it; another
  // one is refused. By default whatever comes. A size that nothing says yet is -1.
  virtual Shape shape_for(const TensorSlot& slot, const Shape& incoming,
                          const ShapeOf& shape_of) const;
  // A load has given shapes to tensors, or has found that all of them have one. Sets the sizes that
  // the class keeps beside them, and says whether that is all there is to initialise. By default it
  // is not: the first call does the rest.
  virtual bool sizes_from_tensors();

  // For the library: what a load does when it is done.
  void loaded();

 protected:
  explicit LazyModuleMixin(bool becomes_plain) noexcept : becomes_plain_(becomes_plain) {}
  LazyModuleMixin(const LazyModuleMixin&) = default;

  // The end of a first call. Error if something has no shape still.
  void initialized();
  virtual Module& itself() const = 0;

 private:
  virtual void remove_hook() = 0;

  bool waiting_ = true;
  bool becomes_plain_;
};

template <class M, class Mixin = LazyModuleMixin, class Signature = typename M::Signature>
class Lazy;

// A lazy M. If M can be made by itself, that is what the module becomes; if it is abstract
// (Lazy<Layer>), the module stays of its class, and only is not lazy any more.
template <class M, class Mixin, class R, class... A>
class Lazy<M, Mixin, R(A...)> : public M, public Mixin {
 public:
  template <class... B>
    requires(!detail::is_copied<Lazy, B...> &&
             (std::is_abstract_v<M> || std::constructible_from<M, B...>))
  explicit Lazy(B&&... args) : M(std::forward<B>(args)...), Mixin(!std::is_abstract_v<M>) {
    // It captures nothing, so that a clone's does what it should.
    hook_ = this->register_forward_pre_hook([](Module& called, typename M::Args& given) {
                  auto& self = static_cast<Lazy&>(static_cast<M&>(called));
                  const detail::Guard guard(called, "it was initialized");
                  std::apply([&](auto&... each) { self.initialize_parameters(each...); }, given);
                  guard.check();
                  self.initialized();
                })
                .id();
  }
  Lazy(const Lazy&) = default;

  // Gives every tensor its shape and first values, for these arguments of forward. Called before
  // the first forward, also if a load has left nothing to do. NotImplementedError by default.
  virtual void initialize_parameters(A... /*args*/) { detail::throw_no_initialization(*this); }

  std::string type_name() const final {
    // Unless M has a name of its own, it is the name of the class of this object.
    if constexpr (std::is_same_v<decltype(&M::type_name), std::string (Module::*)() const>) {
      if (this->became_plain()) return class_name_of(typeid(M));
    }
    return M::type_name();
  }

 protected:
  Module& itself() const final { return const_cast<Lazy&>(*this); }

 private:
  void remove_hook() final { this->remove_forward_pre_hook(hook_); }
  LazyModuleMixin* lazy_mixin() noexcept final { return this; }

  std::uint64_t hook_ = 0;
};

}  // namespace tenon::nn
