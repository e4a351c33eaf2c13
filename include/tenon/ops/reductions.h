// Many elements into one: sums, means, extremes, and where they are.
//
//   Tensor total = sum(x);                             // over everything
//   Tensor rows = mean(x, {1, 2}, {.keepdim = true});  // over two, which stay with size 1
//   Tensor means = mean(x, {.dim = -1, .keepdim = true});  // the same, all by name
//   auto [values, indices] = max(x, 0);
//
// No dimensions named means all of them. Floating sums are carried in double; the result is the
// same on any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API sum {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim,
                           std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API mean {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim,
                           std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API prod {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim,
                           std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API amax {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API amin {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API any {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API all {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API count_nonzero {
  using Signature = Tensor(const Tensor& self, const Dims& dim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API argmax {
  using Signature = Tensor(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API argmin {
  using Signature = Tensor(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API max_dim {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, std::int64_t dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API min_dim {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, std::int64_t dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API max {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API min {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API var {
  using Signature = Tensor(const Tensor& self, const Dims& dim, double correction, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API std_ {  // std is a namespace
  using Signature = Tensor(const Tensor& self, const Dims& dim, double correction, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API norm {
  using Signature = Tensor(const Tensor& self, double p, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API logsumexp {
  using Signature = Tensor(const Tensor& self, const Dims& dim, bool keepdim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API cumsum {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API cumprod {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<DType> dtype);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

struct CloseOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};

// Sums and products of whole numbers and bools are int64.
TENON_API Tensor sum(const Tensor& self, const Dims& dim = {}, ReduceOptions options = {});
TENON_API Tensor mean(const Tensor& self, const Dims& dim = {}, ReduceOptions options = {});
TENON_API Tensor prod(const Tensor& self, const Dims& dim = {}, ReduceOptions options = {});
// NaN is the largest and the smallest. IndexError if there is nothing to choose from.
TENON_API Tensor amax(const Tensor& self, const Dims& dim = {}, KeepdimOptions options = {});
TENON_API Tensor amin(const Tensor& self, const Dims& dim = {}, KeepdimOptions options = {});
TENON_API Tensor max(const Tensor& self);
TENON_API Tensor min(const Tensor& self);
// The larger, and the smaller, of two, element by element: maximum and minimum.
TENON_API Tensor max(const Tensor& self, const Tensor& other);
TENON_API Tensor min(const Tensor& self, const Tensor& other);
// The extremes along a dimension, and where they are: the first of several.
TENON_API std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim,
                                         KeepdimOptions options = {});
TENON_API std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim,
                                         KeepdimOptions options = {});
// Where they are, in the flattened tensor if no dimension is named.
inline Tensor argmax(const Tensor& self, const ArgOptions& options) { return self.argmax(options); }
inline Tensor argmin(const Tensor& self, const ArgOptions& options) { return self.argmin(options); }
TENON_API Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim = {},
                        KeepdimOptions options = {});
TENON_API Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim = {},
                        KeepdimOptions options = {});
// Bools, of uint8 tensors uint8.
TENON_API Tensor any(const Tensor& self, const Dims& dim = {}, KeepdimOptions options = {});
TENON_API Tensor all(const Tensor& self, const Dims& dim = {}, KeepdimOptions options = {});
TENON_API Tensor count_nonzero(const Tensor& self, const Dims& dim = {});
// ValueError if both unbiased and a correction are named.
TENON_API Tensor var(const Tensor& self, const Dims& dim = {}, VarOptions options = {});
TENON_API Tensor std(const Tensor& self, const Dims& dim = {}, VarOptions options = {});
// The p-th root of the sum of p-th powers of sizes; p may be infinite, or 0 to count.
TENON_API Tensor norm(const Tensor& self, double p = 2, const Dims& dim = {},
                      KeepdimOptions options = {});
// The logarithm of the sum of exponentials, which never overflow.
TENON_API Tensor logsumexp(const Tensor& self, const Dims& dim, KeepdimOptions options = {});
// Of all elements up to each.
TENON_API Tensor cumsum(const Tensor& self, std::int64_t dim, DTypeOption options = {});
TENON_API Tensor cumprod(const Tensor& self, std::int64_t dim, DTypeOption options = {});

// With the dimensions by name, too: sum(x, {.dim = -1, .keepdim = true}). A number, or {0, 1}.
template <class O = DimReduceOptions>
OnlyOf<O, DimReduceOptions, Tensor> sum(const Tensor& self, const O& options) {
  return self.sum(options);
}
template <class O = DimReduceOptions>
OnlyOf<O, DimReduceOptions, Tensor> mean(const Tensor& self, const O& options) {
  return self.mean(options);
}
template <class O = DimReduceOptions>
OnlyOf<O, DimReduceOptions, Tensor> prod(const Tensor& self, const O& options) {
  return self.prod(options);
}
template <class O = DimKeepdimOptions>
OnlyOf<O, DimKeepdimOptions, Tensor> amax(const Tensor& self, const O& options) {
  return self.amax(options);
}
template <class O = DimKeepdimOptions>
OnlyOf<O, DimKeepdimOptions, Tensor> amin(const Tensor& self, const O& options) {
  return self.amin(options);
}
template <class O = DimKeepdimOptions>
OnlyOf<O, DimKeepdimOptions, Tensor> any(const Tensor& self, const O& options) {
  return self.any(options);
}
template <class O = DimKeepdimOptions>
OnlyOf<O, DimKeepdimOptions, Tensor> all(const Tensor& self, const O& options) {
  return self.all(options);
}
template <class O = DimVarOptions>
OnlyOf<O, DimVarOptions, Tensor> var(const Tensor& self, const O& options) {
  return self.var(options);
}
template <class O = DimVarOptions>
OnlyOf<O, DimVarOptions, Tensor> std(const Tensor& self, const O& options) {
  return self.std(options);
}
inline Tensor norm(const Tensor& self, const NormOptions& options) { return self.norm(options); }
template <class O = DimKeepdimOptions>
OnlyOf<O, DimKeepdimOptions, Tensor> logsumexp(const Tensor& self, const O& options) {
  return self.logsumexp(options);
}
template <class O = GivenDimOptions>
OnlyOf<O, GivenDimOptions, std::tuple<Tensor, Tensor>> max(const Tensor& self, const O& options) {
  return self.max(options);
}
template <class O = GivenDimOptions>
OnlyOf<O, GivenDimOptions, std::tuple<Tensor, Tensor>> min(const Tensor& self, const O& options) {
  return self.min(options);
}
template <class O = GivenDimDTypeOptions>
OnlyOf<O, GivenDimDTypeOptions, Tensor> cumsum(const Tensor& self, const O& options) {
  return self.cumsum(options);
}
template <class O = GivenDimDTypeOptions>
OnlyOf<O, GivenDimDTypeOptions, Tensor> cumprod(const Tensor& self, const O& options) {
  return self.cumprod(options);
}

// The variance, or the standard deviation, and the mean.
TENON_API std::tuple<Tensor, Tensor> var_mean(const Tensor& self, const Dims& dim = {},
                                              VarOptions options = {});
TENON_API std::tuple<Tensor, Tensor> std_mean(const Tensor& self, const Dims& dim = {},
                                              VarOptions options = {});
template <class O = DimVarOptions>
OnlyOf<O, DimVarOptions, std::tuple<Tensor, Tensor>> var_mean(const Tensor& self,
                                                              const O& options) {
  return var_mean(self, options.dim,
                  VarOptions{options.unbiased, options.correction, options.keepdim});
}
template <class O = DimVarOptions>
OnlyOf<O, DimVarOptions, std::tuple<Tensor, Tensor>> std_mean(const Tensor& self,
                                                              const O& options) {
  return std_mean(self, options.dim,
                  VarOptions{options.unbiased, options.correction, options.keepdim});
}
// The same, written into memory that is there.
TENON_API const Tensor& sum_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                ReduceOptions options = {});
TENON_API const Tensor& mean_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                 ReduceOptions options = {});
TENON_API const Tensor& prod_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                 ReduceOptions options = {});
TENON_API const Tensor& amax_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                 KeepdimOptions options = {});
TENON_API const Tensor& amin_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                 KeepdimOptions options = {});
TENON_API const Tensor& any_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                KeepdimOptions options = {});
TENON_API const Tensor& all_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                KeepdimOptions options = {});
TENON_API const Tensor& max_out(const Tensor& out, const Tensor& self);
TENON_API std::tuple<Tensor, Tensor> max_out(const Tensor& values, const Tensor& indices,
                                             const Tensor& self, std::int64_t dim,
                                             KeepdimOptions options = {});
TENON_API const Tensor& min_out(const Tensor& out, const Tensor& self);
TENON_API std::tuple<Tensor, Tensor> min_out(const Tensor& values, const Tensor& indices,
                                             const Tensor& self, std::int64_t dim,
                                             KeepdimOptions options = {});
TENON_API const Tensor& argmax_out(const Tensor& out, const Tensor& self,
                                   std::optional<std::int64_t> dim = {},
                                   KeepdimOptions options = {});
TENON_API const Tensor& argmin_out(const Tensor& out, const Tensor& self,
                                   std::optional<std::int64_t> dim = {},
                                   KeepdimOptions options = {});
TENON_API const Tensor& var_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                VarOptions options = {});
TENON_API const Tensor& std_out(const Tensor& out, const Tensor& self, const Dims& dim = {},
                                VarOptions options = {});
TENON_API const Tensor& norm_out(const Tensor& out, const Tensor& self, double p = 2,
                                 const Dims& dim = {}, KeepdimOptions options = {});
TENON_API const Tensor& cumsum_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                                   DTypeOption options = {});
TENON_API const Tensor& cumprod_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                                    DTypeOption options = {});

// |a - b| <= atol + rtol * |b|, element by element, and for all of them.
TENON_API Tensor isclose(const Tensor& self, const Tensor& other, CloseOptions options = {});
TENON_API bool allclose(const Tensor& self, const Tensor& other, CloseOptions options = {});

}  // namespace tenon
