// Blocks that slide over images, as columns (im2col), and back (col2im).
//
//   Tensor columns = unfold(x, 3, {.padding = 1});             // (N, C * 9, blocks)
//   Tensor image = fold(columns, {28, 28}, 3, {.padding = 1}); // blocks that overlap are added
//
// (Tensor::unfold is another thing: a view of windows along one dimension.)
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API im2col {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& dilation,
                           const Dims& padding, const Dims& stride);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API col2im {
  using Signature = Tensor(const Tensor& self, const Dims& output_size, const Dims& kernel_size,
                           const Dims& dilation, const Dims& padding, const Dims& stride);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

struct FoldFunctionOptions {
  OnlyByName by_name = {};  // {2, 1} is no list of options
  Dims dilation = 1;
  Dims padding = 0;
  Dims stride = 1;
};
// Of an image (N, C, H, W), or (C, H, W), every block as a column: (N, C * kernel, blocks).
TENON_API Tensor unfold(const Tensor& input, const Dims& kernel_size,
                        const FoldFunctionOptions& options = {});
// The sum of the blocks that the columns are, in an image of that size.
TENON_API Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
                      const FoldFunctionOptions& options = {});

}  // namespace tenon
