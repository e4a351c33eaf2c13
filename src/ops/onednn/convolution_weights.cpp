// Gradients of the weights of convolutions, by oneDNN.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "ops/onednn/convolution.h"
#include "ops/onednn/convolution_piece.h"
#include "ops/onednn/instruction_set.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using onednn::ceil_div;
using onednn::ConvolutionKind;
using onednn::Piece;
using onednn::PieceSizes;

// Samples are cut into chunks, each with a sum of its own, which are added up in order afterwards;
// and the result into blocks of its out channels, or of groups.
struct Plan {
  std::int64_t chunk, chunks;
  std::int64_t block, blocks;  // of out channels, whole groups of them
};

Plan plan_of(const ConvolutionSizes& s, bool whole) {
  constexpr std::int64_t kPieces = 16, kWork = std::int64_t{1} << 21;
  constexpr std::int64_t kSums = std::int64_t{4} << 20;  // elements of all of them together
  const std::int64_t outs = s.out_channels / s.groups;
  const std::int64_t elements = s.out_channels * (s.in_channels / s.groups) * s.kernel_positions();
  Plan plan{s.batch, 1, s.out_channels, 1};
  if (whole) return plan;
  const std::int64_t work = std::max<std::int64_t>(1, s.batch * s.out_positions() * elements);
  const std::int64_t wanted = std::clamp<std::int64_t>(work / kWork, 1, kPieces);
  const std::int64_t sums =
      std::min({s.batch, wanted, std::max<std::int64_t>(1, kSums / elements)});
  plan.chunk = ceil_div(s.batch, sums);
  plan.chunks = ceil_div(s.batch, plan.chunk);
  // Whole vectors of channels on both sides.
  std::int64_t step = 64;
  if (s.groups > 1) {
    std::int64_t groups = 1;
    while (groups < 16 &&
           (groups * outs % 16 != 0 || groups * (s.in_channels / s.groups) % 16 != 0))
      groups *= 2;
    step = groups * outs;
  }
  const std::int64_t blocks = ceil_div(wanted, plan.chunks);
  plan.block = std::min(s.out_channels, ceil_div(ceil_div(s.out_channels, blocks), step) * step);
  plan.blocks = ceil_div(s.out_channels, plan.block);
  return plan;
}

class WeightsRun {
 public:
  WeightsRun(const ConvolutionSizes& s, const Plan& plan, const Tensor& weight, const Tensor& in,
             const Tensor& out)
      : s_(s),
        plan_(plan),
        in_(in),
        out_(out),
        to_(weight.data<float>()),
        row_((s.in_channels / s.groups) * s.kernel_positions()),
        elements_(s.out_channels * row_) {
    common_.kind = ConvolutionKind::weights;
    common_.dtype = in.dtype();
    std::copy(in.stride().begin(), in.stride().end(), common_.in.begin());
    std::copy(out.stride().begin(), out.stride().end(), common_.out.begin());
    std::copy(weight.stride().begin(), weight.stride().end(), common_.weight.begin());
  }

  bool prepare() {
    const onednn::OneThread alone;
    for (std::int64_t i = 0; i < plan_.chunks * plan_.blocks; ++i) {
      // All chunks but the last are alike.
      const std::int64_t chunk = i / plan_.blocks;
      if (chunk > 0 && chunk < plan_.chunks - 1) {
        pieces_.push_back(pieces_[static_cast<std::size_t>(i % plan_.blocks)]);
        continue;
      }
      pieces_.push_back(onednn::piece_of(piece_sizes(chunk, i % plan_.blocks)));
      if (!pieces_.back()) return false;
    }
    return true;
  }

