// Methods of Tensor whose functions, and what they do, are in tenon/fused.h, tenon/selection.h,
// tenon/matmul.h, tenon/picking.h, tenon/sorting.h and tenon/activation.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "tenon/api.h"
#include "tenon/detail/tensor_arithmetic.h"
#include "tenon/detail/tensor_reductions.h"
#include "tenon/scalar.h"

namespace tenon {

class Tensor;

struct ValueOptions {
  Scalar value = 1;  // a factor of the product or quotient
};
struct ClampOptions {
  std::optional<Scalar> min = {};
  std::optional<Scalar> max = {};
};
struct ScatterOptions {
  std::string_view reduce = {};  // nothing, "add" or "multiply"
};
struct SortOptions {
  std::int64_t dim = -1;
  bool descending = false;
  bool stable = true;  // equals keep their order, whatever is said here
};
struct TopkOptions {
  std::int64_t dim = -1;
  bool largest = true;
  bool sorted = true;  // the result is sorted, whatever is said here
};

// A base of Tensor without anything in it: x.mm(y) is mm(x, y).
class TENON_API TensorMethods {
 public:
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  const Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
  const Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
  Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, ValueOptions options = {}) const;
  Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, ValueOptions options = {}) const;
  const Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2,
                         ValueOptions options = {}) const;
  const Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2,
                         ValueOptions options = {}) const;

  Tensor clamp(const ClampOptions& options) const;
  const Tensor& clamp_(const ClampOptions& options) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor where(const Tensor& condition, const Scalar& other) const;

  Tensor gather(std::int64_t dim, const Tensor& index) const;
  Tensor index_select(std::int64_t dim, const Tensor& index) const;
  Tensor take(const Tensor& index) const;
  Tensor take_along_dim(const Tensor& indices, std::optional<std::int64_t> dim = {}) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor nonzero() const;
  Tensor scatter(std::int64_t dim, const Tensor& index, const Tensor& src,
                 ScatterOptions options = {}) const;
  Tensor scatter(std::int64_t dim, const Tensor& index, const Scalar& value,
                 ScatterOptions options = {}) const;
  const Tensor& scatter_(std::int64_t dim, const Tensor& index, const Tensor& src,
                         ScatterOptions options = {}) const;
  const Tensor& scatter_(std::int64_t dim, const Tensor& index, const Scalar& value,
                         ScatterOptions options = {}) const;
  Tensor scatter_add(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  const Tensor& scatter_add_(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor index_add(std::int64_t dim, const Tensor& index, const Tensor& source,
                   AlphaOptions options = {}) const;
  const Tensor& index_add_(std::int64_t dim, const Tensor& index, const Tensor& source,
                           AlphaOptions options = {}) const;
  Tensor index_copy(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& index_copy_(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_fill(std::int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor index_fill(std::int64_t dim, const Tensor& index, const Scalar& value) const;
  const Tensor& index_fill_(std::int64_t dim, const Tensor& index, const Tensor& value) const;
  const Tensor& index_fill_(std::int64_t dim, const Tensor& index, const Scalar& value) const;

  std::tuple<Tensor, Tensor> sort(SortOptions options = {}) const;
  Tensor argsort(SortOptions options = {}) const;
  std::tuple<Tensor, Tensor> topk(std::int64_t k, TopkOptions options = {}) const;

  Tensor dot(const Tensor& tensor) const;
  Tensor mv(const Tensor& vec) const;
  Tensor mm(const Tensor& mat2) const;
  Tensor bmm(const Tensor& mat2) const;
  Tensor matmul(const Tensor& other) const;
  Tensor outer(const Tensor& vec2) const;

  Tensor softmax(std::int64_t dim, DTypeOption options = {}) const;
  Tensor log_softmax(std::int64_t dim, DTypeOption options = {}) const;
  Tensor hardshrink(double lambd = 0.5) const;

 protected:
  TensorMethods() noexcept = default;
};

}  // namespace tenon
