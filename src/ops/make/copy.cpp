// Copies and conversions.
#include <atomic>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "base/warn.h"
#include "core/body_editor.h"
#include "core/device_table.h"
#include "core/element_copy.h"
#include "core/uninitialized.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "ops/support/state.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::clone::info{"clone", kind};
constinit OpInfo op::to_copy::info{"to_copy", kind};
constinit OpInfo op::copy_::info{"copy_", kind};

namespace {

bool loses_imaginary_part(DType from, DType to) {
  return is_complex(from) && !is_complex(to) && to != bool_;
}
void warn_of_lost_imaginary_part() {
  constinit static std::atomic<bool> said{false};
  warn_once(said, "Casting complex values to real discards the imaginary part");
}

}  // namespace

template <>
struct Rule<op::clone> {
  static constexpr std::string_view gradient = "CloneBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       MemoryFormat /*format*/) {
    g.set(0, grad);
  }
  static constexpr bool math_bits = true;
  static Layout infer(const Tensor& self, MemoryFormat format) {
    return Layout::packed_like(self.layout(), format);
  }
  static void run(Tensor& out, const Tensor& self, MemoryFormat /*format*/) {
    copy_tensor(out, self);
  }
};

template <>
struct Rule<op::to_copy> {
  static constexpr std::string_view gradient = "ToCopyBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::optional<DType> /*dtype*/, std::optional<Device> /*device*/,
                       bool /*non_blocking*/, MemoryFormat /*format*/) {
    g.set(0, grad.to(g.device(0)));
  }
  static constexpr bool math_bits = true;
  static Layout infer(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      bool /*non_blocking*/, MemoryFormat format) {
    Layout like = self.layout();
    like.dtype = dtype.value_or(like.dtype);
    like.device = device ? usable_device(*device) : like.device;
    check_copy_out_of_meta("to", self.device(), like.device);
    check_convertible(self.dtype(), like.dtype);
    return Layout::packed_like(like, format);
  }
  static void run(Tensor& out, const Tensor& self, std::optional<DType> /*dtype*/,
                  std::optional<Device> /*device*/, bool /*non_blocking*/,
                  MemoryFormat /*format*/) {
    const bool loses = loses_imaginary_part(self.dtype(), out.dtype());
    copy_tensor(out, self);
    // The last thing that is done: the handler may give self other data, or destroy it.
    if (loses) warn_of_lost_imaginary_part();
  }
};

namespace {

// Of two that have bytes in common: Error if both are packed, and element i of one is not element i
// of the other.
void check_not_shifted(const Layout& to, const Layout& from) {
  if (to.is_non_overlapping_and_dense() && from.is_non_overlapping_and_dense()) {
    throw Error(
        "unsupported operation: some elements of the input tensor and the written-to tensor "
        "refer to a single memory "
        "location. Please clone() the tensor before performing the operation.");
  }
}

}  // namespace

template <>
struct Rule<op::copy_> {
  static constexpr std::string_view gradient = "CopyBackwards";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& /*src*/, bool /*non_blocking*/) {
    if (g.wanted(0)) g.set(0, zeros_like(grad));
    if (g.wanted(1)) g.set(1, grad.to(g.device(1)));
  }
  static constexpr bool math_bits = true;
  static void check(const Tensor& self, const Tensor& src, bool /*non_blocking*/) {
    const Shape together = broadcast_shapes(self.shape(), src.shape());
    if (together != self.shape()) {
      throw ShapeError(concat("output with shape ", bracketed(self.shape()),
                              " doesn't match the broadcast shape ", bracketed(together)));
    }
    check_copy_out_of_meta("copy_", src.device(), self.device());
    if (self.dtype() != src.dtype() && (is_opaque(self.dtype()) || is_opaque(src.dtype()))) {
      throw DTypeError(concat("copy_: cannot convert ", repr(src.dtype()), " to ",
                              repr(self.dtype()),
                              ": its elements are opaque, and no scale is in them"));
    }
    if (self.is_meta()) return;
    check_written_once(self.layout());
  }
  static void run(const Tensor& self, const Tensor& src, bool /*non_blocking*/) {
    const Tensor from = src.shape() == self.shape() ? src : src.expand(self.shape());
    if (!may_share_memory(self, from)) return copy_tensor(self, from);
    const Layout &to_layout = self.layout(), &from_layout = from.layout();
    if (same_elements(to_layout, from_layout)) {
      const bool nothing_to_do = to_layout.dtype == from_layout.dtype &&
                                 to_layout.conj == from_layout.conj &&
                                 to_layout.neg == from_layout.neg;
      if (!nothing_to_do) copy_tensor(self, from);
      return;
    }
    check_not_shifted(to_layout, from_layout);
    // They may interleave without meeting, or meet: PyTorch lets that happen. A copy in between
    // makes it come out right.
    copy_tensor(self, from.clone());
  }
};

void check_copy(const Tensor& self, const Tensor& src) {
  Rule<op::copy_>::check(self, src, false);
  if (may_share_memory(self, src) && !same_elements(self.layout(), src.layout()))
    check_not_shifted(self.layout(), src.layout());
}

Tensor Tensor::clone(CloneOptions options) const {
  return call<op::clone>(*this, options.memory_format);
}

Tensor Tensor::to(const ToOptions& options) const {
  const Layout& layout = this->layout();
  const Device device = options.device ? usable_device(*options.device) : layout.device;
  const DType dtype = options.dtype.value_or(layout.dtype);
  const bool nothing_changes = device == layout.device && dtype == layout.dtype &&
                               layout.is_contiguous(options.memory_format);
  if (nothing_changes && !options.copy) return *this;
  if (is_uninitialized(body())) [[unlikely]]
    return uninitialized_like(*this, dtype, device);
  // A device that is not the library's runs somebody's code, which may destroy these.
  if (!layout.device.is_cpu() || !device.is_cpu()) [[unlikely]] {
    const Tensor own = *this;
    const ToOptions held = options;
    return call<op::to_copy>(own, held.dtype, held.device, held.non_blocking, held.memory_format);
  }
  return call<op::to_copy>(*this, options.dtype, options.device, options.non_blocking,
                           options.memory_format);
}

Tensor Tensor::resolve_conj() const { return is_conj() ? clone() : *this; }
Tensor Tensor::resolve_neg() const { return is_neg() ? clone() : *this; }

bool copy_runs_user_code(const Tensor& self, const Tensor& src) {
  if (!self.defined() || !src.defined()) return false;
  const Layout &to = self.cell()->body->layout(), &from = src.cell()->body->layout();
  return is_complex(from.dtype) || !to.device.is_cpu() || !from.device.is_cpu();
}

namespace {

// By value: the handler of the warning, which comes before anything is looked at, or a device that
// is not the library's may give the caller's other data, or destroy them.
[[gnu::cold, gnu::noinline]] void copy_with_user_code(Tensor self, Tensor src, bool non_blocking) {
  if (self.defined() && !self.is_meta() && loses_imaginary_part(src.dtype(), self.dtype()))
    warn_of_lost_imaginary_part();
  call<op::copy_>(self, src, non_blocking);
}

}  // namespace

const Tensor& Tensor::copy_(const Tensor& src, bool non_blocking) const {
  if (copy_runs_user_code(*this, src)) [[unlikely]]
    copy_with_user_code(*this, src, non_blocking);
  else
    call<op::copy_>(*this, src, non_blocking);
  return *this;
}

}  // namespace tenon
