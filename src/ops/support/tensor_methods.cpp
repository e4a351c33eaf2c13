// The methods of Tensor that are functions with another spelling.
#include "tenon/detail/tensor_methods.h"

#include "ops/support/itself.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/cdist.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/flip.h"
#include "tenon/ops/lerp.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/one_hot.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/random.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/sort.h"
#include "tenon/ops/tril.h"
#include "tenon/ops/where.h"

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

Tensor TensorReductions::sum(const Dims& dim, ReduceOptions options) const {
  return tenon::sum(itself(*this), dim, options);
}
Tensor TensorReductions::mean(const Dims& dim, ReduceOptions options) const {
  return tenon::mean(itself(*this), dim, options);
}
Tensor TensorReductions::prod(const Dims& dim, ReduceOptions options) const {
  return tenon::prod(itself(*this), dim, options);
}
Tensor TensorReductions::amax(const Dims& dim, KeepdimOptions options) const {
  return tenon::amax(itself(*this), dim, options);
}
Tensor TensorReductions::amin(const Dims& dim, KeepdimOptions options) const {
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
Tensor TensorReductions::any(const Dims& dim, KeepdimOptions options) const {
  return tenon::any(itself(*this), dim, options);
}
Tensor TensorReductions::all(const Dims& dim, KeepdimOptions options) const {
  return tenon::all(itself(*this), dim, options);
}
Tensor TensorReductions::count_nonzero(const Dims& dim) const {
  return tenon::count_nonzero(itself(*this), dim);
}
Tensor TensorReductions::var(const Dims& dim, VarOptions options) const {
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

Tensor TensorMethods::baddbmm(const Tensor& batch1, const Tensor& batch2) const {
  return tenon::baddbmm(itself(*this), batch1, batch2);
}

Tensor TensorMethods::baddbmm(const Tensor& batch1, const Tensor& batch2,
                              const AddmmOptions& options) const {
  return tenon::baddbmm(itself(*this), batch1, batch2, options);
}
Tensor TensorMethods::addmm(const Tensor& mat1, const Tensor& mat2) const {
  return tenon::addmm(itself(*this), mat1, mat2);
}
Tensor TensorMethods::addmm(const Tensor& mat1, const Tensor& mat2,
                            const AddmmOptions& options) const {
  return tenon::addmm(itself(*this), mat1, mat2, options);
}

Tensor TensorMethods::tril(std::int64_t diagonal) const {
  return tenon::tril(itself(*this), diagonal);
}
Tensor TensorMethods::triu(std::int64_t diagonal) const {
  return tenon::triu(itself(*this), diagonal);
}
Tensor TensorMethods::tril(TriangleOptions options) const { return tril(options.diagonal); }
Tensor TensorMethods::triu(TriangleOptions options) const { return triu(options.diagonal); }
Tensor TensorMethods::diag(std::int64_t diagonal) const {
  return tenon::diag(itself(*this), diagonal);
}
Tensor TensorMethods::diag(TriangleOptions options) const { return diag(options.diagonal); }
const Tensor& TensorMethods::tril_(TriangleOptions options) const {
  return tril_(options.diagonal);
}
const Tensor& TensorMethods::triu_(TriangleOptions options) const {
  return triu_(options.diagonal);
}
Tensor TensorMethods::diag_embed(DiagEmbedOptions options) const {
  return tenon::diag_embed(itself(*this), options);
}
Tensor TensorMethods::trace() const { return tenon::trace(itself(*this)); }

Tensor TensorMethods::flip(const Dims& dims) const { return tenon::flip(itself(*this), dims); }
Tensor TensorMethods::roll(const Dims& shifts, const RollOptions& options) const {
  return tenon::roll(itself(*this), shifts, options);
}
Tensor TensorMethods::roll(const Dims& shifts, std::int64_t dim) const {
  return tenon::roll(itself(*this), shifts, dim);
}
Tensor TensorMethods::repeat(const Shape& sizes) const {
  return tenon::repeat(itself(*this), sizes);
}
Tensor TensorMethods::tile(const Shape& dims) const { return tenon::tile(itself(*this), dims); }
Tensor TensorMethods::repeat_interleave(std::int64_t repeats,
                                        const RepeatInterleaveOptions& options) const {
  return tenon::repeat_interleave(itself(*this), repeats, options);
}
Tensor TensorMethods::repeat_interleave(std::int64_t repeats, std::int64_t dim) const {
  return tenon::repeat_interleave(itself(*this), repeats, dim);
}
Tensor TensorMethods::repeat_interleave(const Tensor& repeats,
                                        const RepeatInterleaveOptions& options) const {
  return tenon::repeat_interleave(itself(*this), repeats, options);
}
Tensor TensorMethods::repeat_interleave(const Tensor& repeats, std::int64_t dim) const {
  return tenon::repeat_interleave(itself(*this), repeats, dim);
}
Tensor TensorMethods::rot90(std::int64_t k, const Dims& dims) const {
  return tenon::rot90(itself(*this), k, dims);
}
Tensor TensorMethods::rot90(const Rot90Options& options) const {
  return tenon::rot90(itself(*this), options);
}
Tensor TensorMethods::swapaxes(std::int64_t axis0, std::int64_t axis1) const {
  return itself(*this).transpose(axis0, axis1);
}
Tensor TensorMethods::swapdims(std::int64_t dim0, std::int64_t dim1) const {
  return itself(*this).transpose(dim0, dim1);
}

Tensor TensorMethods::logsumexp(const Dims& dim, KeepdimOptions options) const {
  return tenon::logsumexp(itself(*this), dim, options);
}
Tensor TensorMethods::nan_to_num(const NanToNumOptions& options) const {
  return tenon::nan_to_num(itself(*this), options);
}
Tensor TensorMethods::cross(const Tensor& other) const {
  return tenon::cross(itself(*this), other);
}
Tensor TensorMethods::cross(const Tensor& other, std::int64_t dim) const {
  return tenon::cross(itself(*this), other, dim);
}
Tensor TensorMethods::multinomial(std::int64_t num_samples, MultinomialOptions options) const {
  return tenon::multinomial(itself(*this), num_samples, {.replacement = options.replacement});
}
Tensor TensorMethods::bincount() const { return tenon::bincount(itself(*this)); }
Tensor TensorMethods::bincount(const BincountOptions& options) const {
  return tenon::bincount(itself(*this), options);
}
Tensor TensorMethods::cross(const Tensor& other, DimOptions options) const {
  return tenon::cross(itself(*this), other, options);
}
Tensor TensorMethods::take_along_dim(const Tensor& indices, TakeAlongDimOptions options) const {
  return tenon::take_along_dim(itself(*this), indices, options.dim);
}
UniqueResult TensorMethods::unique() const { return tenon::unique(itself(*this)); }
UniqueResult TensorMethods::unique(UniqueOptions options) const {
  return tenon::unique(itself(*this), options);
}
Tensor TensorArithmetic::div(const Tensor& other, DivOptions options) const {
  return tenon::div(itself(*this), other, options);
}
Tensor TensorArithmetic::div(const Scalar& other, DivOptions options) const {
  return tenon::div(itself(*this), other, options);
}
Tensor TensorArithmetic::round(RoundOptions options) const {
  return tenon::round(itself(*this), options);
}
Tensor TensorMethods::hardshrink(LambdOptions options) const {
  return tenon::hardshrink(itself(*this), options);
}

bool TensorMethods::equal(const Tensor& other) const { return tenon::equal(itself(*this), other); }
bool TensorMethods::allclose(const Tensor& other) const {
  return tenon::allclose(itself(*this), other);
}
bool TensorMethods::allclose(const Tensor& other, CloseOptions options) const {
  return tenon::allclose(itself(*this), other, options);
}
Tensor TensorMethods::isclose(const Tensor& other) const {
  return tenon::isclose(itself(*this), other);
}
Tensor TensorMethods::isclose(const Tensor& other, CloseOptions options) const {
  return tenon::isclose(itself(*this), other, options);
}

Tensor TensorMethods::clamp(const ClampTensorOptions& options) const {
  return tenon::clamp(itself(*this), options);
}
Tensor TensorMethods::clip(const ClampOptions& options) const { return clamp(options); }
Tensor TensorMethods::clip(const ClampTensorOptions& options) const { return clamp(options); }
const Tensor& TensorMethods::clip_(const ClampOptions& options) const { return clamp_(options); }

namespace {

TensorOptions like(const Tensor& self, const NewOptions& options) {
  return {.dtype = options.dtype ? options.dtype : self.dtype(),
          .device = options.device ? options.device : self.device(),
          .requires_grad = options.requires_grad};
}

}  // namespace

Tensor TensorMethods::new_empty(const Shape& size, const NewOptions& options) const {
  const TensorOptions said = like(itself(*this), options);
  return empty(size,
               {.dtype = said.dtype, .device = said.device, .requires_grad = said.requires_grad});
}
Tensor TensorMethods::new_zeros(const Shape& size, const NewOptions& options) const {
  return zeros(size, like(itself(*this), options));
}
Tensor TensorMethods::new_ones(const Shape& size, const NewOptions& options) const {
  return ones(size, like(itself(*this), options));
}
Tensor TensorMethods::new_full(const Shape& size, const Scalar& fill_value,
                               const NewOptions& options) const {
  return full(size, fill_value, like(itself(*this), options));
}
Tensor TensorMethods::new_tensor(const NestedNumbers& data, const NewOptions& options) const {
  return tensor(data, like(itself(*this), options));
}
Tensor TensorMethods::type_as(const Tensor& other) const { return itself(*this).to(other); }

Tensor TensorMethods::float_() const { return itself(*this).to(float32); }
Tensor TensorMethods::double_() const { return itself(*this).to(float64); }
Tensor TensorMethods::half() const { return itself(*this).to(float16); }
Tensor TensorMethods::long_() const { return itself(*this).to(int64); }
Tensor TensorMethods::int_() const { return itself(*this).to(int32); }
Tensor TensorMethods::bool_() const { return itself(*this).to(tenon::bool_); }
Tensor TensorMethods::bfloat16() const { return itself(*this).to(tenon::bfloat16); }
std::int64_t TensorMethods::ndim() const { return itself(*this).dim(); }
Tensor TensorMethods::clamp_min(const Scalar& min) const {
  return itself(*this).clamp({.min = min});
}
Tensor TensorMethods::clamp_max(const Scalar& max) const {
  return itself(*this).clamp({.max = max});
}

Tensor TensorReductions::std(const Dims& dim, VarOptions options) const {
  return tenon::std(itself(*this), dim, options);
}
Tensor TensorReductions::max(const Tensor& other) const { return tenon::max(itself(*this), other); }
Tensor TensorReductions::min(const Tensor& other) const { return tenon::min(itself(*this), other); }
Tensor TensorReductions::norm(const NormOptions& given) const {
  const NormOptions options = given;  // see Note [Arguments of one's own]
  const Tensor& self = itself(*this);
  return tenon::norm(options.dtype ? self.to(*options.dtype) : self, options.p, options.dim,
                     {.keepdim = options.keepdim});
}
Tensor TensorReductions::argmax(const ArgOptions& options) const {
  return argmax(options.dim, {.keepdim = options.keepdim});
}
Tensor TensorReductions::argmin(const ArgOptions& options) const {
  return argmin(options.dim, {.keepdim = options.keepdim});
}

}  // namespace tenon
