// Pools, as users call them.
#include "tenon/ops/pooling.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/pick.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/pool_kernels.h"
#include "ops/nn/pool_plan.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::max_pool1d::info{"max_pool1d", kind};
constinit OpInfo op::max_pool2d::info{"max_pool2d", kind};
constinit OpInfo op::max_pool3d::info{"max_pool3d", kind};
constinit OpInfo op::max_pool1d_with_indices::info{"max_pool1d_with_indices", kind};
constinit OpInfo op::max_pool2d_with_indices::info{"max_pool2d_with_indices", kind};
constinit OpInfo op::max_pool3d_with_indices::info{"max_pool3d_with_indices", kind};
constinit OpInfo op::avg_pool1d::info{"avg_pool1d", kind};
constinit OpInfo op::avg_pool2d::info{"avg_pool2d", kind};
constinit OpInfo op::avg_pool3d::info{"avg_pool3d", kind};
constinit OpInfo op::adaptive_avg_pool1d::info{"adaptive_avg_pool1d", kind};
constinit OpInfo op::adaptive_avg_pool2d::info{"adaptive_avg_pool2d", kind};
constinit OpInfo op::adaptive_avg_pool3d::info{"adaptive_avg_pool3d", kind};
constinit OpInfo op::adaptive_max_pool1d::info{"adaptive_max_pool1d", kind};
constinit OpInfo op::adaptive_max_pool2d::info{"adaptive_max_pool2d", kind};
constinit OpInfo op::adaptive_max_pool3d::info{"adaptive_max_pool3d", kind};
constinit OpInfo op::lp_pool1d::info{"lp_pool1d", kind};
constinit OpInfo op::lp_pool2d::info{"lp_pool2d", kind};
constinit OpInfo op::lp_pool3d::info{"lp_pool3d", kind};
constinit OpInfo op::max_unpool1d::info{"max_unpool1d", kind};
constinit OpInfo op::max_unpool2d::info{"max_unpool2d", kind};
constinit OpInfo op::max_unpool3d::info{"max_unpool3d", kind};

std::string OutputSize::repr() const {
  const auto text = [](const std::optional<std::int64_t>& size) {
    return size ? concat(*size) : std::string("None");
  };
  if (entries_.size() == 1) return text(entries_[0]);
  std::string all = "(";
  for (const auto& entry : entries_) all += concat(all.size() > 1 ? ", " : "", text(entry));
  return all + ")";
}

