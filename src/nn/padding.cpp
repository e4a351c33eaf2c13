#include "tenon/nn/padding.h"

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/ops/padding.h"

namespace tenon::nn {

namespace {

Dims for_each_side(const Dims& padding, std::size_t dims) {
  if (padding.size() == 2 * dims) return padding;
  if (padding.size() == 1) return Dims::filled(2 * dims, padding[0]);
  throw ValueError(concat("padding is one number or ", 2 * dims, ", but got ", padding.repr()));
}

// PyTorch's circular layers say by themselves which ranks they take.
void check_rank(const Tensor& input, std::int64_t dims) {
  if (input.dim() == dims + 1 || input.dim() == dims + 2) return;
  throw ShapeError(concat("expected ", dims + 1, "D or ", dims + 2, "D input (got ", input.dim(),
                          "D input): its shape is ", bracketed(input.shape())));
}

}  // namespace

PadLayer::PadLayer(const Dims& by, std::size_t dims, const char* mode)
    : padding(for_each_side(by, dims)), mode_(mode) {}

std::string PadLayer::extra_repr() const { return padding.repr(); }

Tensor PadLayer::forward(const Tensor& input) { return pad(input, padding, {.mode = mode_}); }

ConstantPadLayer::ConstantPadLayer(const Dims& by, std::size_t dims, const Scalar& with)
    : PadLayer(by, dims, "constant"), value(with) {}

std::string ConstantPadLayer::extra_repr() const {
  return concat("padding=", padding.repr(), ", value=", value.repr());
}

Tensor ConstantPadLayer::forward(const Tensor& input) {
  return pad(input, padding, {.value = value.to<double>()});
}

Tensor CircularPad1d::forward(const Tensor& input) {
  check_rank(input, 1);
  return PadLayer::forward(input);
}
Tensor CircularPad2d::forward(const Tensor& input) {
  check_rank(input, 2);
  return PadLayer::forward(input);
}
Tensor CircularPad3d::forward(const Tensor& input) {
  check_rank(input, 3);
  return PadLayer::forward(input);
}

}  // namespace tenon::nn