  void run() {
    // The first chunk's sum is the result.
    std::vector<float> sums(static_cast<std::size_t>((plan_.chunks - 1) * elements_));
    const auto sum_of = [&](std::int64_t chunk) {
      return chunk == 0 ? to_ : sums.data() + (chunk - 1) * elements_;
    };
    parallel_for(0, plan_.chunks * plan_.blocks, 1, [&](std::int64_t first, std::int64_t last) {
      const onednn::OneThread alone;
      try {
        dnnl::stream stream(onednn::engine());
        for (std::int64_t i = first; i < last; ++i) calculate(stream, i, sum_of(i / plan_.blocks));
      } catch (const dnnl::error& error) {
        throw Error(concat("oneDNN failed to calculate the gradient of a convolution's weight: ",
                           error.what()));
      }
    });
    if (plan_.chunks == 1) return;
    parallel_for(0, elements_, 32768, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t chunk = 1; chunk < plan_.chunks; ++chunk) {
        const float* sum = sum_of(chunk);
        for (std::int64_t i = first; i < last; ++i) to_[i] += sum[i];
      }
    });
  }

 private:
  std::int64_t channels_of(std::int64_t block) const {
    return std::min(plan_.block, s_.out_channels - block * plan_.block);
  }
  // The first channel of in that a block needs.
  std::int64_t in_channel(std::int64_t block) const {
    if (s_.groups == 1) return 0;
    return block * plan_.block / (s_.out_channels / s_.groups) * (s_.in_channels / s_.groups);
  }
  PieceSizes piece_sizes(std::int64_t chunk, std::int64_t block) const {
    PieceSizes piece = common_;
    ConvolutionSizes& s = piece.sizes;
    s = s_;
    s.batch = std::min(plan_.chunk, s_.batch - chunk * plan_.chunk);
    s.out_channels = channels_of(block);
    if (s_.groups > 1) {
      s.groups = s.out_channels / (s_.out_channels / s_.groups);
      s.in_channels = s.groups * (s_.in_channels / s_.groups);
    }
    return piece;
  }

  void calculate(dnnl::stream& stream, std::int64_t number, float* sum) {
    const std::int64_t chunk = number / plan_.blocks, block = number % plan_.blocks;
    const Piece& piece = *pieces_[static_cast<std::size_t>(number)];
    const auto at = [&](const Tensor& tensor, std::int64_t channel) {
      return static_cast<std::byte*>(tensor.data_ptr()) +
             (chunk * plan_.chunk * tensor.stride(0) + channel * tensor.stride(1)) *
                 tensor.element_size();
    };
    const auto in_plain = onednn::memory(piece.in_plain, at(in_, in_channel(block)));
    const auto out_plain = onednn::memory(piece.out_plain, at(out_, block * plan_.block));
    const auto weight_plain = onednn::memory(piece.weight_plain, sum + block * plan_.block * row_);
    const onednn::Scratch in_near(0, piece.in_fits ? 0 : piece.in.get_size());
    const onednn::Scratch out_near(1, piece.out_fits ? 0 : piece.out.get_size());
    const onednn::Scratch scratch(2, piece.scratch.get_size());
    const onednn::Scratch weight_near(3, piece.weight.get_size());
    const auto in = piece.in_fits ? in_plain : onednn::memory(piece.in, in_near.data());
    const auto out = piece.out_fits ? out_plain : onednn::memory(piece.out, out_near.data());
    const auto weight = onednn::memory(piece.weight, weight_near.data());
    if (!piece.in_fits) bring(stream, piece.arrange_in, piece.turn_in, in_plain, in);
    if (!piece.out_fits) bring(stream, piece.arrange_out, piece.turn_out, out_plain, out);
    piece.primitive.execute(stream,
                            {{DNNL_ARG_SRC, in},
                             {DNNL_ARG_DIFF_DST, out},
                             {DNNL_ARG_DIFF_WEIGHTS, weight},
                             {DNNL_ARG_SCRATCHPAD, onednn::memory(piece.scratch, scratch.data())}});
    piece.arrange_weight.execute(stream, {{DNNL_ARG_FROM, weight}, {DNNL_ARG_TO, weight_plain}});
    stream.wait();
  }

  const ConvolutionSizes& s_;
  Plan plan_;
  const Tensor &in_, &out_;
  float* to_;
  std::int64_t row_, elements_;
  PieceSizes common_;
  std::vector<std::shared_ptr<const Piece>> pieces_;
};

}  // namespace

bool onednn_convolution_weights(const ConvolutionSizes& s, const Tensor& weight, const Tensor& in,
                                const Tensor& out) {
  limit_instruction_set();
  if (in.dtype() == bfloat16 && !has_fast_bfloat16()) return false;
  for (const bool whole : {false, true}) {
    WeightsRun run(s, plan_of(s, whole), weight, in, out);
    if (!run.prepare()) continue;
    run.run();
    return true;
  }
  return false;
}

}  // namespace tenon
