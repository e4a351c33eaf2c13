// Pools as layers (tenon/ops/pooling.h). Each takes (N, C, ...) or (C, ...).
//
//   nn::MaxPool2d pool(3, {.stride = 2, .padding = 1});
//   auto [values, indices] = pool.with_indices(x);
//   Tensor back = nn::MaxUnpool2d(3, {.stride = 2, .padding = 1})(values, indices, x.shape());
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/ops/pooling.h"

namespace tenon::nn {

struct MaxPoolOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;
  Dims dilation = 1;
  // A call gives the values alone, whatever is said here: with_indices() gives both.
  bool return_indices = false;
  bool ceil_mode = false;
};
struct AvgPool1dOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};
struct AvgPoolOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};
};
struct AdaptiveMaxPoolOptions {
  bool return_indices = false;  // as for MaxPoolOptions
};
struct LPPoolOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};
  bool ceil_mode = false;
};
struct MaxUnpoolOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = {};         // the kernel size
  Dims padding = 0;
};

// What pools of one, two and three dimensions share. A list of numbers in braces is a kernel size,
// and a second number a stride: MaxPool2d({3, 2}), MaxPool2d(3, 2). With a constructor from a
// std::initializer_list g++ 12 would take MaxPool2d{.stride = 2, .kernel_size = 3} for
// MaxPool2d(2, 3), explicit or not (Note [Braces with names]): the list is an array.

class TENON_API MaxPool : public Layer {
 public:
  using Options = MaxPoolOptions;
  // The values, and where they are. Hooks do not see this call.
  virtual std::tuple<Tensor, Tensor> with_indices(const Tensor& input) = 0;
  std::string extra_repr() const override;

  Dims kernel_size, stride, padding, dilation;
  bool return_indices, ceil_mode;

 protected:
  MaxPool(const Dims& kernel, const Options& options);
  MaxPoolFunctionOptions function_options() const;
};
class TENON_API AvgPool : public Layer {
 public:
  using Options = AvgPoolOptions;
  std::string extra_repr() const override;

  Dims kernel_size, stride, padding;
  bool ceil_mode, count_include_pad;
  std::optional<std::int64_t> divisor_override;

 protected:
  AvgPool(const Dims& kernel, const Options& options);
  AvgPoolFunctionOptions function_options() const;
};
class TENON_API AdaptivePool : public Layer {
 public:
  std::string extra_repr() const override;

  OutputSize output_size;

 protected:
  explicit AdaptivePool(const OutputSize& size) : output_size(size) {}
};
class TENON_API LPPool : public Layer {
 public:
  using Options = LPPoolOptions;
  std::string extra_repr() const override;

  Scalar norm_type;
  Dims kernel_size, stride;
  bool ceil_mode;

 protected:
  LPPool(const Scalar& norm, const Dims& kernel, const Options& options);
};
// Called with values and indices, and with the size that is to come out if it is not the usual one.
class TENON_API MaxUnpool
    : public Callable<Tensor(const Tensor& input, const Tensor& indices, const Dims& output_size)> {
 public:
  using Options = MaxUnpoolOptions;
  std::string extra_repr() const override;

  Dims kernel_size, stride, padding;

 protected:
  MaxUnpool(std::size_t dimensions, const Dims& kernel, const Options& options);
};

class TENON_API MaxPool1d : public MaxPool {
 public:
  explicit MaxPool1d(const Dims& kernel, const Options& options = {}) : MaxPool(kernel, options) {}
  template <std::size_t N>
  explicit MaxPool1d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxPool(Dims(kernel), options) {}
  template <std::integral I>
  explicit MaxPool1d(const Dims& kernel, I by) : MaxPool(kernel, {.stride = by}) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input) override;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API MaxPool2d : public MaxPool {
 public:
  explicit MaxPool2d(const Dims& kernel, const Options& options = {}) : MaxPool(kernel, options) {}
  template <std::size_t N>
  explicit MaxPool2d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxPool(Dims(kernel), options) {}
  template <std::integral I>
  explicit MaxPool2d(const Dims& kernel, I by) : MaxPool(kernel, {.stride = by}) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input) override;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API MaxPool3d : public MaxPool {
 public:
  explicit MaxPool3d(const Dims& kernel, const Options& options = {}) : MaxPool(kernel, options) {}
  template <std::size_t N>
  explicit MaxPool3d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxPool(Dims(kernel), options) {}
  template <std::integral I>
  explicit MaxPool3d(const Dims& kernel, I by) : MaxPool(kernel, {.stride = by}) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input) override;

 protected:
  Tensor forward(const Tensor& input) override;
};

