#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/element_copy.h"
#include "kernels/function_table.h"
#include "ops/elementwise/operands.h"
#include "tenon/autograd.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/reductions.h"

namespace tenon {

namespace {

// Promotion.

// What each kind of operand asks for: tensors with dimensions, tensors without, numbers.
struct Wishes {
  std::optional<DType> dimensioned, zero_dim, number;

  void add(const Tensor& tensor) {
    DType dtype = tensor.dtype();
    auto& place = tensor.dim() > 0                    ? dimensioned
                  : tensor.body().is_wrapped_number() ? number
                                                      : zero_dim;
    if (tensor.body().is_wrapped_number()) {
      if (is_complex(dtype))
        dtype = to_complex(get_default_dtype());
      else if (is_floating_point(dtype))
        dtype = get_default_dtype();
    }
    place = place ? promote_types(*place, dtype) : dtype;
  }
};

// A lower kind of operand only counts where it has a higher kind of number.
std::optional<DType> combined(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_floating_point(*higher)) return is_complex(*lower) ? to_complex(*higher) : *higher;
  if (*higher == bool_ || is_floating_point(*lower) || is_complex(*lower))
    return promote_types(*higher, *lower);
  return higher;
}

DType promoted(const Wishes& wishes) {
  return *combined(wishes.dimensioned, combined(wishes.zero_dim, wishes.number));
}

std::string_view name_of(UnaryFunction function) {
  return op::unary_infos[static_cast<std::size_t>(function)][0].name();
}
std::string_view name_of(BinaryFunction function) {
  return op::binary_infos[static_cast<std::size_t>(function)][0].name();
}

// The dtype a function is calculated in.
DType calculated_in(UnaryFunction function, DType dtype) {
  if (function == UnaryFunction::neg && dtype == bool_) {
    throw NotImplementedError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
        "invert "
        "a mask, use the `~` or `logical_not()` operator instead.");
  }
  if (makes_floating(function) && (is_integral(dtype) || dtype == bool_))
    dtype = get_default_dtype();
  if (traits_of(function).result == FunctionResult::number && dtype == bool_) dtype = int64;
  if (!has_unary(function, dtype)) not_implemented(name_of(function), dtype);
  return dtype;
}
DType calculated_in(BinaryFunction function, const Tensor& self, const Tensor& other) {
  DType dtype = result_type(self, other);
  if (function == BinaryFunction::sub && (self.dtype() == bool_ || other.dtype() == bool_)) {
    throw NotImplementedError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead.");
  }
  if (function == BinaryFunction::pow && is_integral(dtype) && other.body().is_wrapped_number() &&
      other.item().to<std::int64_t>() < 0) {
    throw ValueError("Integers to negative integer powers are not allowed.");
  }
  if (makes_floating(function) && (is_integral(dtype) || dtype == bool_))
    dtype = get_default_dtype();
  if (!has_binary(function, dtype)) not_implemented(name_of(function), dtype);
  return dtype;
}

// An operand as the kernel is given it: of the common dtype, or of its own where that makes no
// difference.
//
// Note [Numbers among 16-bit floats]
// PyTorch calculates with 16-bit floats in float, and multiplies and divides by a single number as
// a float, not rounded to 16 bits first.
TypedOperand operand_of(const Tensor& tensor, DType dtype, bool as_float, Tensor& converted) {
  DType wanted = dtype;
  if (as_float && tensor.numel() == 1 && compute_dtype(dtype) != dtype)
    wanted = compute_dtype(dtype);
  converted = tensor.to(wanted);
  return {operand(converted), wanted};
}

bool divides(BinaryFunction function) {
  return function == BinaryFunction::floor_divide || function == BinaryFunction::trunc_divide ||
         function == BinaryFunction::remainder || function == BinaryFunction::fmod;
}

// Looked for before anything is written: an error changes nothing.
void check_no_zero(BinaryFunction function, const Tensor& divisor) {
  if (divisor.numel() == 0 || all(divisor).item<bool>()) return;
  throw ValueError(
      concat("ZeroDivisionError: ", name_of(function), " of whole numbers by zero has no result"));
}

}  // namespace

DType promoted_dtype(std::initializer_list<const Tensor*> tensors) {
  Wishes wishes;
  for (const Tensor* tensor : tensors) wishes.add(*tensor);
  return promoted(wishes);
}

