// Tensors of random numbers, the same as PyTorch's for the same seed (tenon/generator.h).
//
//   manual_seed(0);
//   Tensor weight = randn({30, 20}, {.dtype = bfloat16});
//   Tensor order = randperm(1000);
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/generator.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API uniform_ {
  using Signature = const Tensor&(const Tensor& self, double from, double to,
                                  const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API normal_ {
  using Signature = const Tensor&(const Tensor& self, double mean, double std,
                                  const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API exponential_ {
  using Signature = const Tensor&(const Tensor& self, double lambd, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API cauchy_ {
  using Signature = const Tensor&(const Tensor& self, double median, double sigma,
                                  const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API log_normal_ {
  using Signature = const Tensor&(const Tensor& self, double mean, double std,
                                  const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API geometric_ {
  using Signature = const Tensor&(const Tensor& self, double p, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API bernoulli_ {
  using Signature = const Tensor&(const Tensor& self, double p, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API bernoulli_tensor_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& p, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API bernoulli {
  using Signature = Tensor(const Tensor& p, const Generator& generator);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API random_ {
  using Signature = const Tensor&(const Tensor& self, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API random_from_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t from,
                                  std::optional<std::int64_t> to, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API random_to_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t to, const Generator& generator);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API multinomial {
  using Signature = Tensor(const Tensor& self, std::int64_t num_samples, bool replacement,
                           const Generator& generator);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct RandomOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
  std::optional<Generator> generator = {};  // the default one
};
struct RandomLikeOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
  MemoryFormat memory_format = MemoryFormat::preserve;
  std::optional<Generator> generator = {};
};
struct BernoulliOptions {
  std::optional<Generator> generator = {};
};

// Uniform in [0, 1); normal with mean 0 and standard deviation 1. Of the default dtype.
TENON_API Tensor rand(const Shape& size, const RandomOptions& options = {});
TENON_API Tensor randn(const Shape& size, const RandomOptions& options = {});
TENON_API Tensor rand_like(const Tensor& self, const RandomLikeOptions& options = {});
TENON_API Tensor randn_like(const Tensor& self, const RandomLikeOptions& options = {});
// Normal with that mean and standard deviation.
TENON_API Tensor normal(double mean, double std, const Shape& size,
                        const RandomOptions& options = {});
// Whole numbers in [low, high), int64 unless another dtype is named. ValueError if there is none,
// or if the dtype cannot hold them.
TENON_API Tensor randint(std::int64_t low, std::int64_t high, const Shape& size,
                         const RandomOptions& options = {});
TENON_API Tensor randint(std::int64_t high, const Shape& size, const RandomOptions& options = {});
TENON_API Tensor randint_like(const Tensor& self, std::int64_t low, std::int64_t high,
                              const RandomLikeOptions& options = {});
TENON_API Tensor randint_like(const Tensor& self, std::int64_t high,
                              const RandomLikeOptions& options = {});
// 0, ..., n - 1 in random order, int64 unless another dtype is named.
TENON_API Tensor randperm(std::int64_t n, const RandomOptions& options = {});
// 0 or 1, each 1 with the probability that the tensor says for it, or p for all.
TENON_API Tensor bernoulli(const Tensor& p, const BernoulliOptions& options = {});
TENON_API Tensor bernoulli(const Tensor& self, double p, const BernoulliOptions& options = {});

struct MultinomialFunctionOptions {
  bool replacement = false;  // whether one may be drawn again
  std::optional<Generator> generator = {};
};
// Numbers drawn with the weights of a vector, or of each row of a matrix, which are not negative
// and need not add up to 1. The numbers that PyTorch draws.
TENON_API Tensor multinomial(const Tensor& self, std::int64_t num_samples,
                             const MultinomialFunctionOptions& options = {});

}  // namespace tenon
