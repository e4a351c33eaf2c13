// User-defined tensors: classes that look like a tensor from outside and decide themselves what
// operators mean.
//
//   class Scaled final : public Wrapper<Scaled> {
//    public:
//     Scaled(Tensor e, double s) : Wrapper(e), elem(std::move(e)), scale(s) {}
//     std::optional<Value> dispatch(const OpCall& call) const override {
//       if (call.is_any<op::detach, op::to_copy>())      // the same on the payload, wrapped again
//         return make_tensor<Scaled>(call.call_with(payload).as_tensor(), scale);
//       return std::nullopt;                               // somebody else's turn
//     }
//     ...
//   };
//   Tensor t = make_tensor<Scaled>(ones({3}), 0.5);
//
// Such a tensor has a shape, a dtype and a device, and no memory of its own. It can be a parameter,
// be swapped, be loaded into. Its handlers run without recording; what they return is recorded as
// the result of the operator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/extend/flattened.h"
#include "tenon/extend/op_call.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

// A class of user-defined tensors, and the one it is derived from.
struct TENON_API WrapperClass {
  const std::type_info* type;
  const WrapperClass* parent;  // null for WrapperBody

  bool derives_from(const WrapperClass& other) const noexcept;
};

class TENON_API WrapperBody : public Body {
 public:
  ~WrapperBody() override;

  // Carries out an operator that has a tensor of this class among its arguments, or returns nullopt
  // to leave it to the next class. Classes are asked in the order of the arguments, a derived one
  // before its base. An in-place operator returns its outer tensor whatever comes from here.
  virtual std::optional<Value> dispatch(const OpCall& call) const;

  // How a value becomes a parameter, when this class is on either side (Tensor::module_load). The
  // default is what plain tensors do, unless a class that is none of this one's bases is on the
  // other side. nullopt leaves it to the next class.
  virtual std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                            bool assign) const;

  // What it is made of, if it can be taken apart and, by a function given to register_unflatten,
  // put together again. That makes it saveable, cloneable and convertible by swapping. Without it,
  // those refuse.
  std::optional<Flattened> flatten() const override;

  // The tensors inside: those of flatten(). A class that has some and does not flatten says them
  // here, which is how swap_tensors knows that it must not swap a tensor with its own payload.
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override;

  // The last part of the class's name, unless it says otherwise.
  std::string type_name() const override;
  virtual const WrapperClass& wrapper_class() const = 0;
  static const WrapperClass& static_class() noexcept;

 protected:
  // Shape, strides, dtype and device of another tensor, or any others. DTypeError, ShapeError as
  // for empty(). requires_grad is not taken over.
  explicit WrapperBody(const Tensor& like);
  explicit WrapperBody(const Layout& layout);
};

// The base of every user-defined tensor: class Mine : public Wrapper<Mine>, or Wrapper<Mine,
// Parent> to derive from one. The constructor passes on to Parent.
template <class Self, class Parent = WrapperBody>
class Wrapper : public Parent {
 public:
  const WrapperClass& wrapper_class() const override { return static_class(); }
  static const WrapperClass& static_class() noexcept {
    static const WrapperClass the_class{&typeid(Self), &Parent::static_class()};
    return the_class;
  }

 protected:
  template <class... Args>
  explicit Wrapper(Args&&... args) : Parent(std::forward<Args>(args)...) {}
};

// A new tensor of that class.
template <class W, class... Args>
Tensor make_tensor(Args&&... args) {
  return Tensor(Ref<Body>(make_ref<W>(std::forward<Args>(args)...)));
}

template <class W>
const W* Tensor::as() const {
  return defined() ? dynamic_cast<const W*>(&body()) : nullptr;
}

// While it lives, module_load on this thread does what plain tensors do, whatever classes take
// part. That is how an override calls the default.
class TENON_API DisableOverridesScope {
 public:
  DisableOverridesScope() noexcept;
  ~DisableOverridesScope();
  DisableOverridesScope(const DisableOverridesScope&) = delete;
  DisableOverridesScope& operator=(const DisableOverridesScope&) = delete;

 private:
  bool saved_;
};

}  // namespace tenon