Device promoted_device(std::string_view op, std::initializer_list<const Tensor*> tensors) {
  const Tensor* decides = *tensors.begin();
  for (const Tensor* tensor : tensors) {
    if (decides->is_cpu() && decides->dim() == 0) decides = tensor;
  }
  for (const Tensor* tensor : tensors) {
    if (tensor->device() == decides->device() || (tensor->is_cpu() && tensor->dim() == 0)) continue;
    const Tensor both[] = {*decides, *tensor};
    same_device(op, both);
  }
  return decides->device();
}

void check_destination(std::string_view op, const Tensor& out, DType result, Device device) {
  if (out.device() != device) {
    throw DeviceError(concat(op, ": the result is on ", device.str(),
                             ", and cannot be written into a tensor on ", out.device().str(),
                             ": move one with to(device)"));
  }
  if (!can_cast(result, out.dtype())) {
    throw DTypeError(concat("result type ", info(result).scalar_name,
                            " can't be cast to the desired output type ",
                            info(out.dtype()).scalar_name, ": ", op, " would lose what ",
                            repr(out.dtype()), " cannot hold"));
  }
  check_convertible(result, out.dtype());
  check_written_once(out.layout());
}

void check_result_shape(const Tensor& out, const Shape& shape) {
  if (out.shape() == shape) return;
  throw ShapeError(concat("output with shape ", bracketed(out.shape()),
                          " doesn't match the broadcast shape ", bracketed(shape)));
}

void check_becomes(const Scalar& value, DType dtype) {
  visit(dtype, [&]<class T>() { static_cast<void>(value.to<T>()); });
}
void check_value_dtypes(const Tensor& value, DType dtype) {
  if (is_opaque(value.dtype())) no_item(value.dtype());
  if (is_opaque(dtype)) check_becomes(0, dtype);
}
void check_value_fits(const Scalar& value, DType dtype) {
  check_becomes(value, dtype);
  // fill_ makes infinities of what is too large for these.
  if (dtype != float16 && dtype != bfloat16) return;
  const double largest = dtype == float16 ? 65504 : 0x1.fep127;
  if (const auto number = value.to<double>(); std::isfinite(number) && std::abs(number) > largest) {
    throw ValueError(concat("value cannot be converted to type ", info(dtype).name,
                            " without overflow: ", value.repr(), " is beyond ", largest));
  }
}
void check_number_fits(const Tensor& number, DType dtype) {
  if (number.body().is_wrapped_number()) check_value_fits(number.item(), dtype);
}

Tensor apart(const Tensor& out, const Tensor& argument) {
  return shares_memory_partly(out, argument) ? argument.clone() : argument;
}

Dims broadcast_strides(const Layout& layout, const Shape& shape) {
  Dims strides = Dims::filled(shape.size(), 0);
  const std::size_t missing = shape.size() - layout.shape.size();
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] != 1 || shape[missing + d] == 1) strides[missing + d] = layout.strides[d];
  }
  return strides;
}

