// The methods of Tensor that reduce. tenon/ops/reductions.h has the functions, and says what they
// do.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"

namespace tenon {

class Tensor;

// The first field of options that could otherwise be taken for a list of numbers: nothing converts
// to it, so that {1, 2} is the list, and {.dim = 1} the options.
class OnlyByName {
 public:
  constexpr OnlyByName() noexcept {}
};
// A dimension that has to be named: options with one do not compile without it.
class GivenDim {
 public:
  template <std::integral I>
  constexpr GivenDim(I dim) noexcept : dim_(static_cast<std::int64_t>(dim)) {}
  constexpr operator std::int64_t() const noexcept { return dim_; }

 private:
  std::int64_t dim_;
};
// What a template takes that is for one class of options: braces with names are those options, and
// {} stays what the function beside it takes.
template <class O, class Options, class Result>
using OnlyOf = std::enable_if_t<std::is_same_v<O, Options>, Result>;

// After the dimensions: sum(x, {0, 1}, {.keepdim = true}).
struct ReduceOptions {
  bool keepdim = false;
  std::optional<DType> dtype = {};  // converted to before anything is calculated
};
struct KeepdimOptions {
  bool keepdim = false;
};
struct VarOptions {
  std::optional<bool> unbiased = {};  // the older word for a correction of 1, or of 0
  // What is taken off the number of elements that is divided by: 1, if nothing is said.
  std::optional<double> correction = {};
  bool keepdim = false;
};
// Everything by name: sum(x, {.dim = {0, 1}, .keepdim = true}).
struct DimReduceOptions {
  OnlyByName by_name = {};
  Dims dim = {};  // none: all of them
  bool keepdim = false;
  std::optional<DType> dtype = {};
};
struct DimKeepdimOptions {
  OnlyByName by_name = {};
  Dims dim = {};
  bool keepdim = false;
};
struct DimVarOptions {
  OnlyByName by_name = {};
  Dims dim = {};
  std::optional<bool> unbiased = {};
  std::optional<double> correction = {};
  bool keepdim = false;
};
struct NormOptions {
  OnlyByName by_name = {};
  double p = 2;
  Dims dim = {};
  bool keepdim = false;
  std::optional<DType> dtype = {};
};
struct GivenDimOptions {
  OnlyByName by_name = {};
  GivenDim dim;
  bool keepdim = false;
};
struct GivenDimDTypeOptions {
  OnlyByName by_name = {};
  GivenDim dim;
  std::optional<DType> dtype = {};
};
struct ArgOptions {
  OnlyByName by_name = {};
  std::optional<std::int64_t> dim = {};  // none: of the flattened tensor
  bool keepdim = false;
};
struct DTypeOption {
  std::optional<DType> dtype = {};
};
// A base of Tensor without anything in it: x.sum() is sum(x).
class TENON_API TensorReductions {
 public:
  // First, because of what a compiler may say about a name that was used before it is declared.
  Tensor std(const Dims& dim = {}, VarOptions options = {}) const;
  Tensor sum(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor mean(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor prod(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor amax(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor amin(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(std::int64_t dim, KeepdimOptions options = {}) const;
  std::tuple<Tensor, Tensor> min(std::int64_t dim, KeepdimOptions options = {}) const;
  Tensor max(const Tensor& other) const;  // maximum: the larger of both, element by element
  Tensor min(const Tensor& other) const;
  Tensor argmax(std::optional<std::int64_t> dim = {}, KeepdimOptions options = {}) const;
  Tensor argmin(std::optional<std::int64_t> dim = {}, KeepdimOptions options = {}) const;
  Tensor argmax(const ArgOptions& options) const;
  Tensor argmin(const ArgOptions& options) const;
  Tensor any(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor all(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor count_nonzero(const Dims& dim = {}) const;
  Tensor var(const Dims& dim = {}, VarOptions options = {}) const;
  Tensor norm(double p = 2, const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor cumsum(std::int64_t dim, DTypeOption options = {}) const;
  Tensor cumprod(std::int64_t dim, DTypeOption options = {}) const;

  // The same with the dimensions by name, too: x.sum({.dim = -1, .keepdim = true}).
  template <class O = DimReduceOptions>
  OnlyOf<O, DimReduceOptions, Tensor> sum(const O& options) const {
    return sum(options.dim, ReduceOptions{options.keepdim, options.dtype});
  }
  template <class O = DimReduceOptions>
  OnlyOf<O, DimReduceOptions, Tensor> mean(const O& options) const {
    return mean(options.dim, ReduceOptions{options.keepdim, options.dtype});
  }
  template <class O = DimReduceOptions>
  OnlyOf<O, DimReduceOptions, Tensor> prod(const O& options) const {
    return prod(options.dim, ReduceOptions{options.keepdim, options.dtype});
  }
  template <class O = DimKeepdimOptions>
  OnlyOf<O, DimKeepdimOptions, Tensor> amax(const O& options) const {
    return amax(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = DimKeepdimOptions>
  OnlyOf<O, DimKeepdimOptions, Tensor> amin(const O& options) const {
    return amin(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = DimKeepdimOptions>
  OnlyOf<O, DimKeepdimOptions, Tensor> any(const O& options) const {
    return any(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = DimKeepdimOptions>
  OnlyOf<O, DimKeepdimOptions, Tensor> all(const O& options) const {
    return all(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = DimVarOptions>
  OnlyOf<O, DimVarOptions, Tensor> var(const O& options) const {
    return var(options.dim, VarOptions{options.unbiased, options.correction, options.keepdim});
  }
  template <class O = DimVarOptions>
  OnlyOf<O, DimVarOptions, Tensor> std(const O& options) const {
    return std(options.dim, VarOptions{options.unbiased, options.correction, options.keepdim});
  }
  Tensor norm(const NormOptions& options) const;
  template <class O = GivenDimOptions>
  OnlyOf<O, GivenDimOptions, std::tuple<Tensor, Tensor>> max(const O& options) const {
    return max(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = GivenDimOptions>
  OnlyOf<O, GivenDimOptions, std::tuple<Tensor, Tensor>> min(const O& options) const {
    return min(options.dim, KeepdimOptions{options.keepdim});
  }
  template <class O = GivenDimDTypeOptions>
  OnlyOf<O, GivenDimDTypeOptions, Tensor> cumsum(const O& options) const {
    return cumsum(options.dim, DTypeOption{options.dtype});
  }
  template <class O = GivenDimDTypeOptions>
  OnlyOf<O, GivenDimDTypeOptions, Tensor> cumprod(const O& options) const {
    return cumprod(options.dim, DTypeOption{options.dtype});
  }

 protected:
  TensorReductions() noexcept = default;
};

}  // namespace tenon