namespace {

using Pair = std::tuple<Tensor, Tensor>;

// A signal is an image of one row.
Tensor as_image(const Tensor& signal) { return signal.unsqueeze(-2); }
Tensor as_signal(const Tensor& image) { return image.squeeze(-2); }
Pair as_signals(const Pair& images) {
  return {as_signal(std::get<0>(images)), as_signal(std::get<1>(images))};
}
Dims of_row(std::int64_t rows, const Dims& columns) { return {rows, columns[0]}; }

// The windows of an operator of n dimensions on a checked input; those of a signal as an image's.
PoolWindows windows_for(std::string_view op, std::size_t n, const Tensor& self, const Dims& kernel,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        bool ceil_mode) {
  PoolWindows windows = pool_windows(op, n, kernel, stride, padding, dilation, ceil_mode);
  check_pool_input(op, self, n);
  static_cast<void>(pooled_shape(windows, self.shape()));
  if (n > 1) return windows;
  return {op,
          of_row(1, windows.kernel),
          of_row(1, windows.stride),
          of_row(0, windows.padding),
          of_row(1, windows.dilation),
          ceil_mode};
}

template <class O, std::size_t n>
struct MaxPoolRule {
  static Tensor compose(const Tensor& self, const Dims& kernel, const Dims& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
    const PoolWindows w =
        windows_for(O::info.name(), n, self, kernel, stride, padding, dilation, ceil_mode);
    const Tensor image = n == 1 ? as_image(self) : self;
    // Indices are calculated for a gradient only.
    const Tensor pooled =
        is_grad_enabled() && self.requires_grad()
            ? std::get<0>(pool_max_with_indices(image, w.kernel, w.stride, w.padding, w.dilation,
                                                ceil_mode))
            : pool_max(image, w.kernel, w.stride, w.padding, w.dilation, ceil_mode);
    return n == 1 ? as_signal(pooled) : pooled;
  }
};
template <class O, std::size_t n>
struct MaxPoolWithIndicesRule {
  static Pair compose(const Tensor& self, const Dims& kernel, const Dims& stride,
                      const Dims& padding, const Dims& dilation, bool ceil_mode) {
    const PoolWindows w =
        windows_for(O::info.name(), n, self, kernel, stride, padding, dilation, ceil_mode);
    const Pair both = pool_max_with_indices(n == 1 ? as_image(self) : self, w.kernel, w.stride,
                                            w.padding, w.dilation, ceil_mode);
    return n == 1 ? as_signals(both) : both;
  }
};

template <class O, std::size_t n>
struct AvgPoolRule {
  static Tensor compose(const Tensor& self, const Dims& kernel, const Dims& stride,
                        const Dims& padding, bool ceil_mode, bool count_include_pad,
                        std::optional<std::int64_t> divisor) {
    if (divisor == 0) throw ValueError(concat(O::info.name(), ": divisor must be not zero"));
    const PoolWindows w =
        windows_for(O::info.name(), n, self, kernel, stride, padding, 1, ceil_mode);
    const Tensor pooled =
        pool_average(n == 1 ? as_image(self) : self, w.kernel, w.stride, w.padding, ceil_mode,
                     count_include_pad, divisor.value_or(0));
    return n == 1 ? as_signal(pooled) : pooled;
  }
};

Dims check_adaptive(std::string_view op, std::size_t n, const Tensor& self,
                    const Dims& output_size) {
  const Shape& shape = self.shape();
  if (shape.size() != n + 1 && shape.size() != n + 2) {
    throw ShapeError(
        concat(op, "(): Expected ", n + 1, "D or ", n + 2, "D tensor, but got ", bracketed(shape)));
  }
  for (std::size_t d = shape.size() - n; d < shape.size(); ++d) {
    if (shape[d] != 0) continue;
    throw ShapeError(concat(op,
                            "(): Expected input to have non-zero size for non-batch dimensions, "
                            "but input has sizes ",
                            bracketed(shape), " with dimension ", d, " being empty"));
  }
  Dims sizes = expanded(op, "output_size", output_size, n);
  for (const std::int64_t size : sizes) {
    if (size >= 0) continue;
    throw ValueError(concat(op,
                            ": elements of output_size must be greater than or equal to 0 but "
                            "received ",
                            sizes));
  }
  return n == 1 ? of_row(1, sizes) : sizes;
}

template <class O, std::size_t n>
struct AdaptiveAvgPoolRule {
  static Tensor compose(const Tensor& self, const Dims& output_size) {
    const Dims sizes = check_adaptive(O::info.name(), n, self, output_size);
    const Tensor image = n == 1 ? as_image(self) : self;
    const bool whole = sizes == Dims::filled(sizes.size(), 1) && image.is_floating_point();
    const Dims spatial = sizes.size() == 2 ? Dims{-1, -2} : Dims{-1, -2, -3};
    const Tensor pooled =
        whole ? mean(image, spatial, {.keepdim = true}) : pool_average_adaptive(image, sizes);
    return n == 1 ? as_signal(pooled) : pooled;
  }
};
template <class O, std::size_t n>
struct AdaptiveMaxPoolRule {
  static Pair compose(const Tensor& self, const Dims& output_size) {
    const Dims sizes = check_adaptive(O::info.name(), n, self, output_size);
    const Pair both = pool_max_adaptive(n == 1 ? as_image(self) : self, sizes);
    return n == 1 ? as_signals(both) : both;
  }
};

// Means of powers, times how many there are: what a window has less at the edges is added.
template <class O, std::size_t n>
struct LPPoolRule {
  static Tensor compose(const Tensor& self, const Scalar& norm_type, const Dims& kernel,
                        const Dims& stride, bool ceil_mode) {
    const Dims sizes = expanded(O::info.name(), "kernel_size", kernel, n);
    check_pool_input(O::info.name(), self, n);
    const auto norm = norm_type.to<double>();
    if (norm == 0) {
      throw ValueError(
          concat(O::info.name(), ": norm_type must be a non-zero value, but got ", norm));
    }
    // The limits of what is below.
    if (std::isinf(norm)) {
      const Tensor sizes_of_all = self.abs();
      return norm > 0 ? largest(sizes_of_all, sizes, stride, ceil_mode)
                      : -largest(-sizes_of_all, sizes, stride, ceil_mode);
    }
    const Tensor powers = self.pow(norm_type);
    Tensor means;
    if constexpr (n == 1) {
      means = avg_pool1d(powers, sizes, {.stride = stride, .ceil_mode = ceil_mode});
    } else if constexpr (n == 2) {
      means = avg_pool2d(powers, sizes, {.stride = stride, .ceil_mode = ceil_mode});
    } else {
      means = avg_pool3d(powers, sizes, {.stride = stride, .ceil_mode = ceil_mode});
    }
    double count = 1;
    for (const std::int64_t size : sizes) count *= static_cast<double>(size);
    return (means.sign() * means.abs().relu() * count).pow(1 / norm);
  }

