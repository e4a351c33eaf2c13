// Random numbers.
#include "tenon/ops/random.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/warn.h"
#include "core/alias.h"
#include "core/device_table.h"
#include "core/element_copy.h"
#include "core/generator_state.h"
#include "kernels/random.h"
#include "ops/elementwise/operands.h"
#include "ops/make/whole_range.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::uniform_::info{"uniform_", kind};
constinit OpInfo op::normal_::info{"normal_", kind};
constinit OpInfo op::exponential_::info{"exponential_", kind};
constinit OpInfo op::cauchy_::info{"cauchy_", kind};
constinit OpInfo op::log_normal_::info{"log_normal_", kind};
constinit OpInfo op::geometric_::info{"geometric_", kind};
constinit OpInfo op::bernoulli_::info{"bernoulli_", kind};
constinit OpInfo op::bernoulli_tensor_::info{"bernoulli_", kind};
constinit OpInfo op::bernoulli::info{"bernoulli", kind};
constinit OpInfo op::random_::info{"random_", kind};
constinit OpInfo op::random_from_::info{"random_", kind};
constinit OpInfo op::random_to_::info{"random_", kind};

namespace {

void check_written(const OpInfo& info, const Tensor& self, bool dtype_fits) {
  if (!dtype_fits) not_implemented(info.name(), self.dtype());
  check_written_once(self.layout());
}

void check_floating(const OpInfo& info, const Tensor& self) {
  check_written(info, self, is_usual_float(self.dtype()));
}
void check_floating_or_complex(const OpInfo& info, const Tensor& self) {
  check_written(info, self, is_usual_float(to_real(self.dtype())));
}
// What PyTorch fills with whole numbers: not uint16, uint32 and uint64, unless bounds are given.
void check_real(const OpInfo& info, const Tensor& self, bool unsigned_too = false) {
  const DType dtype = self.dtype();
  const bool wide_unsigned = dtype == uint16 || dtype == uint32 || dtype == uint64;
  check_written(info, self,
                is_usual_float(dtype) || dtype == bool_ ||
                    (is_integral(dtype) && (unsigned_too || !wide_unsigned)));
}

void check_probabilities(const Tensor& p) {
  if (is_usual_float(p.dtype())) return;
  throw NotImplementedError(
      concat("bernoulli_: probabilities are floating-point numbers, not ", repr(p.dtype())));
}

// Complex numbers are filled as the pairs of real ones they lie in memory as.
Tensor as_real(const Tensor& self) { return self.is_complex() ? view_as_real(self) : self; }

// Calls fill with the source of the generator, which nobody else draws from meanwhile.
template <class F>
void with_source(const Generator& generator, F&& fill) {
  detail::GeneratorState& state = *generator.state();
  const std::lock_guard lock(state.mutex);
  fill(state.source);
}

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::max();
    case DType::float32: return std::numeric_limits<float>::max();
    case DType::float16: return 65504;
    default: return 0x1.fep127;  // bfloat16
  }
}

}  // namespace

template <>
struct Rule<op::uniform_> {
  static constexpr std::string_view gradient = "UniformBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double from, double to, const Generator& /*generator*/) {
    check_floating_or_complex(op::uniform_::info, self);
    const DType dtype = to_real(self.dtype());
    const double most = largest_of(dtype);
    for (const auto& [name, bound] : {std::pair("from", from), std::pair("to", to)}) {
      if (bound >= -most && bound <= most) continue;
      throw ValueError(concat("uniform_: ", name, " = ", bound, " is out of bounds for ",
                              repr(dtype), ", which holds -", most, " to ", most));
    }
    if (from > to) {
      throw ValueError(concat(
          "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to));
    }
    if (to - from > most) {
      throw ValueError(concat("uniform_ expects to-from <= the largest ", repr(dtype), " ", most,
                              ", but found to=", to, " and from=", from,
                              " which result in to-from to exceed the limit"));
    }
  }
  static void cpu(const Tensor& self, double from, double to, const Generator& generator) {
    const Tensor real = as_real(self);
    with_source(generator, [&](RandomSource& source) {
      fill_uniform(real.shape(), operand(real), real.dtype(), from, to, source);
    });
  }
};

template <>
struct Rule<op::normal_> {
  static constexpr std::string_view gradient = "NormalBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double /*mean*/, double std,
                    const Generator& /*generator*/) {
    check_floating_or_complex(op::normal_::info, self);
    if (!(std >= 0)) throw ValueError(concat("normal expects std >= 0.0, but found std ", std));
  }
  static void cpu(const Tensor& self, double mean, double std, const Generator& generator) {
    const Tensor real = as_real(self);
    // Both parts together have the standard deviation that was asked for.
    const double of_part = self.is_complex() ? std / std::numbers::sqrt2 : std;
    with_source(generator, [&](RandomSource& source) {
      fill_normal(real.shape(), operand(real), real.dtype(), real.is_contiguous(), mean, of_part,
                  source);
    });
  }
};

