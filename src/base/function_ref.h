// FunctionRef<R(A...)>: a callable passed down the stack, without copying or allocating it. Valid
// for as long as the callable it was made from, so it is a parameter type and never a member.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenon {

template <class Signature>
class FunctionRef;

template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(std::is_invocable_r_v<R, F&, A...> &&
             !std::same_as<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& callable) noexcept  // a lambda is passed as it is
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(args)...);
        }) {}

  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace tenon