 private:
  static Tensor largest(const Tensor& self, const Dims& sizes, const Dims& stride, bool ceil_mode) {
    const MaxPoolFunctionOptions options{.stride = stride, .ceil_mode = ceil_mode};
    if constexpr (n == 1) {
      return max_pool1d(self, sizes, options);
    } else if constexpr (n == 2) {
      return max_pool2d(self, sizes, options);
    } else {
      return max_pool3d(self, sizes, options);
    }
  }
};

void check_places(std::string_view op, const Tensor& indices, const Dims& sizes) {
  if (!indices.is_cpu() || indices.body().is_wrapper()) return;
  const Tensor packed = indices.contiguous();
  std::optional<std::int64_t> places = 1;
  for (const std::int64_t size : sizes) {
    if (places) places = checked_mul(*places, size);
  }
  // A size that is too large is refused where the result is made.
  const auto bad = find_bad_position(packed.shape(), operand(packed), 0,
                                     places.value_or(std::numeric_limits<std::int64_t>::max()));
  if (!bad) return;
  std::string volume;
  for (const std::int64_t size : sizes) volume += concat(volume.empty() ? "" : "x", size);
  throw IndexError(concat(op, ": Found an invalid max index: ", bad->value, " at ",
                          bracketed(bad->place), " (output volumes are of size ", volume, ")"));
}

template <class O, std::size_t n>
struct MaxUnpoolRule {
  static Tensor compose(const Tensor& self, const Tensor& indices, const Dims& output_size) {
    const std::string_view op = O::info.name();
    const Tensor both[] = {self, indices};
    same_device(op, both);
    if (indices.dtype() != int64) {
      throw DTypeError(concat(op, ": elements in indices should be type int64 but got: ",
                              tenon::repr(indices.dtype())));
    }
    if (indices.shape() != self.shape()) {
      throw ShapeError(concat(op,
                              ": Expected shape of indices to be same as that of the input "
                              "tensor (",
                              bracketed(self.shape()),
                              ") but got indices tensor with shape: ", bracketed(indices.shape())));
    }
    check_pool_input(op, self, n);
    check_places(op, indices, output_size);
    if (n > 1) return unpool_max(self, indices, output_size);
    return as_signal(unpool_max(as_image(self), as_image(indices), of_row(1, output_size)));
  }
};

// None entries are the input's sizes.
Dims sizes_for(std::string_view op, std::size_t n, const Tensor& input, const OutputSize& given) {
  const auto& entries = given.entries();
  if (entries.size() != n && entries.size() != 1) {
    throw ValueError(
        concat(op, ": output_size must be a number or ", n, " of them, but got ", given));
  }
  Dims sizes;
  for (std::size_t i = 0; i < n; ++i) {
    const auto& entry = entries[entries.size() == 1 ? 0 : i];
    const auto dim = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(n);
    if (!entry && -dim > input.dim()) {
      throw ShapeError(concat(op, "(): Expected ", n + 1, "D or ", n + 2, "D tensor, but got ",
                              bracketed(input.shape())));
    }
    sizes.push_back(entry ? *entry : input.size(dim));
  }
  return sizes;
}

// Sizes and steps up to this one can be added without overflow.
bool is_moderate(std::int64_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  return size > -kMost && size < kMost;
}

// The size that is named, if a pool makes the input's size of it, or the usual one.
Dims unpooled_sizes(std::string_view op, std::size_t n, const Tensor& input, const Dims& kernel,
                    const MaxUnpoolFunctionOptions& options) {
  const Dims kernels = expanded(op, "kernel_size", kernel, n);
  const Dims strides = expanded(op, "stride", options.stride.empty() ? kernel : options.stride, n);
  const Dims paddings = expanded(op, "padding", options.padding, n);
  check_pool_input(op, input, n);
  Dims usual;
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t size = input.shape()[input.shape().size() - n + d];
    const auto reach = checked_mul(size - 1, strides[d]);
    const auto padded = checked_mul(paddings[d], std::int64_t{-2});
    const auto inside = reach && padded ? checked_add(*reach, *padded) : std::nullopt;
    const auto whole = inside ? checked_add(*inside, kernels[d]) : std::nullopt;
    if (!whole || !(is_moderate(*whole) && is_moderate(strides[d]))) {
      throw ValueError(concat(op, ": a kernel of ", kernels, ", stride ", strides, " and padding ",
                              paddings, " make a size that is too large of ",
                              bracketed(input.shape())));
    }
    usual.push_back(*whole);
  }
  if (options.output_size.empty()) return usual;
  Dims sizes = options.output_size;
  if (sizes.size() == n + 2) {
    sizes.erase(0);
    sizes.erase(0);
  }
  if (sizes.size() != n) {
    throw ValueError(concat(op, ": output_size should be a sequence containing ", n, " or ", n + 2,
                            " elements, but it has a length of ", options.output_size.size()));
  }
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t low = usual[d] - strides[d], high = usual[d] + strides[d];
    if (low < sizes[d] && sizes[d] < high) continue;
    throw ValueError(concat(op, ": invalid output_size ", sizes, " (dim ", d, " must be between ",
                            low, " and ", high, ")"));
  }
  return sizes;
}

