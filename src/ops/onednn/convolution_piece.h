// One piece of a convolution, made ready for oneDNN: the convolution of a few samples, rows or
// channels that one thread does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "kernels/convolution.h"
#include "ops/onednn/primitive.h"
#include "tenon/tensor.h"

namespace tenon::onednn {

enum class ConvolutionKind : std::uint8_t {
  forward,     // out from in and weight
  transposed,  // in from out and weight
  weights,     // weight from in and out; of float32, whatever the others are
};

using ElementStrides = std::array<std::int64_t, 5>;  // batch, channels, sizes

// What a piece is made from.
struct PieceSizes {
  ConvolutionKind kind = ConvolutionKind::forward;
  DType dtype = float32;
  bool bias = false;
  ConvolutionSizes sizes;      // padding is what there is before the first element
  ElementStrides in{}, out{};  // of the tensors it is a part of
  ElementStrides weight{};     // out channels, in channels, kernel
};

// Elements are rearranged on the way in and out, unless they lie as oneDNN wants them already.
struct Piece {
  dnnl::primitive primitive;
  dnnl::memory::desc in_plain, in, out_plain, out, weight_plain, weight, bias, scratch;
  dnnl::reorder arrange_in, arrange_out, arrange_weight;
  bool in_fits = false, out_fits = false;
  std::int64_t weight_number = 0;  // of the way the weight is arranged
};

// Null if oneDNN has nothing fast for it. Kept for the next time.
std::shared_ptr<const Piece> piece_of(const PieceSizes& sizes);

}  // namespace tenon::onednn
