// Functions of one and of two tensors: their operators, functions and methods, from the tables in
// tenon/detail/function_names.h.
#include "tenon/ops/arithmetic.h"

#include <cstddef>
#include <string_view>

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_gradients.h"
#include "ops/elementwise/function_nodes.h"
#include "ops/support/itself.h"
#include "ops/support/own_arguments.h"
#include "tenon/detail/function_names.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"

namespace tenon {

namespace op {

#define TENON_ROW(name, ...)                                        \
  {OpInfo{#name, OpKind::pure}, OpInfo{#name "_", OpKind::inplace}, \
   OpInfo{#name "_out", OpKind::inplace}},
constinit OpInfo unary_infos[kUnaryFunctions][3] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
constinit OpInfo binary_infos[kBinaryFunctions][3] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW

}  // namespace op

namespace {

// Which of PyTorch's powers it is: of a number, to a number, or of a tensor to a tensor.
std::string_view power_node(const Tensor& self, const Tensor& exponent) {
  return exponent.body().is_wrapped_number() ? "PowBackward0"
         : self.body().is_wrapped_number()   ? "PowBackward2"
                                             : "PowBackward1";
}

#define TENON_ROW(name, node, result, kernel, autocast, ...) {.cuda = AutocastPolicy::autocast},
constexpr AutocastPolicies kUnaryAutocast[] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
constexpr AutocastPolicies kBinaryAutocast[] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
constexpr AutocastPolicies autocast_of(UnaryFunction function) {
  return kUnaryAutocast[static_cast<std::size_t>(function)];
}
constexpr AutocastPolicies autocast_of(BinaryFunction function) {
  return kBinaryAutocast[static_cast<std::size_t>(function)];
}

}  // namespace

template <UnaryFunction N>
struct Rule<op::Unary<N>> {
  static constexpr AutocastPolicies autocast = autocast_of(N);
  static constexpr std::string_view gradient = new_node(N);
  static Ref<Node> node(const Tensor& self) { return unary_node(N, gradient, self, false); }
  static void keep_result(Node& node, const Tensor& result) { keep_unary_result(node, result); }
  static Layout infer(const Tensor& self) { return infer_unary(N, self); }
  static void cpu(Tensor& out, const Tensor& self) { run_unary(N, out, self); }
};
template <UnaryFunction N>
struct Rule<op::UnaryInPlace<N>> {
  static constexpr std::string_view gradient = in_place_node(N);
  static Ref<Node> node(const Tensor& self) { return unary_node(N, gradient, self, true); }
  static void keep_result(Node& node, const Tensor& result) { keep_unary_result(node, result); }
  static void check(const Tensor& self) {
    if (N == UnaryFunction::abs && self.is_complex())
      throw NotImplementedError("In-place abs is not supported for complex tensors.");
    check_unary(N, self, self);
  }
  static void cpu(const Tensor& self) { run_unary(N, self, self); }
};
template <UnaryFunction N>
struct Rule<op::UnaryOut<N>> {
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor& out, const Tensor& self) { check_unary(N, out, self); }
  static void cpu(const Tensor& out, const Tensor& self) { run_unary(N, out, self); }
};
template <BinaryFunction N>
struct Rule<op::Binary<N>> {
  static constexpr AutocastPolicies autocast = autocast_of(N);
  static constexpr std::string_view gradient = new_node(N);
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(N, gradient, self, other, false);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static Layout infer(const Tensor& self, const Tensor& other) {
    return infer_binary(N, self, other);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(N, out, self, other);
  }
};
template <>
struct Rule<op::pow> {
  static constexpr AutocastPolicies autocast = autocast_of(BinaryFunction::pow);
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(BinaryFunction::pow, power_node(self, other), self, other, false);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static Layout infer(const Tensor& self, const Tensor& other) {
    return infer_binary(BinaryFunction::pow, self, other);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(BinaryFunction::pow, out, self, other);
  }
};
template <BinaryFunction N>
struct Rule<op::BinaryInPlace<N>> {
  static constexpr std::string_view gradient = in_place_node(N);
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(N, gradient, self, other, true);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static void check(const Tensor& self, const Tensor& other) { check_binary(N, self, self, other); }
  static void cpu(const Tensor& self, const Tensor& other) { run_binary(N, self, self, other); }
};
template <BinaryFunction N>
struct Rule<op::BinaryOut<N>> {
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor& out, const Tensor& self, const Tensor& other) {
    check_binary(N, out, self, other);
  }
  static void cpu(const Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(N, out, self, other);
  }
};

namespace {

// An out without elements gets some; on a device its backend, which is user code, allocates them
// and may destroy the caller's variables: see Note [Arguments of one's own].
bool allocates_on_device(const Tensor& out) {
  return out.defined() && out.device().has_backend() && out.numel() == 0;
}

template <UnaryFunction N>
const Tensor& unary_out(const Tensor& out, const Tensor& self) {
  const auto write = [](const Tensor& to, const Tensor& from) -> const Tensor& {
    prepare_unary_out(N, to, from);
    return call<op::UnaryOut<N>>(to, from);
  };
  if (!allocates_on_device(out)) [[likely]]
    return write(out, self);
  with_own(write, out, self);
  return out;
}

template <BinaryFunction N>
const Tensor& binary_out(const Tensor& out, const Tensor& self, const Tensor& other) {
  const auto write = [](const Tensor& to, const Tensor& a, const Tensor& b) -> const Tensor& {
    prepare_binary_out(N, to, a, b);
    return call<op::BinaryOut<N>>(to, a, b);
  };
  if (!allocates_on_device(out)) [[likely]]
    return write(out, self, other);
  with_own(write, out, self, other);
  return out;
}

}  // namespace

// The functions and methods.

#define TENON_ROW(name, node, result, kernel, autocast, forms)                           \
  Tensor name(const Tensor& self) { return call<op::Unary<UnaryFunction::name>>(self); } \
  const Tensor& name##_out(const Tensor& out, const Tensor& self) {                      \
    if (!new_node(UnaryFunction::name).empty()) check_no_history(out, self);             \
    return unary_out<UnaryFunction::name>(out, self);                                    \
  }                                                                                      \
  Tensor TensorArithmetic::name() const { return tenon::name(itself(*this)); }           \
  TENON_IF_##forms(const Tensor& TensorArithmetic::name##_() const {                     \
    return call<op::UnaryInPlace<UnaryFunction::name>>(itself(*this));                   \
  })
TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

#define TENON_IN_PLACE(name)                                                    \
  const Tensor& TensorArithmetic::name##_(const Tensor& other) const {          \
    return call<op::BinaryInPlace<BinaryFunction::name>>(itself(*this), other); \
  }                                                                             \
  const Tensor& TensorArithmetic::name##_(const Scalar& other) const {          \
    return name##_(wrapped_number(other));                                      \
  }
#define TENON_ROW(name, node, result, kernel, autocast, forms)                           \
  Tensor name(const Tensor& self, const Tensor& other) {                                 \
    return call<op::Binary<BinaryFunction::name>>(self, other);                          \
  }                                                                                      \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other) { \
    if (!new_node(BinaryFunction::name).empty()) {                                       \
      check_no_history(out, self);                                                       \
      check_no_history(out, other);                                                      \
    }                                                                                    \
    return binary_out<BinaryFunction::name>(out, self, other);                           \
  }                                                                                      \
  Tensor TensorArithmetic::name(const Tensor& other) const {                             \
    return tenon::name(itself(*this), other);                                            \
  }                                                                                      \
  Tensor TensorArithmetic::name(const Scalar& other) const {                             \
    return tenon::name(itself(*this), other);                                            \
  }                                                                                      \
  TENON_IF_##forms(TENON_IN_PLACE(name))
TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
#undef TENON_IN_PLACE

}  // namespace tenon