void refuse_indices(std::string_view op, bool return_indices) {
  if (!return_indices) return;
  throw ValueError(concat(op, ": return_indices: call ", op,
                          "_with_indices, which returns the values and the indices"));
}

}  // namespace

template <>
struct Rule<op::max_pool1d> : MaxPoolRule<op::max_pool1d, 1> {};
template <>
struct Rule<op::max_pool2d> : MaxPoolRule<op::max_pool2d, 2> {};
template <>
struct Rule<op::max_pool3d> : MaxPoolRule<op::max_pool3d, 3> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::max_pool1d_with_indices> : MaxPoolWithIndicesRule<op::max_pool1d_with_indices, 1> {
};
template <>
struct Rule<op::max_pool2d_with_indices> : MaxPoolWithIndicesRule<op::max_pool2d_with_indices, 2> {
};
template <>
struct Rule<op::max_pool3d_with_indices> : MaxPoolWithIndicesRule<op::max_pool3d_with_indices, 3> {
};
template <>
struct Rule<op::avg_pool1d> : AvgPoolRule<op::avg_pool1d, 1> {};
template <>
struct Rule<op::avg_pool2d> : AvgPoolRule<op::avg_pool2d, 2> {};
template <>
struct Rule<op::avg_pool3d> : AvgPoolRule<op::avg_pool3d, 3> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::adaptive_avg_pool1d> : AdaptiveAvgPoolRule<op::adaptive_avg_pool1d, 1> {};
template <>
struct Rule<op::adaptive_avg_pool2d> : AdaptiveAvgPoolRule<op::adaptive_avg_pool2d, 2> {};
template <>
struct Rule<op::adaptive_avg_pool3d> : AdaptiveAvgPoolRule<op::adaptive_avg_pool3d, 3> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::adaptive_max_pool1d> : AdaptiveMaxPoolRule<op::adaptive_max_pool1d, 1> {};
template <>
struct Rule<op::adaptive_max_pool2d> : AdaptiveMaxPoolRule<op::adaptive_max_pool2d, 2> {};
template <>
struct Rule<op::adaptive_max_pool3d> : AdaptiveMaxPoolRule<op::adaptive_max_pool3d, 3> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::lp_pool1d> : LPPoolRule<op::lp_pool1d, 1> {};
template <>
struct Rule<op::lp_pool2d> : LPPoolRule<op::lp_pool2d, 2> {};
template <>
struct Rule<op::lp_pool3d> : LPPoolRule<op::lp_pool3d, 3> {};
template <>
struct Rule<op::max_unpool1d> : MaxUnpoolRule<op::max_unpool1d, 1> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::max_unpool2d> : MaxUnpoolRule<op::max_unpool2d, 2> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};
template <>
struct Rule<op::max_unpool3d> : MaxUnpoolRule<op::max_unpool3d, 3> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
};

