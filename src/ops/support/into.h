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
#include <cstdint>
#include <optional>
#include <tuple>

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "tenon/extend/custom_op.h"

namespace tenon {

// That the result can be written into out: on its device, every element in one place, of its shape
// or of no elements, and of its dtype or, where it may be converted, one that it can be cast to.
// Changes nothing.
enum class OutDType : std::uint8_t { exact, castable };
void check_out(const OpInfo& info, const Tensor& out, const Layout& result, OutDType dtype);
// Gives an out without elements the result.
void take_result(const Tensor& out, const Tensor& result);

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

template <class O, OutDType kDType = OutDType::exact, class... A>
const Tensor& into(const Tensor& out, const A&... args) {
  detail::Scan scan(O::info);  // that it is there
  scan(out);
  if constexpr (detail::has_gradient<O>()) {
    (detail::each_tensor([&](const Tensor& t) { check_no_history(out, t); }, args), ...);
  }
  const NoGradScope unrecorded;
  if (detail::any_wrapper(out, args...)) {
    const Tensor own = out;  // see Note [Arguments of one's own]
    const Tensor result = call<O>(args...);
    if (!own.body().is_wrapper() && !result.body().is_wrapper())
      check_out(O::info, own, result.layout(), kDType);
    if (own.shape() == result.shape() || own.body().is_wrapper())
      own.copy_(result);
    else
      take_result(own, result);
    return out;
  }
  const Layout result = Rule<O>::infer(args...);
  check_out(O::info, out, result, kDType);
  if (out.device().has_backend()) {
    const Tensor own = out;
    const bool fits = own.shape() == result.shape;
    const Tensor made = call<O>(args...);
    if (fits)
      own.copy_(made);
    else
      take_result(own, made);
    return out;
  }
  if (out.shape() != result.shape) {  // it has no elements, and may be one of the arguments
    take_result(out, call<O>(args...));
    return out;
  }
  if (!detail::writes_directly(out, result, args...)) return out.copy_(call<O>(args...));
  Tensor written = out;
  Rule<O>::cpu(written, args...);
  detail::bump_version(out);
  return out;
}

// Of an operator with two results.
template <class O, class... A>
std::tuple<Tensor, Tensor> into_both(const Tensor& first, const Tensor& second, const A&... args) {
  detail::Scan scan(O::info);  // that they are there
  scan(first);
  scan(second);
  const auto check_history = [&](const Tensor& t) {
    check_no_history(first, t);
    check_no_history(second, t);
  };
  (detail::each_tensor(check_history, args), ...);
  const NoGradScope unrecorded;
  if (!detail::any_wrapper(first, second, args...)) {
    const std::array<Layout, 2> results = Rule<O>::infer(args...);
    check_out(O::info, first, results[0], OutDType::exact);
    check_out(O::info, second, results[1], OutDType::exact);
    if (first.shape() == results[0].shape && second.shape() == results[1].shape &&
        detail::writes_directly(first, results[0], second, args...) &&
        detail::writes_directly(second, results[1], args...)) {
      std::array<Tensor, 2> written{first, second};
      Rule<O>::cpu(written, args...);
      detail::bump_version(first);
      detail::bump_version(second);
      return {first, second};
    }
  }
  const Tensor own_first = first, own_second = second;  // see Note [Arguments of one's own]
  const auto [one, two] = call<O>(args...);
  const auto give = [](const Tensor& out, const Tensor& result) {
    if (out.shape() == result.shape() || out.body().is_wrapper())
      out.copy_(result);
    else
      take_result(out, result);
  };
  give(own_first, one);
  give(own_second, two);
  return {own_first, own_second};
}

}  // namespace tenon
