// The methods of Tensor that reduce. tenon/reductions.h has the functions, and says what they do.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tenon/api.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"

namespace tenon {

class Tensor;

struct ReduceOptions {
  bool keepdim = false;
  std::optional<DType> dtype = {};  // converted to before anything is calculated
};
struct KeepdimOptions {
  bool keepdim = false;
};
struct VarOptions {
  double correction = 1;  // what is taken off the number of elements that is divided by
  bool keepdim = false;
};
// The first field of options that could otherwise be taken for a list of numbers: nothing converts
// to it, so that {1, 2} is the list, and {.dim = 1} the options.
class OnlyByName {
 public:
  constexpr OnlyByName() noexcept {}
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
  Tensor sum(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor mean(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor prod(const Dims& dim = {}, ReduceOptions options = {}) const;
  Tensor amax(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor amin(const Dims& dim = {}, KeepdimOptions options = {}) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(std::int64_t dim, KeepdimOptions options = {}) const;
  std::tuple<Tensor, Tensor> min(std::int64_t dim, KeepdimOptions options = {}) const;
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
  // As a member, std would hide the namespace: the function is tenon::std.
 protected:
  TensorReductions() noexcept = default;
};

}  // namespace tenon
