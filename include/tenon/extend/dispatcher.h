// The one path every operator takes, from the call to its kernel. Part of tenon/extend/custom_op.h,
// which says what a Rule is; docs/life-of-an-operator.md walks through it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/extend/autocast.h"
#include "tenon/extend/op_arguments.h"
#include "tenon/extend/op_call.h"
#include "tenon/extend/op_info.h"
#include "tenon/extend/recorded_node.h"
#include "tenon/tensor.h"

namespace tenon {

template <class O>
struct Rule;

namespace detail {

// Whether the type is one of namespace tenon::op, and not made of one.
template <class O>
constexpr bool is_ours() {
  // "... [with O = tenon::op::add]", or O=tenon::op::add.
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t at = text.find("O = ");
  return text.substr(at == text.npos ? text.find("O=") + 2 : at + 4).starts_with("tenon::op::");
}
// Whether a Rule is somebody else's: its functions are user code then, and may give the variables
// that the arguments are in other tensors.
template <class O>
inline constexpr bool is_user_defined = !is_ours<O>();

// What needs no templates (src/dispatch).

TENON_API Tensor allocate_output(Layout layout);
TENON_API Tensor make_view(const Tensor& self, Layout&& layout, bool has_base,
                           bool one_of_several = false);
TENON_API Tensor resolve_math_bits(const Tensor& tensor);
TENON_API void copy_back(const Tensor& into, const Tensor& from);
TENON_API void bump_version(const Tensor& tensor) noexcept;
[[noreturn]] TENON_API void no_kernel(const OpInfo& info, Device device);
// The first answer of the classes among the call's tensors; nothing if all leave it to the next.
TENON_API std::optional<Value> ask_wrappers(const OpCall& call);
[[noreturn]] TENON_API void nobody_handles(const OpCall& call);
// Error if the classes have destroyed a module whose forward has called the operator.
TENON_API void check_callers();
TENON_API void check_inplace(const OpInfo& info, const Tensor& self);
// A tensor of an InferenceModeScope is only written to in one.
TENON_API void check_inference(const Tensor& self);
TENON_API Ref<Node> named_node(std::string_view name);
// Of an operator whose result has nothing of what was there: no gradient passes it.
TENON_API Ref<Node> overwriting_node(std::string_view name);
// For the argument of that number of an operator that `node` records.
TENON_API Edge edge_of(const Tensor& tensor, const Node& node, std::size_t number);
// A result that can be given a history: itself if nobody else has it, else an alias.
TENON_API Tensor fresh_result(Tensor result);
TENON_API void set_history(const Tensor& result, const Ref<Node>& node, std::uint32_t output);
// Of a tensor that was written into.
TENON_API void set_written_history(const Tensor& self, const Ref<Node>& node);
TENON_API void attach_base(const Tensor& result, const Tensor& self);

// The one path every operator takes.

// What holds the results of a pure operator while its kernel fills them, and the type of kernels.
template <class Result>
struct OutputOf {
  using Type = Result;
};
template <class... T>
struct OutputOf<std::tuple<T...>> {
  using Type = std::array<Tensor, sizeof...(T)>;
};
template <OpKind Kind, class Result, class... A>
struct KernelType {
  using Type = void (*)(typename OutputOf<Result>::Type& out, A... args);
};
template <class Result, class... A>
struct KernelType<OpKind::inplace, Result, A...> {
  using Type = void (*)(A... args);
};
template <class Result, class... A>
struct KernelType<OpKind::query, Result, A...> {
  using Type = Result (*)(A... args);
};

template <class O, class Signature>
struct KernelOfSignature;
template <class O, class R, class... A>
struct KernelOfSignature<O, R(A...)> : KernelType<O::kind, std::remove_cvref_t<R>, A...> {};

// Whether anything is recorded of it.
template <class O>
constexpr bool has_gradient() {
  if constexpr (requires { Rule<O>::gradient; }) {
    return !Rule<O>::gradient.empty();
  } else {
    static_assert(
        requires { &Rule<O>::node; } || requires { &Rule<O>::gradient_name; },
        "a Rule says what its gradient is called, or that there is none");
    return true;
  }
}

// What autocast does with its arguments.
template <class O>
constexpr AutocastPolicies autocast_of() {
  if constexpr (requires { Rule<O>::autocast; }) return Rule<O>::autocast;
  return {};
}

template <class O, class Signature = typename O::Signature>
class Dispatcher;

template <class O, class R, class... A>
class Dispatcher<O, R(A...)> {
  static_assert(((is_plain_argument<std::remove_cvref_t<A>> ||
                  is_tensor_argument<std::remove_cvref_t<A>>) &&
                 ...),
                "an operator takes tensors, optional tensors, lists of tensors, and the plain "
                "values listed in tenon/extend/custom_op.h");
  struct NoArgument {};
  using Result = std::remove_cvref_t<R>;
  using First = std::remove_cvref_t<std::tuple_element_t<0, std::tuple<A..., NoArgument>>>;

