// Operators: how ours are written, and how yours are.
//
//   // my_ops.h
//   struct scale_by {
//     using Signature = Tensor(const Tensor& self, double factor);
//     static constexpr OpKind kind = OpKind::pure;
//     static OpInfo info;
//   };
//   // my_ops.cpp
//   constinit OpInfo scale_by::info{"scale_by", scale_by::kind};
//   template <> struct tenon::Rule<scale_by> {
//     static constexpr std::string_view gradient = no_gradient;
//     static Layout infer(const Tensor& x, double) { return Layout::packed_like(x.layout()); }
//     static void cpu(Tensor& out, const Tensor& x, double factor) { ... }
//   };
//   Tensor scaled = call<scale_by>(x, 2.0);
//
// What a Rule has depends on the kind:
//   pure       infer(args...) gives the Layout of the result, or an error; several results are a
//              std::vector<Layout> or a std::array<Layout, N>. It is all that meta tensors need.
//              And a kernel for the CPU, cpu(out, args...), or for every device, run(out, args...);
//              `out` is allocated: a Tensor&, std::vector<Tensor>& or std::array<Tensor, N>&.
//   view       view(args...) gives a Layout, or a vector of them, over the storage of the first
//              argument.
//   inplace    check(args...), and a kernel cpu(args...) or run(args...).
//   query      a kernel cpu(args...) or run(args...) that returns the answer, and meta(args...) if
//              there is one for meta tensors.
//   factory    make(args...).
//   composite  compose(args...), written with other operators.
// and, for the first three, one of
//   gradient   PyTorch's name of the node that is recorded ("ViewBackward0"), or no_gradient; or
//              gradient_name(args...) where it depends. A view with no_gradient, or with `static
//              constexpr bool is_view = false`, has no base.
//   node       node(args...) makes a node of the operator's own, a Ref<Node>; with
//              keep_result(node, result) it is shown what came out.
// With a gradient, unless running it backwards is to be an error,
//   backward   backward(g, grad, args...), or backward(g, grads, args...) with a std::span of them
//              for an operator with several results: see tenon/extend/gradient.h;
//   overwrites `static constexpr bool overwrites = true`: in place, and with nothing left of what
//              was there, so that its gradient is zero;
//   saves      saves(place, wanted): whether backward wants to be given that argument, or with
//              kResult + i that result. Without it, none.
// and, for a pure or composite one that is to take part in mixed precision,
//   autocast   `static constexpr AutocastPolicies autocast = kLowerPrecision` or another of
//              tenon/extend/autocast.h: what tenon/amp.h makes of its arguments.
//
// Kernels see plain tensors: nothing is recorded in them, no argument is user-defined, and elements
// that stand for their conjugate or negative have been resolved, unless the Rule says `static
// constexpr bool math_bits = true`.
//
// The functions of a Rule of yours may do anything to the variables that a call's arguments are in:
// the call has its own. To destroy a module whose forward has called the operator is an Error.
#pragma once

#include <string_view>
#include <utility>

#include "tenon/extend/dispatcher.h"
#include "tenon/extend/op_info.h"
#include "tenon/extend/wrapper.h"
#include "tenon/tensor.h"

namespace tenon {

// Specialised once for each operator, in the source file of its family.
template <class O>
struct Rule;

inline constexpr std::string_view no_gradient = {};

// Calls operator O. Arguments are converted to the types of its signature here, once.
template <class O, class... T>
decltype(auto) call(T&&... args) {
  return detail::Dispatcher<O>::call(std::forward<T>(args)...);
}

// The type of operator O's kernels: that of its Rule's cpu().
template <class O>
using KernelOf = typename detail::KernelOfSignature<O, typename O::Signature>::Type;

// Gives operator O a kernel for a device other than the CPU. Where the Rule has run(), which is for
// every device, it is not asked. Any thread, any time; usually when the
// device is registered.
template <class O>
void set_kernel(DeviceType type, KernelOf<O> kernel) noexcept {
  O::info.set_kernel(type, reinterpret_cast<OpInfo::Kernel>(kernel));
}

}  // namespace tenon
