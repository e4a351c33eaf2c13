// Methods of Tensor whose functions, and what they do, are in tenon/ops/arithmetic.h,
// tenon/ops/lerp.h, tenon/ops/where.h, tenon/ops/activation.h, tenon/ops/matmul.h,
// tenon/ops/scatter.h, tenon/ops/sort.h, tenon/ops/tril.h, tenon/ops/flip.h, tenon/ops/reductions.h
// and tenon/ops/random.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/detail/tensor_arithmetic.h"
#include "tenon/detail/tensor_reductions.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/scalar.h"
#include "tenon/shape.h"

namespace tenon {

class NestedNumbers;
class Tensor;
struct AddmmOptions;
struct BincountOptions;
struct ClampTensorOptions;
struct CloseOptions;
struct DimOptions;
struct LambdOptions;
struct UniqueOptions;
struct UniqueResult;

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
struct ScatterReduceOptions {
  bool include_self = true;  // what is there counts as one of the elements
};
struct SortOptions {
  std::int64_t dim = -1;
  bool descending = false;
  bool stable = true;  // equals keep their order, whatever is said here
};
struct TakeAlongDimOptions {
  OnlyByName by_name = {};
  std::optional<std::int64_t> dim = {};  // none: of the flattened tensor
};
struct TopkOptions {
  std::int64_t dim = -1;
  bool largest = true;
  bool sorted = true;  // the result is sorted, whatever is said here
};
struct TriangleOptions {
  std::int64_t diagonal = 0;
};
struct DiagEmbedOptions {
  std::int64_t offset = 0;
  std::int64_t dim1 = -2;
  std::int64_t dim2 = -1;
};
struct RollOptions {
  Dims dims = {};  // none: of the flattened tensor
};
struct RepeatInterleaveOptions {
  std::optional<std::int64_t> dim = {};          // none: of the flattened tensor
  std::optional<std::int64_t> output_size = {};  // how long that makes it, if it is known
};
struct Rot90Options {
  std::int64_t k = 1;
  Dims dims = {0, 1};
};
struct NanToNumOptions {
  double nan = 0;
  std::optional<double> posinf = {};  // the largest number of the dtype
  std::optional<double> neginf = {};  // the smallest
};
struct MultinomialOptions {
  bool replacement = false;
};
struct NewOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
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
  Tensor clamp(const ClampTensorOptions& options) const;
  const Tensor& clamp_(const ClampOptions& options) const;
  Tensor clip(const ClampOptions& options) const;  // clamp
  Tensor clip(const ClampTensorOptions& options) const;
  const Tensor& clip_(const ClampOptions& options) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor where(const Tensor& condition, const Scalar& other) const;

  Tensor gather(std::int64_t dim, const Tensor& index) const;
  Tensor index_select(std::int64_t dim, const Tensor& index) const;
  Tensor take(const Tensor& index) const;
  Tensor take_along_dim(const Tensor& indices, std::optional<std::int64_t> dim = {}) const;
  Tensor take_along_dim(const Tensor& indices, TakeAlongDimOptions options) const;
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
  Tensor scatter_reduce(std::int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, ScatterReduceOptions options = {}) const;
  const Tensor& scatter_reduce_(std::int64_t dim, const Tensor& index, const Tensor& src,
                                std::string_view reduce, ScatterReduceOptions options = {}) const;
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
  UniqueResult unique() const;
  UniqueResult unique(UniqueOptions options) const;