  static constexpr bool kRecorded =
      O::kind == OpKind::pure || O::kind == OpKind::view || O::kind == OpKind::inplace;

  static constexpr bool has_node = requires { &Rule<O>::node; };
  static constexpr bool has_backward = requires { &Rule<O>::backward; };
  static constexpr bool has_run = requires { &Rule<O>::run; };
  static constexpr bool has_cpu = requires { &Rule<O>::cpu; };
  static constexpr bool has_meta = requires { &Rule<O>::meta; };
  static constexpr bool handles_math_bits() {
    if constexpr (requires { Rule<O>::math_bits; }) return Rule<O>::math_bits;
    return false;
  }
  static constexpr bool has_base() {
    if constexpr (requires { Rule<O>::is_view; }) return Rule<O>::is_view;
    return has_gradient<O>();
  }

 public:
  using Kernel = typename KernelOfSignature<O, R(A...)>::Type;

  static R call(A... args) {
    if constexpr (autocast_of<O>().any()) {
      if (is_autocasting()) [[unlikely]] {
        AutocastCall cast(O::info, autocast_of<O>());
        (for_each_tensor(args, [&](const Tensor& t) { cast.see(t); }), ...);
        if (cast.applies()) return call_cast(cast, args...);
      }
    }
    Scan scan(O::info);
    (for_each_tensor(args, scan), ...);
    (scan.see_device(args), ...);
    if constexpr (O::kind == OpKind::inplace) {
      const Tensor& self = self_of(args...);
      if (self.cell()->body->is_inference()) [[unlikely]]
        check_inference(self);
    }
    const bool recording = kRecorded && scan.tracked && is_recording();
    if constexpr (is_user_defined<O>) return call_held(scan, recording, args...);
    if (!scan.user_code && !recording) [[likely]]
      return run(scan, present(args)...);
    if (scan.user_code) return call_held(scan, recording, args...);
    return call_slowly(scan, recording, present(args)...);
  }

 private:
  static const Tensor& self_of(const First& first, const auto&... /*rest*/) { return first; }

  // ---- with autocast: the same call again, with it off

  [[gnu::noinline]] static R call_cast(AutocastCall& cast, A... args) {
    static_assert(
        O::kind == OpKind::pure || O::kind == OpKind::composite || O::kind == OpKind::view,
        "autocast gives an operator other arguments, which it must not write into");
    if (cast.policy() == AutocastPolicy::promote)
      (for_each_tensor(args, [&](const Tensor& t) { cast.widen(t); }), ...);
    const NoAutocastScope off(cast.device_type());
    const OpCall::Map map = [&](const Tensor& t) { return cast.converted(t); };
    // The conversions run it already.
    bool user_code = false;
    (for_each_tensor(args,
                     [&](const Tensor& t) {
                       user_code |= t.defined() &&
                                    (t.body().is_wrapper() || t.layout().device.has_backend());
                     }),
     ...);
    const auto go = [&](const auto&... own) -> R { return call(cast_argument(own, cast, map)...); };
    return user_code ? R(with_held(go, args...)) : go(args...);
  }
  template <class T>
  static decltype(auto) cast_argument(const T& argument, const AutocastCall& cast,
                                      const OpCall::Map& map) {
    if constexpr (std::same_as<T, std::optional<DType>>) {
      return cast.result_dtype(argument);
    } else {
      return mapped(argument, map);
    }
  }

  // ---- without history and user-defined tensors

  static R run(const Scan& scan, A... args) {
    if constexpr (O::kind == OpKind::composite) {
      return Rule<O>::compose(args...);
    } else if constexpr (O::kind == OpKind::factory) {
      return Rule<O>::make(args...);
    } else if constexpr (O::kind == OpKind::view) {
      return run_view(Rule<O>::view(args...), self_of(args...));
    } else {
      if constexpr (!handles_math_bits()) {
        if (scan.math_bits) [[unlikely]]
          return run_resolved(args...);
      }
      if constexpr (O::kind == OpKind::inplace) {
        const Tensor& self = self_of(args...);
        Rule<O>::check(args...);
        if (!self.is_meta()) kernel<void>(self.device(), args...);
        bump_version(self);
        return self;
      } else if constexpr (O::kind == OpKind::query) {
        const Device device = self_of(args...).device();
        if (device.is_meta()) {
          if constexpr (has_meta) {
            return Rule<O>::meta(args...);
          } else {
            no_kernel(O::info, device);
          }
        }
        return kernel<R>(device, args...);
      } else {
        return run_pure(Rule<O>::infer(args...), args...);
      }
    }
  }