Tensor max_pool1d(const Tensor& input, const Dims& kernel_size,
                  const MaxPoolFunctionOptions& options) {
  refuse_indices("max_pool1d", options.return_indices);
  return call<op::max_pool1d>(input, kernel_size, options.stride, options.padding, options.dilation,
                              options.ceil_mode);
}
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size,
                  const MaxPoolFunctionOptions& options) {
  refuse_indices("max_pool2d", options.return_indices);
  return call<op::max_pool2d>(input, kernel_size, options.stride, options.padding, options.dilation,
                              options.ceil_mode);
}
Tensor max_pool3d(const Tensor& input, const Dims& kernel_size,
                  const MaxPoolFunctionOptions& options) {
  refuse_indices("max_pool3d", options.return_indices);
  return call<op::max_pool3d>(input, kernel_size, options.stride, options.padding, options.dilation,
                              options.ceil_mode);
}
Pair max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size,
                             const MaxPoolFunctionOptions& options) {
  return call<op::max_pool1d_with_indices>(input, kernel_size, options.stride, options.padding,
                                           options.dilation, options.ceil_mode);
}
Pair max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                             const MaxPoolFunctionOptions& options) {
  return call<op::max_pool2d_with_indices>(input, kernel_size, options.stride, options.padding,
                                           options.dilation, options.ceil_mode);
}
Pair max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                             const MaxPoolFunctionOptions& options) {
  return call<op::max_pool3d_with_indices>(input, kernel_size, options.stride, options.padding,
                                           options.dilation, options.ceil_mode);
}
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size,
                  const AvgPool1dFunctionOptions& options) {
  return call<op::avg_pool1d>(input, kernel_size, options.stride, options.padding,
                              options.ceil_mode, options.count_include_pad, std::nullopt);
}
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size,
                  const AvgPoolFunctionOptions& options) {
  return call<op::avg_pool2d>(input, kernel_size, options.stride, options.padding,
                              options.ceil_mode, options.count_include_pad,
                              options.divisor_override);
}
Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size,
                  const AvgPoolFunctionOptions& options) {
  return call<op::avg_pool3d>(input, kernel_size, options.stride, options.padding,
                              options.ceil_mode, options.count_include_pad,
                              options.divisor_override);
}
Tensor adaptive_avg_pool1d(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_avg_pool1d>(input,
                                       sizes_for("adaptive_avg_pool1d", 1, input, output_size));
}
Tensor adaptive_avg_pool2d(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_avg_pool2d>(input,
                                       sizes_for("adaptive_avg_pool2d", 2, input, output_size));
}
Tensor adaptive_avg_pool3d(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_avg_pool3d>(input,
                                       sizes_for("adaptive_avg_pool3d", 3, input, output_size));
}
Pair adaptive_max_pool1d_with_indices(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_max_pool1d>(input,
                                       sizes_for("adaptive_max_pool1d", 1, input, output_size));
}
Tensor adaptive_max_pool1d(const Tensor& input, const OutputSize& output_size,
                           AdaptiveMaxPoolFunctionOptions options) {
  refuse_indices("adaptive_max_pool1d", options.return_indices);
  return std::get<0>(adaptive_max_pool1d_with_indices(input, output_size));
}
Pair adaptive_max_pool2d_with_indices(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_max_pool2d>(input,
                                       sizes_for("adaptive_max_pool2d", 2, input, output_size));
}
Tensor adaptive_max_pool2d(const Tensor& input, const OutputSize& output_size,
                           AdaptiveMaxPoolFunctionOptions options) {
  refuse_indices("adaptive_max_pool2d", options.return_indices);
  return std::get<0>(adaptive_max_pool2d_with_indices(input, output_size));
}
Pair adaptive_max_pool3d_with_indices(const Tensor& input, const OutputSize& output_size) {
  return call<op::adaptive_max_pool3d>(input,
                                       sizes_for("adaptive_max_pool3d", 3, input, output_size));
}
Tensor adaptive_max_pool3d(const Tensor& input, const OutputSize& output_size,
                           AdaptiveMaxPoolFunctionOptions options) {
  refuse_indices("adaptive_max_pool3d", options.return_indices);
  return std::get<0>(adaptive_max_pool3d_with_indices(input, output_size));
}
Tensor lp_pool1d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                 const LPPoolFunctionOptions& options) {
  return call<op::lp_pool1d>(input, norm_type, kernel_size, options.stride, options.ceil_mode);
}
Tensor lp_pool2d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                 const LPPoolFunctionOptions& options) {
  return call<op::lp_pool2d>(input, norm_type, kernel_size, options.stride, options.ceil_mode);
}
Tensor lp_pool3d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                 const LPPoolFunctionOptions& options) {
  return call<op::lp_pool3d>(input, norm_type, kernel_size, options.stride, options.ceil_mode);
}
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const MaxUnpoolFunctionOptions& options) {
  return call<op::max_unpool1d>(input, indices,
                                unpooled_sizes("max_unpool1d", 1, input, kernel_size, options));
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const MaxUnpoolFunctionOptions& options) {
  return call<op::max_unpool2d>(input, indices,
                                unpooled_sizes("max_unpool2d", 2, input, kernel_size, options));
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const MaxUnpoolFunctionOptions& options) {
  return call<op::max_unpool3d>(input, indices,
                                unpooled_sizes("max_unpool3d", 3, input, kernel_size, options));
}

}  // namespace tenon