  Tensor dot(const Tensor& tensor) const;
  Tensor mv(const Tensor& vec) const;
  Tensor mm(const Tensor& mat2) const;
  Tensor bmm(const Tensor& mat2) const;
  Tensor matmul(const Tensor& other) const;
  Tensor outer(const Tensor& vec2) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const AddmmOptions& options) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const AddmmOptions& options) const;

  Tensor tril(std::int64_t diagonal = 0) const;
  Tensor tril(TriangleOptions options) const;
  Tensor triu(std::int64_t diagonal = 0) const;
  Tensor triu(TriangleOptions options) const;
  const Tensor& tril_(std::int64_t diagonal = 0) const;
  const Tensor& tril_(TriangleOptions options) const;
  const Tensor& triu_(std::int64_t diagonal = 0) const;
  const Tensor& triu_(TriangleOptions options) const;
  Tensor diag(std::int64_t diagonal = 0) const;
  Tensor diag(TriangleOptions options) const;
  Tensor diag_embed(DiagEmbedOptions options = {}) const;
  Tensor trace() const;

  Tensor flip(const Dims& dims) const;
  Tensor roll(const Dims& shifts, const RollOptions& options = {}) const;
  Tensor roll(const Dims& shifts, std::int64_t dim) const;
  Tensor repeat(const Shape& sizes) const;
  Tensor tile(const Shape& dims) const;
  Tensor repeat_interleave(std::int64_t repeats, const RepeatInterleaveOptions& options = {}) const;
  Tensor repeat_interleave(std::int64_t repeats, std::int64_t dim) const;
  Tensor repeat_interleave(const Tensor& repeats,
                           const RepeatInterleaveOptions& options = {}) const;
  Tensor repeat_interleave(const Tensor& repeats, std::int64_t dim) const;
  Tensor rot90(std::int64_t k = 1, const Dims& dims = {0, 1}) const;
  Tensor rot90(const Rot90Options& options) const;
  Tensor swapaxes(std::int64_t axis0, std::int64_t axis1) const;
  Tensor swapdims(std::int64_t dim0, std::int64_t dim1) const;

  Tensor logsumexp(const Dims& dim, KeepdimOptions options = {}) const;
  template <class O = DimKeepdimOptions>
  OnlyOf<O, DimKeepdimOptions, Tensor> logsumexp(const O& options) const {
    return logsumexp(options.dim, KeepdimOptions{options.keepdim});
  }
  Tensor nan_to_num(const NanToNumOptions& options = {}) const;
  Tensor cross(const Tensor& other) const;
  Tensor cross(const Tensor& other, std::int64_t dim) const;
  Tensor cross(const Tensor& other, DimOptions options) const;
  Tensor multinomial(std::int64_t num_samples, MultinomialOptions options = {}) const;
  Tensor bincount() const;
  Tensor bincount(const BincountOptions& options) const;

  bool equal(const Tensor& other) const;
  bool allclose(const Tensor& other) const;
  bool allclose(const Tensor& other, CloseOptions options) const;
  Tensor isclose(const Tensor& other) const;
  Tensor isclose(const Tensor& other, CloseOptions options) const;

  // Of this tensor's dtype and device, unless others are named.
  Tensor new_empty(const Shape& size, const NewOptions& options = {}) const;
  Tensor new_zeros(const Shape& size, const NewOptions& options = {}) const;
  Tensor new_ones(const Shape& size, const NewOptions& options = {}) const;
  Tensor new_full(const Shape& size, const Scalar& fill_value,
                  const NewOptions& options = {}) const;
  Tensor new_tensor(const NestedNumbers& data, const NewOptions& options = {}) const;
  // Of that dtype; itself if it is.
  Tensor float_() const;
  Tensor double_() const;
  Tensor half() const;
  Tensor long_() const;
  Tensor int_() const;
  Tensor bool_() const;
  Tensor bfloat16() const;
  std::int64_t ndim() const;
  Tensor clamp_min(const Scalar& min) const;
  Tensor clamp_max(const Scalar& max) const;
  Tensor type_as(const Tensor& other) const;  // converted to its dtype and device

  Tensor softmax(std::int64_t dim, DTypeOption options = {}) const;
  Tensor log_softmax(std::int64_t dim, DTypeOption options = {}) const;
  template <class O = GivenDimDTypeOptions>
  OnlyOf<O, GivenDimDTypeOptions, Tensor> softmax(const O& options) const {
    return softmax(options.dim, DTypeOption{options.dtype});
  }
  template <class O = GivenDimDTypeOptions>
  OnlyOf<O, GivenDimDTypeOptions, Tensor> log_softmax(const O& options) const {
    return log_softmax(options.dim, DTypeOption{options.dtype});
  }
  Tensor hardshrink(double lambd = 0.5) const;
  Tensor hardshrink(LambdOptions options) const;

 protected:
  TensorMethods() noexcept = default;
};

}  // namespace tenon