  static Result run_pure(const Layout& layout, A... args) {
    Tensor out = allocate_output(layout);
    if (!layout.device.is_meta()) kernel<void>(layout.device, out, args...);
    return out;
  }
  static Result run_pure(const std::vector<Layout>& layouts, A... args) {
    std::vector<Tensor> out;
    out.reserve(layouts.size());
    for (const Layout& layout : layouts) out.push_back(allocate_output(layout));
    if (!layouts.empty() && !layouts[0].device.is_meta())
      kernel<void>(layouts[0].device, out, args...);
    return out;
  }
  template <std::size_t N>
  static Result run_pure(const std::array<Layout, N>& layouts, A... args) {
    std::array<Tensor, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = allocate_output(layouts[i]);
    if (!layouts[0].device.is_meta()) kernel<void>(layouts[0].device, out, args...);
    return std::apply([](auto&... part) { return Result{std::move(part)...}; }, out);
  }

  static Result run_view(Layout&& layout, const Tensor& self) {
    return make_view(self, std::move(layout), has_base());
  }
  static Result run_view(std::vector<Layout>&& layouts, const Tensor& self) {
    std::vector<Tensor> out;
    out.reserve(layouts.size());
    for (Layout& layout : layouts)
      out.push_back(make_view(self, std::move(layout), has_base(), true));
    return out;
  }

  static R run_resolved(A... args) {
    if constexpr (O::kind == OpKind::inplace) {
      const Tensor& self = self_of(args...);
      const Tensor plain = resolve_math_bits(self);
      Dispatcher::call(mapped(
          args, [&](const Tensor& t) { return t.is(self) ? plain : resolve_math_bits(t); })...);
      if (!plain.is(self)) copy_back(self, plain);
      return self;
    } else {
      return Dispatcher::call(mapped(args, resolve_math_bits)...);
    }
  }

  // Rule::run, the CPU's kernel, or the one a device has filled in.
  template <class Answer, class... T>
  static Answer kernel(Device device, T&&... args) {
    if constexpr (has_run) {
      return Rule<O>::run(args...);
    } else {
      if constexpr (has_cpu) {
        if (device.is_cpu()) return Rule<O>::cpu(args...);
      }
      const OpInfo::Kernel filled = O::info.kernel(device.type());
      if (filled == nullptr) no_kernel(O::info, device);
      return reinterpret_cast<Kernel>(filled)(args...);
    }
  }

  // ---- with them

  // User code (a class's dispatch(), a device's memory and kernels, a Rule of the user's) runs in
  // the middle of the call, and may give the places that the arguments are in, such as the
  // parameters of a layer, other tensors, or destroy them. The call has its own.
  template <class F>
  static decltype(auto) with_held(F&& f, const A&... args) {
    const std::tuple<HeldArgument<A>...> held{held_argument(args)...};
    return std::apply(std::forward<F>(f), held);
  }
  [[gnu::cold, gnu::noinline]] static R call_held(const Scan& scan, bool recording, A... args) {
    const auto go = [&](const auto&... own) -> Result {
      if (!scan.wrapper && !recording) return run(scan, present(own)...);
      return call_slowly(scan, recording, present(own)...);
    };
    if constexpr (O::kind == OpKind::inplace) {
      with_held(go, args...);
      check_callers();
      return self_of(args...);
    } else {
      Result result = with_held(go, args...);
      check_callers();
      return result;
    }
  }

  static R call_slowly(const Scan& scan, bool recording, A... args) {
    if constexpr (O::kind == OpKind::composite) {
      return call_composite(scan, args...);
    } else if constexpr (!kRecorded) {
      return below(scan, args...);
    } else {
      Ref<Node> node;
      if constexpr (O::kind == OpKind::inplace) {
        if (recording) check_inplace(O::info, self_of(args...));
        recording = recording && is_differentiable(self_of(args...).dtype());
      }
      if (recording && has_gradient<O>()) node = new_node(args...);
      if constexpr (O::kind == OpKind::inplace) {
        below(scan, args...);
        const Tensor& self = self_of(args...);
        if (node) {
          set_written_history(self, node);
          show_result(*node, self);
        }
        return self;
      } else {
        Result result = below(scan, args...);
        if (node) {
          add_history(result, node);
          show_result(*node, result);
        }
        if constexpr (O::kind == OpKind::view) {
          if (scan.wrapper && has_base()) {
            for_each_result(result, [&](const Tensor& t) { attach_base(t, self_of(args...)); });
          }
        }
        return result;
      }
    }
  }

