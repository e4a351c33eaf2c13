// The methods of Tensor that are functions with another spelling.
#include "tenon/detail/tensor_methods.h"

#include "ops/itself.h"
#include "tenon/fused.h"
#include "tenon/matmul.h"
#include "tenon/picking.h"
#include "tenon/reductions.h"
#include "tenon/selection.h"
#include "tenon/sorting.h"

namespace tenon {

Tensor TensorMethods::lerp(const Tensor& end, const Tensor& weight) const {
  return tenon::lerp(itself(*this), end, weight);
}
Tensor TensorMethods::lerp(const Tensor& end, const Scalar& weight) const {
  return tenon::lerp(itself(*this), end, weight);
}
Tensor TensorMethods::addcmul(const Tensor& tensor1, const Tensor& tensor2,
                              ValueOptions options) const {
  return tenon::addcmul(itself(*this), tensor1, tensor2, options);
}
Tensor TensorMethods::addcdiv(const Tensor& tensor1, const Tensor& tensor2,
                              ValueOptions options) const {
  return tenon::addcdiv(itself(*this), tensor1, tensor2, options);
}
Tensor TensorMethods::clamp(const ClampOptions& options) const {
  return tenon::clamp(itself(*this), options);
}
const Tensor& TensorMethods::clamp_(const ClampOptions& options) const {
  return tenon::clamp_(itself(*this), options);
}
Tensor TensorMethods::masked_fill(const Tensor& mask, const Tensor& value) const {
  return tenon::masked_fill(itself(*this), mask, value);
}
Tensor TensorMethods::masked_fill(const Tensor& mask, const Scalar& value) const {
  return tenon::masked_fill(itself(*this), mask, value);
}
Tensor TensorMethods::where(const Tensor& condition, const Tensor& other) const {
  return tenon::where(condition, itself(*this), other);
}
Tensor TensorMethods::where(const Tensor& condition, const Scalar& other) const {
  return tenon::where(condition, itself(*this), other);
}
Tensor TensorMethods::gather(std::int64_t dim, const Tensor& index) const {
  return tenon::gather(itself(*this), dim, index);
}
Tensor TensorMethods::index_select(std::int64_t dim, const Tensor& index) const {
  return tenon::index_select(itself(*this), dim, index);
}
Tensor TensorMethods::take(const Tensor& index) const { return tenon::take(itself(*this), index); }
Tensor TensorMethods::take_along_dim(const Tensor& indices, std::optional<std::int64_t> dim) const {
  return tenon::take_along_dim(itself(*this), indices, dim);
}
Tensor TensorMethods::scatter(std::int64_t dim, const Tensor& index, const Tensor& src,
                              ScatterOptions options) const {
  return tenon::scatter(itself(*this), dim, index, src, options);
}
Tensor TensorMethods::scatter(std::int64_t dim, const Tensor& index, const Scalar& value,
                              ScatterOptions options) const {
  return tenon::scatter(itself(*this), dim, index, value, options);
}
Tensor TensorMethods::scatter_add(std::int64_t dim, const Tensor& index, const Tensor& src) const {
  return tenon::scatter_add(itself(*this), dim, index, src);
}
Tensor TensorMethods::index_add(std::int64_t dim, const Tensor& index, const Tensor& source,
                                AlphaOptions options) const {
  return tenon::index_add(itself(*this), dim, index, source, options);
}
Tensor TensorMethods::index_copy(std::int64_t dim, const Tensor& index,
                                 const Tensor& source) const {
  return tenon::index_copy(itself(*this), dim, index, source);
}
Tensor TensorMethods::index_fill(std::int64_t dim, const Tensor& index, const Tensor& value) const {
  return tenon::index_fill(itself(*this), dim, index, value);
}
Tensor TensorMethods::index_fill(std::int64_t dim, const Tensor& index, const Scalar& value) const {
  return tenon::index_fill(itself(*this), dim, index, value);
}
Tensor TensorMethods::masked_select(const Tensor& mask) const {
  return tenon::masked_select(itself(*this), mask);
}
Tensor TensorMethods::nonzero() const { return tenon::nonzero(itself(*this)); }
std::tuple<Tensor, Tensor> TensorMethods::sort(SortOptions options) const {
  return tenon::sort(itself(*this), options);
}
Tensor TensorMethods::argsort(SortOptions options) const {
  return tenon::argsort(itself(*this), options);
}
std::tuple<Tensor, Tensor> TensorMethods::topk(std::int64_t k, TopkOptions options) const {
  return tenon::topk(itself(*this), k, options);
}
Tensor TensorMethods::dot(const Tensor& tensor) const { return tenon::dot(itself(*this), tensor); }
Tensor TensorMethods::mv(const Tensor& vec) const { return tenon::mv(itself(*this), vec); }
Tensor TensorMethods::mm(const Tensor& mat2) const { return tenon::mm(itself(*this), mat2); }
Tensor TensorMethods::bmm(const Tensor& mat2) const { return tenon::bmm(itself(*this), mat2); }
Tensor TensorMethods::matmul(const Tensor& other) const {
  return tenon::matmul(itself(*this), other);
}
Tensor TensorMethods::outer(const Tensor& vec2) const { return tenon::outer(itself(*this), vec2); }

Tensor TensorReductions::sum(const DimList& dim, ReduceOptions options) const {
  return tenon::sum(itself(*this), dim, options);
}
Tensor TensorReductions::mean(const DimList& dim, ReduceOptions options) const {
  return tenon::mean(itself(*this), dim, options);
}
Tensor TensorReductions::prod(const DimList& dim, ReduceOptions options) const {
  return tenon::prod(itself(*this), dim, options);
}
Tensor TensorReductions::amax(const DimList& dim, KeepdimOptions options) const {
  return tenon::amax(itself(*this), dim, options);
}
Tensor TensorReductions::amin(const DimList& dim, KeepdimOptions options) const {
  return tenon::amin(itself(*this), dim, options);
}
Tensor TensorReductions::max() const { return tenon::max(itself(*this)); }
Tensor TensorReductions::min() const { return tenon::min(itself(*this)); }
std::tuple<Tensor, Tensor> TensorReductions::max(std::int64_t dim, KeepdimOptions options) const {
  return tenon::max(itself(*this), dim, options);
}
std::tuple<Tensor, Tensor> TensorReductions::min(std::int64_t dim, KeepdimOptions options) const {
  return tenon::min(itself(*this), dim, options);
}
Tensor TensorReductions::argmax(std::optional<std::int64_t> dim, KeepdimOptions options) const {
  return tenon::argmax(itself(*this), dim, options);
}
Tensor TensorReductions::argmin(std::optional<std::int64_t> dim, KeepdimOptions options) const {
  return tenon::argmin(itself(*this), dim, options);
}
Tensor TensorReductions::any(const DimList& dim, KeepdimOptions options) const {
  return tenon::any(itself(*this), dim, options);
}
Tensor TensorReductions::all(const DimList& dim, KeepdimOptions options) const {
  return tenon::all(itself(*this), dim, options);
}
Tensor TensorReductions::count_nonzero(const Dims& dim) const {
  return tenon::count_nonzero(itself(*this), dim);
}
Tensor TensorReductions::var(const DimList& dim, VarOptions options) const {
  return tenon::var(itself(*this), dim, options);
}
Tensor TensorReductions::norm(double p, const Dims& dim, KeepdimOptions options) const {
  return tenon::norm(itself(*this), p, dim, options);
}
Tensor TensorReductions::cumsum(std::int64_t dim, DTypeOption options) const {
  return tenon::cumsum(itself(*this), dim, options);
}
Tensor TensorReductions::cumprod(std::int64_t dim, DTypeOption options) const {
  return tenon::cumprod(itself(*this), dim, options);
}

}  // namespace tenon