// Note [The order of a result]
// A result lies in memory as its operands do, where they agree: dimensions are sorted by the
// strides of the first operand, and where those say nothing (a broadcast) by those of the next.
// This is what PyTorch does, step by step, because which dimension is fastest can be seen.
Layout result_layout(const Shape& shape, DType dtype, Device device,
                     std::span<const Layout* const> operands) {
  const bool same_shape = std::all_of(operands.begin(), operands.end(), [&](const Layout* operand) {
    return operand->shape == shape;
  });
  if (same_shape) {
    const auto all = [&](auto&& holds) {
      return std::all_of(operands.begin(), operands.end(),
                         [&](const Layout* operand) { return holds(*operand); });
    };
    if (all([](const Layout& o) { return o.is_contiguous(); }))
      return Layout::packed(shape, dtype, device);
    const Dims& first = operands[0]->strides;
    if (all([&](const Layout& o) {
          return o.strides == first && o.is_non_overlapping_and_dense();
        })) {
      Layout layout = Layout::packed(shape, dtype, device);
      layout.strides = first;
      return layout;
    }
  }
  const std::size_t ndim = shape.size();
  std::vector<Dims> strides;
  for (const Layout* operand : operands) {
    Dims of_operand = broadcast_strides(*operand, shape);
    for (std::int64_t& stride : of_operand) stride *= operand->itemsize();
    strides.push_back(std::move(of_operand));
  }
  // 1: a is slower than b; -1: faster; 0: nothing says so.
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const Dims& of_operand : strides) {
      if (of_operand[a] == 0 || of_operand[b] == 0) continue;
      if (of_operand[a] != of_operand[b]) return of_operand[a] < of_operand[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  std::vector<std::size_t> order(ndim);  // fastest first
  for (std::size_t i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
  for (std::size_t i = 1; i < ndim; ++i) {
    std::size_t at = i;
    for (std::size_t before = i; before-- > 0;) {
      const int comparison = compare(order[before], order[at]);
      if (comparison > 0) {
        std::swap(order[before], order[at]);
        at = before;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Layout layout = Layout::packed(shape, dtype, device);
  if (std::is_sorted(order.rbegin(), order.rend())) return layout;
  std::int64_t stride = 1;
  for (const std::size_t d : order) {
    layout.strides[d] = stride;
    stride *= shape[d];
  }
  return layout;
}

DType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && a.dim() > 0 && b.dim() > 0) return a.dtype();
  return promoted_dtype({&a, &b});
}
DType result_type(const Tensor& a, const Scalar& b) { return result_type(a, wrapped_number(b)); }

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating_point(from) && !is_floating_point(to) && !is_complex(to)) return false;
  return to != bool_ || from == bool_;
}

Tensor wrapped_number(const Scalar& value) {
  const bool complex = value.kind() == Scalar::Kind::complex;
  const DType dtype = value.kind() == Scalar::Kind::real ? float64
                      : complex                          ? complex128
                                                         : value.dtype();
  Tensor number = allocate_tensor(Layout::packed({}, dtype, Device::cpu()));
  visit(dtype, [&]<class T>() {
    if constexpr (std::same_as<T, bool> || std::same_as<T, std::int64_t> ||
                  std::same_as<T, std::uint64_t> || std::same_as<T, double> ||
                  std::same_as<T, std::complex<double>>) {
      *static_cast<T*>(number.data_ptr()) = value.to<T>();
    }
  });
  BodyEditor::set_wrapped_number(number.body());
  return number;
}

void check_no_history(const Tensor& out, const Tensor& argument) {
  if (is_grad_enabled() && (argument.requires_grad() || out.requires_grad())) {
    throw AutogradError(
        "functions with an out argument don't support automatic differentiation, but one of the "
        "arguments requires grad: use the form without out, or a NoGradScope");
  }
}

Shape binary_shape(const Tensor& self, const Tensor& other) {
  if (self.shape() == other.shape()) return self.shape();
  return broadcast_shapes(self.shape(), other.shape());
}

void fit_out(const Tensor& out, const Layout& result) {
  if (out.shape() == result.shape || out.numel() != 0 || out.body().is_wrapper()) return;
  if (out.is_view()) {
    throw ShapeError(concat("out has no elements and is a view, so that it cannot take the shape ",
                            bracketed(result.shape), " of the result: pass a tensor of its own"));
  }
  const Tensor own = out;  // see Note [Arguments of one's own]
  own.set_data(
      empty_strided(result.shape, result.strides, {.dtype = own.dtype(), .device = own.device()}));
}

Layout infer_unary(UnaryFunction function, const Tensor& self) {
  const DType result = result_of(function, calculated_in(function, self.dtype()));
  if (function == UnaryFunction::angle && self.is_complex())
    return Layout::packed(self.shape(), result, self.device());
  const Layout* operands[] = {&self.layout()};
  return result_layout(self.shape(), result, self.device(), operands);
}

Layout infer_binary(BinaryFunction function, const Tensor& self, const Tensor& other) {
  const DType result = result_of(function, calculated_in(function, self, other));
  const Layout* operands[] = {&self.layout(), &other.layout()};
  const Device device = promoted_device(name_of(function), {&self, &other});
  return result_layout(binary_shape(self, other), result, device, operands);
}

void check_unary(UnaryFunction function, const Tensor& out, const Tensor& self) {
  const DType result = result_of(function, calculated_in(function, self.dtype()));
  check_result_shape(out, self.shape());
  check_destination(name_of(function), out, result, self.device());
}

void check_binary(BinaryFunction function, const Tensor& out, const Tensor& self,
                  const Tensor& other) {
  const DType result = result_of(function, calculated_in(function, self, other));
  const Device device = promoted_device(name_of(function), {&self, &other});
  check_result_shape(out, binary_shape(self, other));
  // In place, a tensor without dimensions stays where it is.
  check_destination(name_of(function), out, result, device);
}

void prepare_unary_out(UnaryFunction function, const Tensor& out, const Tensor& self) {
  if (out.shape() == self.shape() || out.body().is_wrapper() || self.body().is_wrapper()) return;
  const Layout result = infer_unary(function, self);
  check_destination(name_of(function), out, result.dtype, result.device);
  fit_out(out, result);
}

void prepare_binary_out(BinaryFunction function, const Tensor& out, const Tensor& self,
                        const Tensor& other) {
  if (out.numel() != 0 || out.body().is_wrapper() || self.body().is_wrapper() ||
      other.body().is_wrapper()) {
    return;
  }
  const Layout result = infer_binary(function, self, other);
  check_destination(name_of(function), out, result.dtype, result.device);
  fit_out(out, result);
}

void run_unary(UnaryFunction function, const Tensor& out, const Tensor& self) {
  if (out.numel() == 0) return;
  const DType dtype = calculated_in(function, self.dtype());
  const DType result = result_of(function, dtype);
  if (out.dtype() != result && compute_dtype(result) != result) {  // rounded first, then converted
    const Tensor rounded = allocate_tensor(infer_unary(function, self));
    run_unary(function, rounded, self);
    return copy_tensor(out, rounded);
  }
  const Tensor x = apart(out, self);
  Tensor converted;
  const TypedOperand from = operand_of(x, dtype, false, converted);
  apply(function, dtype, out.shape(), {operand(out), out.dtype()}, from);
}

void run_binary(BinaryFunction function, const Tensor& out, const Tensor& self,
                const Tensor& other) {
  if (out.numel() == 0) return;
  const DType dtype = calculated_in(function, self, other);
  const DType result = result_of(function, dtype);
  if (out.dtype() != result && compute_dtype(result) != result) {
    const Tensor rounded = allocate_tensor(infer_binary(function, self, other));
    run_binary(function, rounded, self, other);
    return copy_tensor(out, rounded);
  }
  if (function == BinaryFunction::pow) check_number_fits(other, dtype);
  if (is_integral(dtype) && divides(function)) check_no_zero(function, other);
  // The usual case, without the steps that only others need.
  const Layout &to = out.layout(), &from = self.layout(), &with = other.layout();
  const auto fits = [&](const Layout& layout) {
    return layout.dtype == dtype && layout.shape == to.shape && layout.is_contiguous();
  };
  if (dtype == compute_dtype(dtype) && to.dtype == result && to.is_contiguous() && fits(from) &&
      fits(with) && !shares_memory_partly(out, self) && !shares_memory_partly(out, other)) {
    return apply_packed(function, dtype, to.numel(), out.data_ptr(), self.data_ptr(),
                        other.data_ptr());
  }
  const bool times = function == BinaryFunction::mul;
  if (function == BinaryFunction::pow && other.body().is_wrapped_number() && !is_integral(dtype) &&
      dtype != float16) {
    // As PyTorch: the roots of negative infinity are NaN, which pow does not say.
    const auto exponent = other.item().to<std::complex<double>>();
    if (exponent == 0.5) return run_unary(UnaryFunction::sqrt, out, self.to(dtype));
    if (exponent == -0.5) return run_unary(UnaryFunction::rsqrt, out, self.to(dtype));
    if (is_complex(dtype) && exponent == 1.0) return copy_tensor(out, self.to(dtype));
    if (is_complex(dtype) && exponent == 0.0) {
      out.fill_(1);
      return;
    }
  }
  const Tensor x = apart(out, self), y = apart(out, other);
  Tensor x_converted, y_converted;
  TypedOperand a = operand_of(x, dtype, times, x_converted);
  TypedOperand b = operand_of(y, dtype, times || function == BinaryFunction::div, y_converted);
  const Dims a_strides = broadcast_strides(x_converted.layout(), out.shape());
  const Dims b_strides = broadcast_strides(y_converted.layout(), out.shape());
  a.place.strides = a_strides;
  b.place.strides = b_strides;
  apply(function, dtype, out.shape(), {operand(out), out.dtype()}, a, b);
}

Tensor div(const Tensor& self, const Tensor& other, DivOptions options) {
  if (options.rounding_mode.empty()) return div(self, other);
  if (options.rounding_mode == "floor") return floor_divide(self, other);
  if (options.rounding_mode == "trunc") return trunc_divide(self, other);
  throw ValueError(
      concat("div expected rounding_mode to be one of \"\", \"trunc\", or \"floor\" but "
             "found '",
             options.rounding_mode, "'"));
}

Tensor round(const Tensor& self, RoundOptions options) {
  if (options.decimals == 0) return round(self);
  if (!self.is_floating_point()) not_implemented("round", self.dtype());
  const double power = std::pow(10.0, std::abs(static_cast<double>(options.decimals)));
  const DType dtype = self.dtype();  // what follows may be user code, which changes it
  const Tensor x = self.to(compute_dtype(dtype));
  const Tensor rounded = options.decimals > 0 ? round(x * power) / power : round(x / power) * power;
  return rounded.to(dtype);
}

}  // namespace tenon