// Its kernel size, stride and padding are shown as tuples.
class TENON_API AvgPool1d : public AvgPool {
 public:
  using Options = AvgPool1dOptions;
  explicit AvgPool1d(const Dims& kernel, const Options& options = {});
  template <std::size_t N>
  explicit AvgPool1d(const std::int64_t (&kernel)[N], const Options& options = {})
      : AvgPool1d(Dims(kernel), options) {}
  template <std::integral I>
  explicit AvgPool1d(const Dims& kernel, I by) : AvgPool1d(kernel, Options{.stride = by}) {}
  std::string extra_repr() const override;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AvgPool2d : public AvgPool {
 public:
  explicit AvgPool2d(const Dims& kernel, const Options& options = {}) : AvgPool(kernel, options) {}
  template <std::size_t N>
  explicit AvgPool2d(const std::int64_t (&kernel)[N], const Options& options = {})
      : AvgPool(Dims(kernel), options) {}
  template <std::integral I>
  explicit AvgPool2d(const Dims& kernel, I by) : AvgPool(kernel, {.stride = by}) {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AvgPool3d : public AvgPool {
 public:
  explicit AvgPool3d(const Dims& kernel, const Options& options = {}) : AvgPool(kernel, options) {}
  template <std::size_t N>
  explicit AvgPool3d(const std::int64_t (&kernel)[N], const Options& options = {})
      : AvgPool(Dims(kernel), options) {}
  template <std::integral I>
  explicit AvgPool3d(const Dims& kernel, I by) : AvgPool(kernel, {.stride = by}) {}

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API AdaptiveAvgPool1d : public AdaptivePool {
 public:
  using Options = OutputSize;  // make<AdaptiveAvgPool1d>({1})
  explicit AdaptiveAvgPool1d(const OutputSize& size) : AdaptivePool(size) {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AdaptiveAvgPool2d : public AdaptivePool {
 public:
  using Options = OutputSize;  // make<AdaptiveAvgPool2d>({1, 1})
  explicit AdaptiveAvgPool2d(const OutputSize& size) : AdaptivePool(size) {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AdaptiveAvgPool3d : public AdaptivePool {
 public:
  using Options = OutputSize;  // make<AdaptiveAvgPool3d>({1, 1, 1})
  explicit AdaptiveAvgPool3d(const OutputSize& size) : AdaptivePool(size) {}

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API AdaptiveMaxPool1d : public AdaptivePool {
 public:
  using Options = AdaptiveMaxPoolOptions;
  explicit AdaptiveMaxPool1d(const OutputSize& size, const Options& options = {})
      : AdaptivePool(size), return_indices(options.return_indices) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input);

  bool return_indices;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AdaptiveMaxPool2d : public AdaptivePool {
 public:
  using Options = AdaptiveMaxPoolOptions;
  explicit AdaptiveMaxPool2d(const OutputSize& size, const Options& options = {})
      : AdaptivePool(size), return_indices(options.return_indices) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input);

  bool return_indices;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API AdaptiveMaxPool3d : public AdaptivePool {
 public:
  using Options = AdaptiveMaxPoolOptions;
  explicit AdaptiveMaxPool3d(const OutputSize& size, const Options& options = {})
      : AdaptivePool(size), return_indices(options.return_indices) {}
  std::tuple<Tensor, Tensor> with_indices(const Tensor& input);

  bool return_indices;

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API LPPool1d : public LPPool {
 public:
  LPPool1d(const Scalar& norm, const Dims& kernel, const Options& options = {})
      : LPPool(norm, kernel, options) {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API LPPool2d : public LPPool {
 public:
  LPPool2d(const Scalar& norm, const Dims& kernel, const Options& options = {})
      : LPPool(norm, kernel, options) {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API LPPool3d : public LPPool {
 public:
  LPPool3d(const Scalar& norm, const Dims& kernel, const Options& options = {})
      : LPPool(norm, kernel, options) {}

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API MaxUnpool1d : public MaxUnpool {
 public:
  explicit MaxUnpool1d(const Dims& kernel, const Options& options = {})
      : MaxUnpool(1, kernel, options) {}
  template <std::integral I>
  explicit MaxUnpool1d(const Dims& kernel, I by) : MaxUnpool(1, kernel, {.stride = by}) {}
  template <std::size_t N>
  explicit MaxUnpool1d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxUnpool(1, Dims(kernel), options) {}

 protected:
  Tensor forward(const Tensor& input, const Tensor& indices, const Dims& output_size) override;
};
class TENON_API MaxUnpool2d : public MaxUnpool {
 public:
  explicit MaxUnpool2d(const Dims& kernel, const Options& options = {})
      : MaxUnpool(2, kernel, options) {}
  template <std::integral I>
  explicit MaxUnpool2d(const Dims& kernel, I by) : MaxUnpool(2, kernel, {.stride = by}) {}
  template <std::size_t N>
  explicit MaxUnpool2d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxUnpool(2, Dims(kernel), options) {}

 protected:
  Tensor forward(const Tensor& input, const Tensor& indices, const Dims& output_size) override;
};
class TENON_API MaxUnpool3d : public MaxUnpool {
 public:
  explicit MaxUnpool3d(const Dims& kernel, const Options& options = {})
      : MaxUnpool(3, kernel, options) {}
  template <std::integral I>
  explicit MaxUnpool3d(const Dims& kernel, I by) : MaxUnpool(3, kernel, {.stride = by}) {}
  template <std::size_t N>
  explicit MaxUnpool3d(const std::int64_t (&kernel)[N], const Options& options = {})
      : MaxUnpool(3, Dims(kernel), options) {}

 protected:
  Tensor forward(const Tensor& input, const Tensor& indices, const Dims& output_size) override;
};

}  // namespace tenon::nn