template <>
struct Rule<op::exponential_> {
  static constexpr std::string_view gradient = "ExponentialBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double lambd, const Generator& /*generator*/) {
    check_floating(op::exponential_::info, self);
    if (!(lambd > 0))
      throw ValueError(concat("exponential_ expects lambda > 0.0, but found lambda=", lambd));
  }
  static void cpu(const Tensor& self, double lambd, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_exponential(self.shape(), operand(self), self.dtype(), lambd, source);
    });
  }
};

template <>
struct Rule<op::cauchy_> {
  static constexpr std::string_view gradient = "CauchyBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double /*median*/, double sigma,
                    const Generator& /*generator*/) {
    check_floating(op::cauchy_::info, self);
    if (!(sigma > 0))
      throw ValueError(concat("cauchy_ expects sigma > 0.0, but found sigma=", sigma));
  }
  static void cpu(const Tensor& self, double median, double sigma, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_cauchy(self.shape(), operand(self), self.dtype(), median, sigma, source);
    });
  }
};

template <>
struct Rule<op::log_normal_> {
  static constexpr std::string_view gradient = "LogNormalBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double /*mean*/, double std,
                    const Generator& /*generator*/) {
    check_floating(op::log_normal_::info, self);
    if (!(std > 0)) throw ValueError(concat("log_normal_ expects std > 0.0, but found std=", std));
  }
  static void cpu(const Tensor& self, double mean, double std, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_log_normal(self.shape(), operand(self), self.dtype(), mean, std, source);
    });
  }
};

template <>
struct Rule<op::geometric_> {
  static constexpr std::string_view gradient = "GeometricBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double p, const Generator& /*generator*/) {
    check_real(op::geometric_::info, self);
    if (self.dtype() == bool_) check_written(op::geometric_::info, self, false);
    if (!(p > 0 && p < 1))
      throw ValueError(concat("geometric_ expects p to be in (0, 1), but got p=", p));
  }
  static void cpu(const Tensor& self, double p, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_geometric(self.shape(), operand(self), self.dtype(), p, source);
    });
  }
};

template <>
struct Rule<op::bernoulli_> {
  static constexpr std::string_view gradient = "BernoulliBackward2";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, double p, const Generator& /*generator*/) {
    check_real(op::bernoulli_::info, self);
    if (!(p >= 0 && p <= 1))
      throw ValueError(concat("bernoulli_ expects p to be in [0, 1], but got p=", p));
  }
  static void cpu(const Tensor& self, double p, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_bernoulli(self.shape(), operand(self), self.dtype(), p, source);
    });
  }
};

template <>
struct Rule<op::bernoulli_tensor_> {
  static constexpr std::string_view gradient = "BernoulliBackward1";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, const Tensor& p, const Generator& /*generator*/) {
    check_real(op::bernoulli_tensor_::info, self);
    check_probabilities(p);
    const Tensor both[] = {self, p};
    same_device("bernoulli_", both);
    if (broadcast_shapes(self.shape(), p.shape()) != self.shape()) {
      throw ShapeError(concat("bernoulli_: probabilities of shape ", bracketed(p.shape()),
                              " do not broadcast to the shape ", bracketed(self.shape())));
    }
  }
  static void cpu(const Tensor& self, const Tensor& p, const Generator& generator) {
    // Before anything is drawn or written.
    if (p.numel() != 0 && !all((p >= 0) & (p <= 1)).item<bool>()) {
      throw ValueError(concat("bernoulli_ expects every p to be in [0, 1], but they are between ",
                              amin(p).item<double>(), " and ", amax(p).item<double>()));
    }
    const Tensor own = may_share_memory(self, p) ? p.clone() : p;
    const Tensor each = own.expand(self.shape());
    with_source(generator, [&](RandomSource& source) {
      fill_bernoulli(self.shape(), operand(self), self.dtype(), operand(each), each.dtype(),
                     source);
    });
  }
};

template <>
struct Rule<op::bernoulli> {
  static constexpr std::string_view gradient = "BernoulliBackward0";
  static constexpr bool overwrites = true;
  static Layout infer(const Tensor& p, const Generator& /*generator*/) {
    check_probabilities(p);
    return Layout::packed_like(p.layout());
  }
  static void cpu(Tensor& out, const Tensor& p, const Generator& generator) {
    Rule<op::bernoulli_tensor_>::cpu(out, p, generator);
  }
};