  // A handler that carries it out itself is recorded as one step; else the parts are.
  static R call_composite(const Scan& scan, A... args) {
    std::optional<Value> answer;
    if (scan.wrapper) {
      const NoGradScope unrecorded;
      answer = ask(args...);
    }
    if (!answer) return Rule<O>::compose(args...);
    auto result = from_value<Result>(*answer, O::info);
    if constexpr (requires(const Ref<Node>& node) { add_history(result, node); }) {
      if (scan.tracked && is_recording()) {
        add_history(result, with_edges(named_node(O::info.name()), args...));
      }
    }
    return result;
  }

  static R below(const Scan& scan, A... args) {
    if (!scan.wrapper) {
      // A view remembers whether it was made with recording on, and calls no other operator.
      if constexpr (O::kind == OpKind::view) return run(scan, args...);
      const NoGradScope unrecorded;
      return run(scan, args...);
    }
    std::optional<Value> answer;
    {
      const NoGradScope unrecorded;
      answer = ask(args...);
    }
    if (!answer) nobody(args...);
    if constexpr (O::kind == OpKind::inplace) {
      bump_version(self_of(args...));
      return self_of(args...);
    } else {
      return from_value<Result>(*answer, O::info);
    }
  }

  static std::vector<Tensor> tensors_of(const A&... args) {
    std::vector<Tensor> tensors;
    (for_each_tensor(args, [&](const Tensor& t) { tensors.push_back(t); }), ...);
    return tensors;
  }
  static std::optional<Value> ask(const A&... args) {
    const OpArgs<O> refs(args...);
    return ask_wrappers(OpCall(O::info, &refs, reissue, tensors_of(args...)));
  }
  [[noreturn]] static void nobody(const A&... args) {
    const OpArgs<O> refs(args...);
    nobody_handles(OpCall(O::info, &refs, reissue, tensors_of(args...)));
  }
  static Value reissue(const void* args, const OpCall::Map& map) {
    return std::apply(
        [&](const auto&... arg) { return to_value(Dispatcher::call(mapped(arg, map)...)); },
        *static_cast<const OpArgs<O>*>(args));
  }

  static Ref<Node> new_node(const A&... args) {
    if constexpr (has_node) {
      return with_edges(Rule<O>::node(args...), args...);
    } else if constexpr (requires { Rule<O>::overwrites; }) {
      return with_edges(overwriting_node(gradient_name(args...)), args...);
    } else if constexpr (has_backward) {
      auto node = make_ref<RecordedNode<O>>(gradient_name(args...));
      with_edges(node, args...);
      node->keep(args...);
      return node;
    } else {
      return with_edges(named_node(gradient_name(args...)), args...);
    }
  }
  static std::string_view gradient_name(const A&... args) {
    if constexpr (requires { &Rule<O>::gradient_name; }) {
      return Rule<O>::gradient_name(args...);
    } else {
      return Rule<O>::gradient;
    }
  }
  // To a node that keeps it.
  template <class T>
  static void show_result(Node& node, const T& result) {
    if constexpr (requires { Rule<O>::keep_result(node, result); }) {
      Rule<O>::keep_result(node, result);
    } else if constexpr (has_backward && !has_node) {
      static_cast<RecordedNode<O>&>(node).keep_result(result);
    }
  }

  static Ref<Node> with_edges(Ref<Node> node, const A&... args) {
    std::vector<Edge> edges;
    (for_each_place(args,
                    [&](const Tensor& t) {
                      edges.push_back(t.defined() ? edge_of(t, *node, edges.size()) : Edge());
                    }),
     ...);
    node->set_next_edges(std::move(edges));
    return node;
  }

  static void add_history(Result& result, const Ref<Node>& node) {
    if constexpr (std::same_as<Result, Tensor>) {
      if (!is_differentiable(result.dtype())) return;
      result = fresh_result(std::move(result));
      set_history(result, node, 0);
    } else {
      std::uint32_t output = 0;
      const auto one = [&](Tensor& part) {
        const std::uint32_t number = output++;
        if (!is_differentiable(part.dtype())) return;
        part = fresh_result(std::move(part));
        set_history(part, node, number);
      };
      if constexpr (std::same_as<Result, std::vector<Tensor>>) {
        for (Tensor& part : result) one(part);
      } else {
        std::apply([&](auto&... part) { (one(part), ...); }, result);
      }
    }
  }
};

}  // namespace detail

}  // namespace tenon
