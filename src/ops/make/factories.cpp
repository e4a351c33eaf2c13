// Tensors from sizes.
#include "tenon/ops/factories.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/element_cast.h"
#include "base/mapping.h"
#include "base/text.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/device_table.h"
#include "core/mapped_storage.h"
#include "kernels/sequence.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::empty_like::info{"empty_like", kind};
constinit OpInfo op::full_like::info{"full_like", kind};

namespace {

Device device_or_default(std::optional<Device> device) {
  return usable_device(device ? *device : get_default_device());
}

Tensor with_grad(Tensor tensor, bool requires_grad) {
  if (requires_grad) tensor.requires_grad_();
  return tensor;
}

// With the memory of a device, whose backend may destroy the options of the caller.
Tensor allocated(Layout layout, bool requires_grad) {
  return with_grad(allocate_tensor(std::move(layout)), requires_grad);
}

// Fills a new tensor. Its version stays 0: nobody has seen it without the value.
Tensor filled(Tensor fresh, Scalar value) {
  (fresh.body().is_wrapper() ? fresh : fresh.variable_data()).fill_(value);
  return fresh;
}

// What was filled on the CPU, on the device it was asked for. Meta takes no data.
Tensor placed(const Tensor& here, Device device, bool requires_grad) {
  return with_grad(device.is_cpu() ? here : here.to(device), requires_grad);
}

// A packed tensor for something that is calculated on the CPU first. On meta nothing is calculated,
// and nothing allocated.
Tensor staging(const Shape& size, DType dtype, Device device) {
  return allocate_tensor(Layout::packed(size, dtype, device.is_meta() ? device : Device::cpu()));
}

std::int64_t arange_size(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const auto refuse_sign = [&] {
    throw ValueError(concat("upper bound and lower bound inconsistent with step sign: arange(",
                            start.repr(), ", ", end.repr(), ", ", step.repr(), ")"));
  };
  const bool whole = start.kind() <= Scalar::Kind::integer && end.kind() <= Scalar::Kind::integer &&
                     step.kind() <= Scalar::Kind::integer;
  if (dtype == int64 && whole) {
    const auto a = start.to<std::int64_t>(), b = end.to<std::int64_t>(),
               by = step.to<std::int64_t>();
    if (by == 0) throw ValueError("arange: step must be nonzero");
    if (by > 0 ? b < a : b > a) refuse_sign();
    // The distance can be almost 2^64, and is counted without sign.
    const std::uint64_t distance =
        by > 0 ? static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a)
               : static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
    const std::uint64_t stride =
        by > 0 ? static_cast<std::uint64_t>(by) : 0 - static_cast<std::uint64_t>(by);
    const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw ShapeError(concat("arange: ", count, " elements are more than can be counted"));
    }
    return static_cast<std::int64_t>(count);
  }
  const auto a = start.to<double>(), b = end.to<double>(), by = step.to<double>();
  if (by == 0) throw ValueError("arange: step must be nonzero");
  if (!std::isfinite(a) || !std::isfinite(b))
    throw ValueError(concat("unsupported range: ", start.repr(), " -> ", end.repr()));
  if (std::isnan(by)) throw ValueError("arange: step is nan");
  if (by > 0 ? b < a : b > a) refuse_sign();
  const double count = std::ceil((b - a) / by);
  if (!(count < 0x1p63))
    throw ShapeError(concat("arange: ", count, " elements are more than can be counted"));
  return static_cast<std::int64_t>(count);
}

template <class F>
void with_sequence_type(DType dtype, const char* op, F&& f) {
  visit(dtype, [&]<class T>() {
    constexpr bool counts = (std::integral<T> && !std::same_as<T, bool>) ||
                            std::floating_point<T> || std::same_as<T, Half> ||
                            std::same_as<T, BFloat16>;
    if constexpr (counts || (is_std_complex<T> && std::invocable<F, T*>)) {
      f(static_cast<T*>(nullptr));
    } else {
      throw DTypeError(concat("\"", op, "\" not implemented for '", info(dtype).scalar_name, "'"));
    }
  });
}

}  // namespace

Tensor empty(const Shape& size, const EmptyOptions& options) {
  const Device device = device_or_default(options.device);
  // preserve has nothing to preserve here, and means the usual order.
  const MemoryFormat format = options.memory_format == MemoryFormat::preserve
                                  ? MemoryFormat::contiguous
                                  : options.memory_format;
  return allocated(
      Layout::packed(size, options.dtype.value_or(get_default_dtype()), device, format),
      options.requires_grad);
}

