// Tensors made larger at their edges: torch.nn.functional.pad.
//
//   Tensor y = pad(x, {1, 1, 2, 2});                          // zeros: columns, then rows
//   Tensor z = pad(image, {3, 3, 3, 3}, {.mode = "reflect"});
#pragma once

#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API pad {
  using Signature = Tensor(const Tensor& input, const Dims& pad, const std::string& mode,
                           std::optional<double> value);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct PadOptions {
  // "constant"; or what is there continued: "reflect" (mirrored, the edge itself not repeated),
  // "replicate" (the edge repeated), "circular" (from the other end).
  std::string mode = "constant";
  std::optional<double> value = {};  // of "constant"; nothing is 0
};
// Two numbers for each padded dimension, how much before it and how much after, the last dimension
// first; negative ones take away. "constant" pads any number of dimensions; the others the last one
// of 2 or 3 dimensions, the last two of 3 or 4, or the last three of 4 or 5 (NotImplementedError).
// ShapeError for what does not fit, ValueError for other numbers. A new tensor, also where nothing
// is added.
TENON_API Tensor pad(const Tensor& input, const Dims& pad, const PadOptions& options = {});

}  // namespace tenon
