// The lazy layers of torch.nn: each takes the arguments of the plain layer but for the one size
// that it finds out itself, from its first input or from what is loaded into it.
//
//   nn::Child<nn::LazyConv2d> conv{this, "conv", 32, 3, {.padding = 1}};
//   nn::Child<nn::LazyBatchNorm2d> norm{this, "norm"};
//   nn::Child<nn::LazyLinear> head{this, "head", 10};
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/nn/batchnorm.h"
#include "tenon/nn/conv.h"
#include "tenon/nn/lazy.h"
#include "tenon/nn/linear.h"

namespace tenon::nn {

namespace detail {

// What a shape has in the place of that size while nothing says it.
inline constexpr std::int64_t kUnknownSize = -1;

// A layer of which one size is not known at first, and with it the shapes of its tensors. What a
// load brings must agree with that size and with those that are known.
class TENON_API LazySized : public LazyModuleMixin {
 public:
  Shape shape_for(const TensorSlot& slot, const Shape& incoming,
                  const ShapeOf& shape_of) const override;
  bool sizes_from_tensors() override;

 protected:
  using LazyModuleMixin::LazyModuleMixin;

  // For inputs of that size. ValueError if what was loaded is for another. What a subclass has
  // beside the layer's tensors is left to it.
  void initialize(std::int64_t size);

  virtual std::string_view size_name() const = 0;
  virtual void set_size(std::int64_t size) = 0;
  virtual void reset() = 0;
  // What the shape of one of its tensors says about the size; nothing if it is no shape for it.
  virtual std::optional<std::int64_t> size_in(std::string_view name, const Shape& shape) const = 0;
  // The shape of one of its tensors; nothing if that does not depend on the layer's sizes.
  virtual std::optional<Shape> shape_with(std::string_view name, std::int64_t size) const = 0;
};

// The first argument is the input, from which the size is inferred; others do not matter.
template <class M, class Signature = typename M::Signature>
class LazyLayer;
template <class M, class... A>
class LazyLayer<M, Tensor(const Tensor&, A...)> : public Lazy<M, LazySized> {
 public:
  void initialize_parameters(const Tensor& input, A... /*others*/) override {
    this->initialize(infer(input));
  }

 protected:
  using Lazy<M, LazySized>::Lazy;
  virtual std::int64_t infer(const Tensor& input) const = 0;
  void reset() override { this->reset_parameters(); }
};

// What the families have in common without being templates.
TENON_API std::int64_t lazy_channels(const Module& layer, const Tensor& input, std::size_t dims,
                                     std::int64_t groups);
TENON_API void check_out_channels(std::int64_t out_channels, std::int64_t groups);
TENON_API Shape conv_weight_shape(std::int64_t in, std::int64_t out, std::int64_t groups,
                                  bool transposed, const Dims& kernel_size);
TENON_API std::optional<std::int64_t> conv_channels_in(const Shape& weight, std::int64_t groups,
                                                       bool transposed, std::size_t dims);

template <class C>
class LazyConvBase : public LazyLayer<C> {
 public:
  using Options = typename C::Options;

 protected:
  LazyConvBase(std::int64_t out, const Dims& kernel_size_, const Options& options)
      : LazyLayer<C>(0, 0, kernel_size_, placeholder(options)) {
    check_out_channels(out, this->groups);
    this->out_channels = out;
    const UninitializedParameterOptions like{.device = options.device, .dtype = options.dtype};
    this->weight = uninitialized_parameter(like);
    if (options.bias) this->bias = uninitialized_parameter(like);
  }

  std::int64_t infer(const Tensor& input) const override {
    return lazy_channels(*this, input, this->kernel_size.size(), this->groups);
  }
  std::string_view size_name() const override { return "in_channels"; }
  void set_size(std::int64_t size) override { this->in_channels = size; }
  std::optional<std::int64_t> size_in(std::string_view name, const Shape& shape) const override {
    if (name != "weight") return std::nullopt;
    return conv_channels_in(shape, this->groups, this->transposed, this->kernel_size.size());
  }
  std::optional<Shape> shape_with(std::string_view name, std::int64_t size) const override {
    if (name == "bias") return Shape{this->out_channels};
    if (name != "weight") return std::nullopt;
    return conv_weight_shape(size, this->out_channels, this->groups, this->transposed,
                             this->kernel_size);
  }

