// The out form of an operator that makes tensors: the same, written into memory that is there.
//
//   const Tensor& mm_out(const Tensor& out, const Tensor& self, const Tensor& mat2) {
//     return into<op::mm>(out, self, mat2);
//   }
//
// It is no operator of its own: a user-defined tensor among the arguments sees the operator, and
// its result is copied.
#pragma once

#include <array>
#include <optional>
#include <tuple>

#include "ops/elementwise.h"
#include "ops/operands.h"
#include "tenon/custom_op.h"

namespace tenon {

// That the result can be written into out, which takes its layout if it has no elements.
void prepare_out(const OpInfo& info, const Tensor& out, const Layout& result);

namespace detail {

template <class F>
void each_tensor(F&& f, const Tensor& tensor) {
  f(tensor);
}
template <class F>
void each_tensor(F&& f, const std::optional<Tensor>& tensor) {
  if (tensor && tensor->defined()) f(*tensor);
}
template <class F, class T>
void each_tensor(F&& /*f*/, const T& /*plain*/) {}

// Whether the kernel may write into `out` directly, as it would into a result of its own.
template <class... A>
bool writes_directly(const Tensor& out, const Layout& result, const A&... args) {
  bool direct = !out.body().is_wrapper() && out.is_cpu() && out.dtype() == result.dtype &&
                out.stride() == result.strides && !out.is_conj() && !out.is_neg();
  const auto look = [&](const Tensor& argument) {
    direct = direct && !argument.body().is_wrapper() && argument.is_cpu() && !argument.is_conj() &&
             !argument.is_neg() && !may_share_memory(out, argument);
  };
  (each_tensor(look, args), ...);
  return direct;
}

template <class... A>
bool any_wrapper(const A&... args) {
  bool found = false;
  (each_tensor([&](const Tensor& t) { found = found || t.body().is_wrapper(); }, args), ...);
  return found;
}

}  // namespace detail

template <class O, class... A>
const Tensor& into(const Tensor& out, const A&... args) {
  (detail::each_tensor([&](const Tensor& t) { check_no_history(out, t); }, args), ...);
  const NoGradScope unrecorded;
  if (detail::any_wrapper(out, args...)) return out.copy_(call<O>(args...));
  const Layout result = Rule<O>::infer(args...);
  prepare_out(O::info, out, result);
  if (!detail::writes_directly(out, result, args...)) return out.copy_(call<O>(args...));
  Tensor written = out;
  Rule<O>::cpu(written, args...);
  detail::bump_version(out);
  return out;
}

// Of an operator with two results.
template <class O, class... A>
std::tuple<Tensor, Tensor> into_both(const Tensor& first, const Tensor& second, const A&... args) {
  (detail::each_tensor(
       [&](const Tensor& t) {
         check_no_history(first, t);
         check_no_history(second, t);
       },
       args),
   ...);
  const NoGradScope unrecorded;
  if (!detail::any_wrapper(first, second, args...)) {
    const std::array<Layout, 2> results = Rule<O>::infer(args...);
    prepare_out(O::info, first, results[0]);
    prepare_out(O::info, second, results[1]);
    if (detail::writes_directly(first, results[0], second, args...) &&
        detail::writes_directly(second, results[1], args...)) {
      std::array<Tensor, 2> written{first, second};
      Rule<O>::cpu(written, args...);
      detail::bump_version(first);
      detail::bump_version(second);
      return {first, second};
    }
  }
  const auto [one, two] = call<O>(args...);
  first.copy_(one);
  second.copy_(two);
  return {first, second};
}

}  // namespace tenon
