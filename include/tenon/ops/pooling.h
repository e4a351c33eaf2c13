// Pools: the largest, the mean or another summary of windows that slide over a signal, an image or
// a volume.
//
//   Tensor half = max_pool2d(x, 2);                                // kernel and stride 2
//   auto [values, indices] = max_pool2d_with_indices(x, 3, {.stride = 2, .padding = 1});
//   Tensor features = adaptive_avg_pool2d(x, 1);                   // or {7, None}
//
// Inputs are (N, C, spatial dimensions...) or the same without N, which may be 0. One number stands
// for all spatial dimensions. Results are packed in the usual order, whatever order the input has.
// Indices are int64 places in the flattened spatial dimensions; of equals the first is taken, and
// NaN is the largest. ShapeError or ValueError where sizes do not fit, before anything is done.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/ops/indexing.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API max_pool1d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_pool2d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_pool3d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_pool1d_with_indices {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& kernel_size,
                                               const Dims& stride, const Dims& padding,
                                               const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_pool2d_with_indices {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& kernel_size,
                                               const Dims& stride, const Dims& padding,
                                               const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_pool3d_with_indices {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& kernel_size,
                                               const Dims& stride, const Dims& padding,
                                               const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API avg_pool1d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, bool ceil_mode, bool count_include_pad,
                           std::optional<std::int64_t> divisor_override);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API avg_pool2d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, bool ceil_mode, bool count_include_pad,
                           std::optional<std::int64_t> divisor_override);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API avg_pool3d {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, bool ceil_mode, bool count_include_pad,
                           std::optional<std::int64_t> divisor_override);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_avg_pool1d {
  using Signature = Tensor(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_avg_pool2d {
  using Signature = Tensor(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_avg_pool3d {
  using Signature = Tensor(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_max_pool1d {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_max_pool2d {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API adaptive_max_pool3d {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API lp_pool1d {
  using Signature = Tensor(const Tensor& self, const Scalar& norm_type, const Dims& kernel_size,
                           const Dims& stride, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API lp_pool2d {
  using Signature = Tensor(const Tensor& self, const Scalar& norm_type, const Dims& kernel_size,
                           const Dims& stride, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API lp_pool3d {
  using Signature = Tensor(const Tensor& self, const Scalar& norm_type, const Dims& kernel_size,
                           const Dims& stride, bool ceil_mode);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_unpool1d {
  using Signature = Tensor(const Tensor& self, const Tensor& indices, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_unpool2d {
  using Signature = Tensor(const Tensor& self, const Tensor& indices, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API max_unpool3d {
  using Signature = Tensor(const Tensor& self, const Tensor& indices, const Dims& output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// What an adaptive pool is to make: a number for all dimensions or one for each, where None (or
// std::nullopt) stands for the size that the input has.
class TENON_API OutputSize {
 public:
  class Entry {
   public:
    template <std::integral I>
    Entry(I size) : size_(static_cast<std::int64_t>(size)) {}
    Entry(NoneType) {}
    Entry(std::nullopt_t) {}
    Entry(std::optional<std::int64_t> size) : size_(size) {}
    const std::optional<std::int64_t>& size() const noexcept { return size_; }

   private:
    std::optional<std::int64_t> size_;
  };

  // 7, None and {7, None}: Note [Braces with names].
  template <class... E>
    requires(std::constructible_from<Entry, E> && ...)
  OutputSize(E... sizes) : entries_{Entry(sizes).size()...} {}
  template <std::derived_from<Dims> D>
  OutputSize(const D& sizes) : entries_(sizes.begin(), sizes.end()) {}

  const std::vector<std::optional<std::int64_t>>& entries() const noexcept { return entries_; }
  // "7", "None", "(7, None)"
  std::string repr() const;

 private:
  std::vector<std::optional<std::int64_t>> entries_;
};

struct MaxPoolFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;         // with what is smaller than everything
  Dims dilation = 1;
  bool ceil_mode = false;  // whether windows that begin inside count when they end outside
  // ValueError: a function has one type of result. Call max_pool2d_with_indices and so on.
  bool return_indices = false;
};
struct AvgPool1dFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;         // with zeros
  bool ceil_mode = false;
  bool count_include_pad = true;  // whether the padding counts in what is divided by
};
struct AvgPoolFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};  // divided by instead
};
struct AdaptiveMaxPoolFunctionOptions {
  bool return_indices = false;  // ValueError: call adaptive_max_pool2d_with_indices and so on
};
struct LPPoolFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  bool ceil_mode = false;
};
struct MaxUnpoolFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;
  // Which of the sizes that a pool makes the input's size of it was: the spatial ones, or all.
  Dims output_size = {};
};

// The largest element of each window. Real numbers of any kind.
TENON_API Tensor max_pool1d(const Tensor& input, const Dims& kernel_size,
                            const MaxPoolFunctionOptions& options = {});
TENON_API Tensor max_pool2d(const Tensor& input, const Dims& kernel_size,
                            const MaxPoolFunctionOptions& options = {});
TENON_API Tensor max_pool3d(const Tensor& input, const Dims& kernel_size,
                            const MaxPoolFunctionOptions& options = {});
// And where it is.
TENON_API std::tuple<Tensor, Tensor> max_pool1d_with_indices(
    const Tensor& input, const Dims& kernel_size, const MaxPoolFunctionOptions& options = {});
TENON_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(
    const Tensor& input, const Dims& kernel_size, const MaxPoolFunctionOptions& options = {});
TENON_API std::tuple<Tensor, Tensor> max_pool3d_with_indices(
    const Tensor& input, const Dims& kernel_size, const MaxPoolFunctionOptions& options = {});
// The mean of each window. Floating numbers, and int64, whose means are cut off towards zero.
TENON_API Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size,
                            const AvgPool1dFunctionOptions& options = {});
TENON_API Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size,
                            const AvgPoolFunctionOptions& options = {});
TENON_API Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size,
                            const AvgPoolFunctionOptions& options = {});
// The strides that Python programs give by position.
template <std::integral I>
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, I stride) {
  return max_pool2d(input, kernel_size, MaxPoolFunctionOptions{.stride = stride});
}
template <std::integral I>
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, I stride) {
  return avg_pool2d(input, kernel_size, AvgPoolFunctionOptions{.stride = stride});
}
// The mean, or the largest, of as many windows as are asked for, as equal as can be.
TENON_API Tensor adaptive_avg_pool1d(const Tensor& input, const OutputSize& output_size);
TENON_API Tensor adaptive_avg_pool2d(const Tensor& input, const OutputSize& output_size);
TENON_API Tensor adaptive_avg_pool3d(const Tensor& input, const OutputSize& output_size);
TENON_API Tensor adaptive_max_pool1d(const Tensor& input, const OutputSize& output_size,
                                     AdaptiveMaxPoolFunctionOptions options = {});
TENON_API Tensor adaptive_max_pool2d(const Tensor& input, const OutputSize& output_size,
                                     AdaptiveMaxPoolFunctionOptions options = {});
TENON_API Tensor adaptive_max_pool3d(const Tensor& input, const OutputSize& output_size,
                                     AdaptiveMaxPoolFunctionOptions options = {});
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(
    const Tensor& input, const OutputSize& output_size);
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(
    const Tensor& input, const OutputSize& output_size);
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(
    const Tensor& input, const OutputSize& output_size);
// The root of the sum of powers of each window.
TENON_API Tensor lp_pool1d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                           const LPPoolFunctionOptions& options = {});
TENON_API Tensor lp_pool2d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                           const LPPoolFunctionOptions& options = {});
TENON_API Tensor lp_pool3d(const Tensor& input, const Scalar& norm_type, const Dims& kernel_size,
                           const LPPoolFunctionOptions& options = {});
// Zeros, with each element where its index says: undoes a max pool as far as can be. IndexError for
// an index that is no place of the result.
TENON_API Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                              const MaxUnpoolFunctionOptions& options = {});
TENON_API Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                              const MaxUnpoolFunctionOptions& options = {});
TENON_API Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                              const MaxUnpoolFunctionOptions& options = {});

}  // namespace tenon