 private:
  // Without tensors that would be replaced at once, and on meta, where nothing is drawn.
  static Options placeholder(Options options) {
    options.bias = false;
    options.device = Device::meta();
    return options;
  }
};

template <class N>
class LazyNormBase : public LazyLayer<N> {
 public:
  // (PyTorch's lazy instance norms have the defaults of batch norms, too.)
  using Options = BatchNormOptions;

 protected:
  explicit LazyNormBase(const Options& options)
      : LazyLayer<N>(0, typename N::Options{.eps = options.eps,
                                            .momentum = options.momentum,
                                            .affine = false,
                                            .track_running_stats = false,
                                            .device = options.device,
                                            .dtype = options.dtype,
                                            .bias = false}) {
    this->make_lazy(options);
  }

  std::int64_t infer(const Tensor& input) const override { return this->channels_of(input); }
  std::string_view size_name() const override { return "num_features"; }
  void set_size(std::int64_t size) override { this->num_features = size; }
  std::optional<std::int64_t> size_in(std::string_view name, const Shape& shape) const override {
    if (!is_sized(name) || shape.size() != 1) return std::nullopt;
    return shape[0];
  }
  std::optional<Shape> shape_with(std::string_view name, std::int64_t size) const override {
    if (!is_sized(name)) return std::nullopt;
    return Shape{size};
  }

 private:
  // Subclasses may have others.
  static bool is_sized(std::string_view name) {
    return name == "weight" || name == "bias" || name == "running_mean" || name == "running_var";
  }
};

}  // namespace detail

class TENON_API LazyLinear : public detail::LazyLayer<Linear> {
 public:
  explicit LazyLinear(std::int64_t out_features, const Options& options = {});

 protected:
  std::int64_t infer(const Tensor& input) const override;
  std::string_view size_name() const override;
  void set_size(std::int64_t size) override;
  std::optional<std::int64_t> size_in(std::string_view name, const Shape& shape) const override;
  std::optional<Shape> shape_with(std::string_view name, std::int64_t size) const override;
};

// ValueError for options that cannot be; an input of the wrong rank, or channels that the groups do
// not divide, are refused at the first call and leave the layer lazy.
class TENON_API LazyConv1d : public detail::LazyConvBase<Conv1d> {
 public:
  LazyConv1d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};
class TENON_API LazyConv2d : public detail::LazyConvBase<Conv2d> {
 public:
  LazyConv2d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};
class TENON_API LazyConv3d : public detail::LazyConvBase<Conv3d> {
 public:
  LazyConv3d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};
class TENON_API LazyConvTranspose1d : public detail::LazyConvBase<ConvTranspose1d> {
 public:
  LazyConvTranspose1d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};
class TENON_API LazyConvTranspose2d : public detail::LazyConvBase<ConvTranspose2d> {
 public:
  LazyConvTranspose2d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};
class TENON_API LazyConvTranspose3d : public detail::LazyConvBase<ConvTranspose3d> {
 public:
  LazyConvTranspose3d(std::int64_t out, const Dims& kernel_size_, const Options& options = {});
};

class TENON_API LazyBatchNorm1d : public detail::LazyNormBase<BatchNorm1d> {
 public:
  explicit LazyBatchNorm1d(const BatchNormOptions& options = {});
};
class TENON_API LazyBatchNorm2d : public detail::LazyNormBase<BatchNorm2d> {
 public:
  explicit LazyBatchNorm2d(const BatchNormOptions& options = {});
};
class TENON_API LazyBatchNorm3d : public detail::LazyNormBase<BatchNorm3d> {
 public:
  explicit LazyBatchNorm3d(const BatchNormOptions& options = {});
};
class TENON_API LazyInstanceNorm1d : public detail::LazyNormBase<InstanceNorm1d> {
 public:
  using Options = BatchNormOptions;
  explicit LazyInstanceNorm1d(const BatchNormOptions& options = {});
};
class TENON_API LazyInstanceNorm2d : public detail::LazyNormBase<InstanceNorm2d> {
 public:
  using Options = BatchNormOptions;
  explicit LazyInstanceNorm2d(const BatchNormOptions& options = {});
};
class TENON_API LazyInstanceNorm3d : public detail::LazyNormBase<InstanceNorm3d> {
 public:
  using Options = BatchNormOptions;
  explicit LazyInstanceNorm3d(const BatchNormOptions& options = {});
};

}  // namespace tenon::nn
