// Unfold and Fold: blocks of images as columns, and back (tenon/ops/fold.h).
#pragma once

#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct FoldOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims dilation = 1;
  Dims padding = 0;
  Dims stride = 1;
};

class TENON_API Unfold : public Layer {
 public:
  using Options = FoldOptions;
  explicit Unfold(const Dims& kernel_size, const Options& options = {});

  std::string extra_repr() const override;

  Dims kernel_size, dilation, padding, stride;

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API Fold : public Layer {
 public:
  using Options = FoldOptions;
  Fold(const Dims& output_size, const Dims& kernel_size, const Options& options = {});

  std::string extra_repr() const override;

  Dims output_size, kernel_size, dilation, padding, stride;

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
