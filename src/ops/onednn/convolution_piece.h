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

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

// Floats that oneDNN wants with channels side by side are rearranged by ourselves, faster.
struct Turn {
  std::int64_t block = 0;  // channels side by side; 0: not of this kind
  std::int64_t batch = 0, blocks = 0, positions = 0;
  std::int64_t sample_stride = 0, channel_stride = 0;  // of the tensor
};

// Elements are rearranged on the way in and out, unless they lie as oneDNN wants them already.
struct Piece {
  dnnl::primitive primitive;
  dnnl::memory::desc in_plain, in, out_plain, out, weight_plain, weight, bias, scratch;
  dnnl::reorder arrange_in, arrange_out, arrange_weight;
  bool in_fits = false, out_fits = false;
  Turn turn_in, turn_out;
  std::int64_t weight_number = 0;  // of the way the weight is arranged
};

// What is at `tensor`, of the description `plain`, in the order of `arranged` at `near`; and back.
// `arrange` is the piece's primitive for it.
void bring(dnnl::stream& stream, const dnnl::reorder& arrange, const Turn& turn,
           const dnnl::memory& plain, const dnnl::memory& arranged);
void bring_back(dnnl::stream& stream, const dnnl::reorder& arrange, const Turn& turn,
                const dnnl::memory& arranged, const dnnl::memory& plain);

// Null if oneDNN has nothing fast for it. Kept for the next time.
std::shared_ptr<const Piece> piece_of(const PieceSizes& sizes);

}  // namespace tenon::onednn
