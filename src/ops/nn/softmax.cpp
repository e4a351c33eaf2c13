// Softmax and its kin.
#include "kernels/softmax.h"

#include "base/text.h"
#include "base/warn.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/support/itself.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::softmax::info{"softmax", kind};
constinit OpInfo op::log_softmax::info{"log_softmax", kind};
constinit OpInfo op::softmin::info{"softmin", kind};

// What is calculated: with `log` the logarithm, over a dimension that is counted from the front.
namespace op {
struct softmax_data {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, bool log);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo softmax_data::info{"_softmax", kind};
struct softmax_backward_data {
  using Signature = Tensor(const Tensor& grad, const Tensor& output, std::int64_t dim, bool log);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo softmax_backward_data::info{"_softmax_backward_data", kind};
}  // namespace op

namespace {

SoftmaxShape in_three(const Shape& shape, std::int64_t dim, bool log) {
  SoftmaxShape three{1, 1, 1, log};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto at = static_cast<std::int64_t>(d);
    (at < dim ? three.outer : at == dim ? three.size : three.inner) *= shape[d];
  }
  return three;
}

// Packed, in the dtype it is calculated in.
Tensor prepared(const Tensor& tensor, DType computed) { return tensor.to(computed).contiguous(); }

// Calls f for the type of the elements, with a place for the result, which is then written to out.
template <class F>
void calculated(const Tensor& out, F&& f) {
  if (out.numel() == 0) return;
  const DType computed = compute_dtype(out.dtype());
  const bool direct = computed == out.dtype();
  const Tensor place =
      direct ? out : empty(out.shape(), {.dtype = computed, .device = Device::cpu()});
  if (computed == float64)
    f(static_cast<double*>(place.data_ptr()));
  else
    f(static_cast<float*>(place.data_ptr()));
  if (!direct) copy_tensor(out, place);
}

Layout infer_softmax(const char* name, const Tensor& self) {
  const DType computed = compute_dtype(self.dtype());
  if (computed != float32 && computed != float64) not_implemented(name, self.dtype());
  return Layout::packed(self.shape(), self.dtype(), self.device());
}

}  // namespace

template <>
struct Rule<op::softmax_backward_data> {
  static std::string_view gradient_name(const Tensor&, const Tensor&, std::int64_t, bool log) {
    return log ? "LogSoftmaxBackwardDataBackward0" : "SoftmaxBackwardDataBackward0";
  }
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place == 1 || (place == 0 && wanted[1]);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& first_grad, const Tensor& y,
                       std::int64_t dim, bool log) {
    const auto along = [&](const Tensor& t) { return sum(t, {dim}, {.keepdim = true}); };
    if (log) {
      const Tensor p = y.exp();
      if (g.wanted(0)) g.set(0, grad - along(grad * p));
      if (g.wanted(1)) g.set(1, -grad * p * along(first_grad));
      return;
    }
    if (g.wanted(0)) g.set(0, call<op::softmax_backward_data>(grad, y, dim, log));
    if (g.wanted(1))
      g.set(1, grad * (first_grad - along(first_grad * y)) - first_grad * along(grad * y));
  }
  static Layout infer(const Tensor& /*grad*/, const Tensor& output, std::int64_t, bool log) {
    return infer_softmax(log ? "log_softmax" : "softmax", output);
  }
  static void cpu(Tensor& out, const Tensor& grad, const Tensor& output, std::int64_t dim,
                  bool log) {
    calculated(out, [&]<class T>(T* place) {
      const Tensor g = prepared(grad, dtype_of<T>), y = prepared(output, dtype_of<T>);
      tenon::softmax_backward(in_three(out.shape(), dim, log), place, g.data<T>(), y.data<T>());
    });
  }
};

template <>
struct Rule<op::softmax_data> {
  static std::string_view gradient_name(const Tensor&, std::int64_t, bool log) {
    return log ? "LogSoftmaxBackward0" : "SoftmaxBackward0";
  }
  static bool saves(std::size_t place, const Wanted&) { return place == kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       bool log) {
    g.set(0, call<op::softmax_backward_data>(grad, g.result(), dim, log));
  }
  static Layout infer(const Tensor& self, std::int64_t, bool log) {
    return infer_softmax(log ? "log_softmax" : "softmax", self);
  }
  static void cpu(Tensor& out, const Tensor& self, std::int64_t dim, bool log) {
    calculated(out, [&]<class T>(T* place) {
      const Tensor x = prepared(self, dtype_of<T>);
      tenon::softmax_forward(in_three(out.shape(), dim, log), place, x.data<T>());
    });
  }
};

namespace {

Tensor composed(const Tensor& self, std::int64_t dim, std::optional<DType> dtype, bool log) {
  const std::int64_t along = wrap_dim(dim, self.dim());
  return call<op::softmax_data>(dtype ? self.to(*dtype) : self, along, log);
}

}  // namespace

template <>
struct Rule<op::softmax> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static Tensor compose(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
    return composed(self, dim, dtype, false);
  }
};
template <>
struct Rule<op::log_softmax> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static Tensor compose(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
    return composed(self, dim, dtype, true);
  }
};
template <>
struct Rule<op::softmin> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static Tensor compose(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
    return composed(-self, dim, dtype, false);
  }
};

namespace {

std::int64_t implicit_dim(const OpInfo& op, const Tensor& input) {
  warn(concat("Implicit dimension choice for ", op.name(),
              " has been deprecated. Change the call to include dim=X as an argument."));
  return input.dim() == 0 || input.dim() == 1 || input.dim() == 3 ? 0 : 1;
}

template <class O>
Tensor along_dim(const Tensor& input, const SoftmaxOptions& options) {
  if (options.dim) return call<O>(input, *options.dim, options.dtype);
  const Tensor own = input;  // see Note [Arguments of one's own]
  return call<O>(own, implicit_dim(O::info, own), options.dtype);
}

}  // namespace

Tensor softmax(const Tensor& input, SoftmaxOptions options) {
  return along_dim<op::softmax>(input, options);
}
Tensor log_softmax(const Tensor& input, SoftmaxOptions options) {
  return along_dim<op::log_softmax>(input, options);
}
Tensor softmin(const Tensor& input, SoftmaxOptions options) {
  return along_dim<op::softmin>(input, options);
}

Tensor TensorMethods::softmax(std::int64_t dim, DTypeOption options) const {
  return tenon::softmax(itself(*this), dim, options);
}
Tensor TensorMethods::log_softmax(std::int64_t dim, DTypeOption options) const {
  return tenon::log_softmax(itself(*this), dim, options);
}

}  // namespace tenon