template <>
struct Rule<op::random_> {
  static constexpr std::string_view gradient = "RandomBackward2";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, const Generator& /*generator*/) {
    check_real(op::random_::info, self);
  }
  static void cpu(const Tensor& self, const Generator& generator) {
    with_source(generator, [&](RandomSource& source) {
      fill_random(self.shape(), operand(self), self.dtype(), source);
    });
  }
};

template <>
struct Rule<op::random_from_> {
  static constexpr std::string_view gradient = "RandomBackward0";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                    const Generator& /*generator*/) {
    check_real(op::random_from_::info, self, true);
    whole_range(self.dtype(), from, to);
  }
  static void cpu(const Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                  const Generator& generator) {
    const WholeRange numbers = whole_range(self.dtype(), from, to);
    with_source(generator, [&](RandomSource& source) {
      fill_random(self.shape(), operand(self), self.dtype(), numbers.range, numbers.base, source);
    });
  }
};

template <>
struct Rule<op::random_to_> {
  static constexpr std::string_view gradient = "RandomBackward1";
  static constexpr bool overwrites = true;
  static void check(const Tensor& self, std::int64_t to, const Generator& generator) {
    Rule<op::random_from_>::check(self, 0, to, generator);
  }
  static void cpu(const Tensor& self, std::int64_t to, const Generator& generator) {
    Rule<op::random_from_>::cpu(self, 0, to, generator);
  }
};

namespace {

// Draws whole numbers, after the warnings that there are.
template <class O, class... A>
void draw_whole(const Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                const Generator& generator, A... bounds) {
  std::vector<std::string> warnings;
  if (self.defined() && is_usual_float(self.dtype()))
    warnings = whole_range(self.dtype(), from, to).warnings;
  if (warnings.empty()) [[likely]] {
    call<O>(self, bounds..., generator);
    return;
  }
  // See Note [Arguments of one's own].
  const Tensor own = self;
  const Generator own_generator = generator;
  for (const std::string& warning : warnings) warn(warning);
  call<O>(own, bounds..., own_generator);
}

}  // namespace

const Tensor& Tensor::uniform_(double from, double to, const Generator& generator) const {
  call<op::uniform_>(*this, from, to, generator);
  return *this;
}
const Tensor& Tensor::normal_(double mean, double std, const Generator& generator) const {
  call<op::normal_>(*this, mean, std, generator);
  return *this;
}
const Tensor& Tensor::exponential_(double lambd, const Generator& generator) const {
  call<op::exponential_>(*this, lambd, generator);
  return *this;
}
const Tensor& Tensor::cauchy_(double median, double sigma, const Generator& generator) const {
  call<op::cauchy_>(*this, median, sigma, generator);
  return *this;
}
const Tensor& Tensor::log_normal_(double mean, double std, const Generator& generator) const {
  call<op::log_normal_>(*this, mean, std, generator);
  return *this;
}
const Tensor& Tensor::geometric_(double p, const Generator& generator) const {
  call<op::geometric_>(*this, p, generator);
  return *this;
}
const Tensor& Tensor::bernoulli_(double p, const Generator& generator) const {
  call<op::bernoulli_>(*this, p, generator);
  return *this;
}
const Tensor& Tensor::bernoulli_(const Tensor& p, const Generator& generator) const {
  call<op::bernoulli_tensor_>(*this, p, generator);
  return *this;
}
const Tensor& Tensor::random_(const Generator& generator) const {
  call<op::random_>(*this, generator);
  return *this;
}
const Tensor& Tensor::random_(std::int64_t to, const Generator& generator) const {
  draw_whole<op::random_to_>(*this, 0, to, generator, to);
  return *this;
}
const Tensor& Tensor::random_(std::int64_t from, std::optional<std::int64_t> to,
                              const Generator& generator) const {
  draw_whole<op::random_from_>(*this, from, to, generator, from, to);
  return *this;
}