Tensor empty_strided(const Shape& size, const Dims& stride, const TensorOptions& options) {
  if (size.size() != stride.size()) {
    throw ShapeError(concat("dimensionality of sizes (", size.size(),
                            ") must match dimensionality of strides (", stride.size(), ")"));
  }
  Layout layout = Layout::packed(size, options.dtype.value_or(get_default_dtype()),
                                 device_or_default(options.device));
  for (const std::int64_t s : stride) {
    if (s < 0)
      throw ShapeError(concat("empty_strided: strides are not negative, got ", bracketed(stride)));
  }
  layout.strides = stride;
  return allocated(std::move(layout), options.requires_grad);
}

Tensor zeros(const Shape& size, const TensorOptions& options) {
  const Device device = device_or_default(options.device);
  Layout layout = Layout::packed(size, options.dtype.value_or(get_default_dtype()), device);
  // Nothing is written on meta, so that any dtype can be had there, as it can on the CPU.
  if (device.is_meta()) return allocated(std::move(layout), options.requires_grad);
  if (!device.is_cpu()) {
    const bool requires_grad = options.requires_grad;
    return with_grad(filled(allocate_tensor(std::move(layout)), 0), requires_grad);
  }
  auto storage = Storage::allocate_zeroed(static_cast<std::size_t>(required_bytes(layout)));
  return with_grad(Tensor(make_ref<Body>(std::move(layout), std::move(storage))),
                   options.requires_grad);
}

Tensor full(const Shape& size, const Scalar& fill_value, const TensorOptions& options) {
  const DType dtype = options.dtype ? *options.dtype : fill_value.dtype();
  // A device's backend may destroy what the caller's references name.
  const Scalar value = fill_value;
  const bool requires_grad = options.requires_grad;
  Tensor out = filled(empty(size, {.dtype = dtype, .device = options.device}), value);
  return with_grad(std::move(out), requires_grad);
}

Tensor ones(const Shape& size, const TensorOptions& options) {
  return full(size, 1,
              {.dtype = options.dtype.value_or(get_default_dtype()),
               .device = options.device,
               .requires_grad = options.requires_grad});
}

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value,
              {.dtype = options.dtype.value_or(get_default_dtype()),
               .device = options.device,
               .requires_grad = options.requires_grad});
}

Tensor eye(std::int64_t n, const TensorOptions& options) { return eye(n, n, options); }

Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options) {
  if (n < 0) throw ValueError(concat("n must be greater or equal to 0, got ", n));
  if (m < 0) throw ValueError(concat("m must be greater or equal to 0, got ", m));
  const bool requires_grad = options.requires_grad;
  Tensor out = zeros({n, m}, {.dtype = options.dtype, .device = options.device});
  out.variable_data().diagonal().fill_(1);
  return with_grad(std::move(out), requires_grad);
}

Tensor arange(const Scalar& end, const TensorOptions& options) {
  return arange(0, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options) {
  const bool whole = start.kind() <= Scalar::Kind::unsigned_integer &&
                     end.kind() <= Scalar::Kind::unsigned_integer &&
                     step.kind() <= Scalar::Kind::unsigned_integer;
  const DType dtype = options.dtype.value_or(whole ? int64 : get_default_dtype());
  const Device device = device_or_default(options.device);
  Tensor out;
  with_sequence_type(dtype, "arange",
                     [&]<class T>(T*)
                       requires(!is_std_complex<T>)
                     {
                       const std::int64_t n = arange_size(start, end, step, dtype);
                       out = staging({n}, dtype, device);
                       if (out.is_meta() || n == 0) return;
                       if (dtype == int64 && whole) {
                         fill_arange(out.data<std::int64_t>(), n, start.to<std::int64_t>(),
                                     step.to<std::int64_t>());
                       } else {
                         fill_arange(out.data<T>(), n, start.to<double>(), step.to<double>());
                       }
                     });
  return placed(out, device, options.requires_grad);
}

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps,
                const TensorOptions& options) {
  if (steps < 0) throw ValueError(concat("number of steps must be non-negative, got ", steps));
  const bool complex = start.kind() == Scalar::Kind::complex || end.kind() == Scalar::Kind::complex;
  const DType dtype =
      options.dtype.value_or(complex ? to_complex(get_default_dtype()) : get_default_dtype());
  if (complex && !is_complex(dtype)) {
    throw DTypeError(concat("linspace: from ", start.repr(), " to ", end.repr(),
                            " needs a complex dtype, not ", repr(dtype)));
  }
  const Device device = device_or_default(options.device);
  Tensor out;
  with_sequence_type(dtype, "linspace", [&]<class T>(T*) {
    out = staging({steps}, dtype, device);
    if (out.is_meta() || steps == 0) return;
    fill_linspace(out.data<T>(), steps, start.to<std::complex<double>>(),
                  end.to<std::complex<double>>());
  });
  return placed(out, device, options.requires_grad);
}

