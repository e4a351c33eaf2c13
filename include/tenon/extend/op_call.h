// OpCall: a call of an operator on its way to a user-defined tensor, which can look at it, match
// it, and issue it again.
//
//   if (auto args = call.as<op::select>()) {               // typed, by reference
//     auto& [self, dim, index] = *args;
//     ...
//   }
//   return call.call_with([](const Tensor& t) { ... });    // the same operator on other tensors
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

namespace detail {

template <class Signature>
struct SignatureArgs;
template <class R, class... A>
struct SignatureArgs<R(A...)> {
  using Result = R;
  using Refs = std::tuple<const std::remove_cvref_t<A>&...>;
};

}  // namespace detail

// References to the arguments of operator O, in the order of its signature.
template <class O>
using OpArgs = typename detail::SignatureArgs<typename O::Signature>::Refs;
template <class O>
using OpResult = typename detail::SignatureArgs<typename O::Signature>::Result;

class TENON_API OpCall {
 public:
  using Map = std::function<Tensor(const Tensor&)>;

  std::string_view name() const noexcept { return info_.name(); }
  const OpInfo& op() const noexcept { return info_; }

  template <class O>
  bool is() const noexcept {
    return &info_ == &O::info;
  }
  template <class... O>
  bool is_any() const noexcept {
    return (is<O>() || ...);
  }
  // The arguments, if this is a call of O; else null.
  template <class O>
  const OpArgs<O>* as() const noexcept {
    return is<O>() ? static_cast<const OpArgs<O>*>(args_) : nullptr;
  }

  // The tensors among the arguments, those in lists included, in order.
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  // The classes of those tensors, each once: "QuantizedWeight", "Tensor".
  std::vector<std::string> types() const;
  // Issues the operator again with every tensor replaced by map(tensor). Nothing is remembered: if
  // map returns a user-defined tensor, it is asked.
  Value call_with(const Map& map) const { return reissue_(args_, map); }

  using Reissue = Value (*)(const void* args, const Map& map);
  OpCall(const OpInfo& info, const void* args, Reissue reissue,
         std::vector<Tensor> tensors) noexcept
      : info_(info), args_(args), reissue_(reissue), tensors_(std::move(tensors)) {}
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

 private:
  const OpInfo& info_;
  const void* args_;  // an OpArgs<O>, on the stack of whoever called the operator
  Reissue reissue_;
  std::vector<Tensor> tensors_;
};

}  // namespace tenon