namespace {

const Generator& chosen(const std::optional<Generator>& generator) {
  return generator ? *generator : default_generator();
}

// A new tensor, filled by fill(tensor, generator). Its version stays 0: nobody has seen it before.
template <class Options, class F>
Tensor drawn(Tensor fresh, const Options& options, F&& fill) {
  const NoGradScope unrecorded;
  fill(fresh.body().is_wrapper() ? fresh : fresh.variable_data(), chosen(options.generator));
  if (options.requires_grad) fresh.requires_grad_();
  return fresh;
}

Tensor fresh(const Shape& size, const RandomOptions& options, std::optional<DType> otherwise = {}) {
  return empty(size,
               {.dtype = options.dtype ? options.dtype : otherwise, .device = options.device});
}
Tensor fresh_like(const Tensor& self, const RandomLikeOptions& options) {
  return empty_like(
      self,
      {.dtype = options.dtype, .device = options.device, .memory_format = options.memory_format});
}

void uniform_0_1(const Tensor& out, const Generator& generator) { out.uniform_(0, 1, generator); }
void normal_0_1(const Tensor& out, const Generator& generator) { out.normal_(0, 1, generator); }

}  // namespace

// A device's backend, too, may destroy what the caller's references name: see
// Note [Arguments of one's own].
Tensor rand(const Shape& size, const RandomOptions& given) {
  const RandomOptions options = given;
  return drawn(fresh(size, options), options, uniform_0_1);
}
Tensor randn(const Shape& size, const RandomOptions& given) {
  const RandomOptions options = given;
  return drawn(fresh(size, options), options, normal_0_1);
}
Tensor rand_like(const Tensor& self, const RandomLikeOptions& given) {
  const RandomLikeOptions options = given;
  return drawn(fresh_like(self, options), options, uniform_0_1);
}
Tensor randn_like(const Tensor& self, const RandomLikeOptions& given) {
  const RandomLikeOptions options = given;
  return drawn(fresh_like(self, options), options, normal_0_1);
}

Tensor normal(double mean, double std, const Shape& size, const RandomOptions& given) {
  const RandomOptions options = given;
  return drawn(fresh(size, options), options, [&](const Tensor& out, const Generator& generator) {
    out.normal_(mean, std, generator);
  });
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& size, const RandomOptions& given) {
  const RandomOptions options = given;
  return drawn(
      fresh(size, options, int64), options,
      [&](const Tensor& out, const Generator& generator) { out.random_(low, high, generator); });
}
Tensor randint(std::int64_t high, const Shape& size, const RandomOptions& options) {
  return randint(0, high, size, options);
}
Tensor randint_like(const Tensor& self, std::int64_t low, std::int64_t high,
                    const RandomLikeOptions& given) {
  const RandomLikeOptions options = given;
  return drawn(
      fresh_like(self, options), options,
      [&](const Tensor& out, const Generator& generator) { out.random_(low, high, generator); });
}
Tensor randint_like(const Tensor& self, std::int64_t high, const RandomLikeOptions& options) {
  return randint_like(self, 0, high, options);
}

Tensor randperm(std::int64_t n, const RandomOptions& options) {
  if (n < 0) throw ValueError(concat("randperm: n is ", n, ", and cannot be negative"));
  const DType dtype = options.dtype.value_or(int64);
  const bool wide_unsigned = dtype == uint16 || dtype == uint32 || dtype == uint64;
  if (!(is_usual_float(dtype) || is_integral(dtype)) || wide_unsigned)
    not_implemented("randperm", dtype);
  // Above these, floating numbers leave some out; bfloat16 is not looked at, as in PyTorch.
  const std::int64_t most = dtype == float16   ? std::int64_t{1} << 11
                            : dtype == float32 ? std::int64_t{1} << 24
                            : dtype == float64 ? std::int64_t{1} << 53
                                               : bounds_of(dtype).most;
  if (n > 0 && n - 1 > most) {
    throw ValueError(concat("randperm: n cannot be greater than ", most + 1, " for ", repr(dtype),
                            ", which does not hold every number up to n - 1 = ", n - 1));
  }
  const Device device = usable_device(options.device ? *options.device : get_default_device());
  Tensor out =
      allocate_tensor(Layout::packed({n}, dtype, device.is_meta() ? device : Device::cpu()));
  if (!device.is_meta() && n > 0) {
    with_source(chosen(options.generator), [&](RandomSource& source) {
      fill_permutation(static_cast<std::byte*>(out.data_ptr()), dtype, n, source);
    });
  }
  const bool requires_grad = options.requires_grad;
  if (!device.is_meta() && !device.is_cpu()) out = out.to(device);
  if (requires_grad) out.requires_grad_();
  return out;
}

Tensor bernoulli(const Tensor& p, const BernoulliOptions& options) {
  return call<op::bernoulli>(p, chosen(options.generator));
}
Tensor bernoulli(const Tensor& self, double p, const BernoulliOptions& given) {
  const BernoulliOptions options = given;  // see Note [Arguments of one's own]
  const NoGradScope unrecorded;
  return empty_like(self).bernoulli_(p, chosen(options.generator));
}

}  // namespace tenon