// Like another.

template <>
struct Rule<op::empty_like> {
  static constexpr std::string_view gradient = no_gradient;
  static constexpr bool math_bits = true;
  static Layout infer(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      MemoryFormat format) {
    Layout like = self.layout();
    like.dtype = dtype.value_or(like.dtype);
    like.device = device ? usable_device(*device) : like.device;
    return Layout::packed_like(like, format);
  }
  static void run(Tensor& /*out*/, const Tensor& /*self*/, std::optional<DType> /*dtype*/,
                  std::optional<Device> /*device*/, MemoryFormat /*format*/) {}
};

template <>
struct Rule<op::full_like> {
  static Tensor compose(const Tensor& self, const Scalar& fill_value, std::optional<DType> dtype,
                        std::optional<Device> device, MemoryFormat format) {
    const NoGradScope unrecorded;
    const LikeOptions options{.dtype = dtype, .device = device, .memory_format = format};
    return filled(empty_like(self, options), fill_value);
  }
};

Tensor empty_like(const Tensor& self, const LikeOptions& options) {
  const bool requires_grad = options.requires_grad;  // user code may destroy the options
  return with_grad(call<op::empty_like>(self, options.dtype, options.device, options.memory_format),
                   requires_grad);
}

Tensor full_like(const Tensor& self, const Scalar& fill_value, const LikeOptions& options) {
  const bool requires_grad = options.requires_grad;
  return with_grad(
      call<op::full_like>(self, fill_value, options.dtype, options.device, options.memory_format),
      requires_grad);
}

Tensor zeros_like(const Tensor& self, const LikeOptions& options) {
  return full_like(self, 0, options);
}
Tensor ones_like(const Tensor& self, const LikeOptions& options) {
  return full_like(self, 1, options);
}

// Over memory that is there.

Tensor from_blob(void* data, const Shape& size, const FromBlobOptions& options) {
  Layout layout = Layout::packed(size, options.dtype.value_or(get_default_dtype()), Device::cpu());
  if (options.strides) {
    if (options.strides->size() != size.size()) {
      throw ShapeError(concat("from_blob: ", size.size(), " sizes ", bracketed(size), " and ",
                              options.strides->size(), " strides ", bracketed(*options.strides)));
    }
    for (const std::int64_t s : *options.strides) {
      if (s < 0)
        throw ShapeError(
            concat("from_blob: strides are not negative, got ", bracketed(*options.strides)));
    }
    layout.strides = *options.strides;
  }
  const auto needed = static_cast<std::size_t>(required_bytes(layout));
  if (data == nullptr && needed != 0) {
    throw ValueError(concat("from_blob: sizes ", bracketed(size), " need ", needed,
                            " bytes, and the pointer is null"));
  }
  if (options.nbytes != 0 && options.nbytes < needed) {
    throw ShapeError(concat("from_blob: sizes ", bracketed(size), " with strides ",
                            bracketed(layout.strides), " reach ", needed, " bytes, and there are ",
                            options.nbytes));
  }
  auto storage =
      Storage::borrow(data, options.nbytes != 0 ? options.nbytes : needed, options.deleter);
  return Tensor(make_ref<Body>(std::move(layout), std::move(storage)));
}

Tensor from_file(const std::string& filename, std::int64_t size, const FromFileOptions& options) {
  Layout layout =
      Layout::packed({size}, options.dtype.value_or(get_default_dtype()), Device::cpu());
  const auto needed = static_cast<std::size_t>(required_bytes(layout));
  auto mapping =
      Mapping::open(filename, options.shared ? Mapping::Mode::shared : Mapping::Mode::private_copy);
  if (mapping->size() < needed) {
    throw ValueError(concat(filename, ": has ", mapping->size(), " bytes, and ", size,
                            " elements of ", repr(layout.dtype), " are ", needed));
  }
  return Tensor(make_ref<Body>(std::move(layout), mapped_storage(std::move(mapping), 0, needed)));
}

}  // namespace tenon
