// Convolutions, and transposed ones.
//
//   nn::Conv2d first(3, 64, 7, {.stride = 2, .padding = 3, .bias = false});
//   nn::Conv1d same(8, 8, 3, {.padding = "same", .padding_mode = "circular"});
//   nn::ConvTranspose2d up(64, 32, {4, 2}, {.stride = 2});
//   Tensor y = up(x, {20, 20});  // of the sizes that are possible, this one
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/ops/convolution.h"

namespace tenon::nn {

struct ConvOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = 1;
  ConvPadding padding = 0;
  Dims dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct ConvTransposeOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims stride = 1;
  Dims padding = 0;
  Dims output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Dims dilation = 1;
  std::string padding_mode = "zeros";  // nothing else
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

namespace detail {

// What all of them have. The sizes are lists of as many numbers as there are dimensions.
template <class Base>
class TENON_API ConvBase : public Base {
 public:
  // Draws new values, as the constructor does.
  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t in_channels, out_channels;
  Dims kernel_size, stride;
  ConvPadding padding;
  Dims dilation;
  bool transposed;
  Dims output_padding;
  std::int64_t groups;
  std::string padding_mode;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};

 protected:
  struct Setting {
    std::size_t dims;
    std::int64_t in_channels, out_channels;
    const Dims& kernel_size;
    const Dims& stride;
    const ConvPadding& padding;
    const Dims& dilation;
    bool transposed;
    Dims output_padding;
    std::int64_t groups;
    bool bias;
    const std::string& padding_mode;
    std::optional<Device> device;
    std::optional<DType> dtype;
  };
  explicit ConvBase(const Setting& setting);
};

using ConvTransposeCallable = Callable<Tensor(const Tensor&, const Dims&)>;
extern template class TENON_API ConvBase<Layer>;
extern template class TENON_API ConvBase<ConvTransposeCallable>;

class TENON_API Conv : public ConvBase<Layer> {
 protected:
  Conv(std::size_t dims, std::int64_t in_channels, std::int64_t out_channels,
       const Dims& kernel_size, const ConvOptions& options);
  Tensor forward(const Tensor& input) override;
};

class TENON_API ConvTranspose : public ConvBase<ConvTransposeCallable> {
 protected:
  ConvTranspose(std::size_t dims, std::int64_t in_channels, std::int64_t out_channels,
                const Dims& kernel_size, const ConvTransposeOptions& options);
  // With a stride several sizes of the result are possible: output_size chooses one, in place of
  // output_padding; an empty one chooses nothing. ValueError if it is none of them.
  Tensor forward(const Tensor& input, const Dims& output_size) override;
};

}  // namespace detail

// The weight is (out_channels, in_channels / groups, kernel). ValueError for options that cannot
// be.
class TENON_API Conv1d : public detail::Conv {
 public:
  using Options = ConvOptions;
  Conv1d(std::int64_t in, std::int64_t out, const Dims& kernel_size_, const Options& options = {})
      : Conv(1, in, out, kernel_size_, options) {}
};
class TENON_API Conv2d : public detail::Conv {
 public:
  using Options = ConvOptions;
  Conv2d(std::int64_t in, std::int64_t out, const Dims& kernel_size_, const Options& options = {})
      : Conv(2, in, out, kernel_size_, options) {}
};
class TENON_API Conv3d : public detail::Conv {
 public:
  using Options = ConvOptions;
  Conv3d(std::int64_t in, std::int64_t out, const Dims& kernel_size_, const Options& options = {})
      : Conv(3, in, out, kernel_size_, options) {}
};

// The weight is (in_channels, out_channels / groups, kernel).
class TENON_API ConvTranspose1d : public detail::ConvTranspose {
 public:
  using Options = ConvTransposeOptions;
  ConvTranspose1d(std::int64_t in, std::int64_t out, const Dims& kernel_size_,
                  const Options& options = {})
      : ConvTranspose(1, in, out, kernel_size_, options) {}
};
class TENON_API ConvTranspose2d : public detail::ConvTranspose {
 public:
  using Options = ConvTransposeOptions;
  ConvTranspose2d(std::int64_t in, std::int64_t out, const Dims& kernel_size_,
                  const Options& options = {})
      : ConvTranspose(2, in, out, kernel_size_, options) {}
};
class TENON_API ConvTranspose3d : public detail::ConvTranspose {
 public:
  using Options = ConvTransposeOptions;
  ConvTranspose3d(std::int64_t in, std::int64_t out, const Dims& kernel_size_,
                  const Options& options = {})
      : ConvTranspose(3, in, out, kernel_size_, options) {}
};

}  // namespace tenon::nn
