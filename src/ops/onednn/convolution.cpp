#include "ops/onednn/convolution.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/packed_copies.h"
#include "ops/onednn/convolution_piece.h"
#include "ops/onednn/gemm.h"
#include "ops/onednn/instruction_set.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using onednn::ceil_div;
using onednn::ConvolutionKind;
using onednn::ElementStrides;
using onednn::Piece;
using onednn::PieceSizes;

constexpr std::int64_t kPieces = 16;                     // so many cores are to have work
constexpr std::int64_t kWork = std::int64_t{1} << 21;    // multiplications worth a thread
constexpr std::int64_t kCached = std::int64_t{1} << 19;  // bytes of a piece, so that it stays near

// In multiplications. Moving an element takes as long as several.
std::int64_t work_of_sample(const ConvolutionSizes& s) {
  const std::int64_t moved = s.in_channels * s.in_positions() + s.out_channels * s.out_positions();
  return s.out_positions() * s.out_channels * (s.in_channels / s.groups) * s.kernel_positions() +
         8 * moved;
}

ElementStrides strides_of(const Tensor& tensor) {
  ElementStrides strides{};
  std::copy(tensor.stride().begin(), tensor.stride().end(), strides.begin());
  return strides;
}

std::byte* address(const Tensor& tensor, std::int64_t offset) {
  return static_cast<std::byte*>(tensor.data_ptr()) + offset * tensor.element_size();
}

// Rows of the result of one piece, and of what they are calculated from.
struct Stripe {
  std::int64_t first, rows;        // of out, along the axis
  std::int64_t in_first, in_rows;  // of in
  std::int64_t padding;            // before the first of in
};

// How a convolution is cut.
struct Cut {
  std::size_t axis = 1;
  std::vector<Stripe> stripes;
  bool by_group = false;   // blocks are of groups, else of channels
  std::int64_t block = 0;  // groups, or channels of what is calculated, in one
  std::int64_t blocks = 1;
};

// The first axis with more than one row in what is calculated.
std::size_t axis_of(const ConvolutionSizes& s, const std::array<std::int64_t, 3>& result) {
  std::size_t axis = 3 - s.dims;
  while (axis < 2 && result[axis] == 1) ++axis;
  return axis;
}

// Stripes of rows of what is calculated: in the cache, worth a thread each, and enough of them.
std::int64_t rows_of_stripe(const ConvolutionSizes& s, std::size_t axis, std::int64_t rows) {
  const std::int64_t bytes =
      4 * (s.in_channels * s.in_positions() + s.out_channels * s.out_positions());
  const std::int64_t weight_bytes =
      4 * s.out_channels * (s.in_channels / s.groups) * s.kernel_positions();
  if (rows < 2 || weight_bytes > bytes) return rows;
  const std::int64_t reach = (s.kernel[axis] - 1) * s.dilation[axis] + 1;
  const std::int64_t least =
      std::max({std::int64_t{4}, 2 * reach / s.stride[axis],
                ceil_div(kWork, std::max<std::int64_t>(1, work_of_sample(s) / rows))});
  const std::int64_t near = kCached / std::max<std::int64_t>(1, bytes / rows);
  const std::int64_t shared = ceil_div(rows, ceil_div(kPieces, s.batch));
  const std::int64_t wanted = std::clamp(std::min(near, shared), std::min(least, rows), rows);
  return ceil_div(rows, ceil_div(rows, wanted));
}

// Blocks of channels or groups, if there are few pieces without.
void cut_channels(Cut& cut, const ConvolutionSizes& s, std::int64_t channels) {
  const auto pieces = s.batch * static_cast<std::int64_t>(cut.stripes.size());
  const std::int64_t worth = std::max<std::int64_t>(1, work_of_sample(s) / kWork);
  const std::int64_t wanted = std::min(ceil_div(kPieces, pieces), worth);
  cut.by_group = s.groups > 1;
  const std::int64_t all = cut.by_group ? s.groups : channels;
  cut.block = all;
  if (wanted < 2) return;
  std::int64_t step = 64;
  if (cut.by_group) {
    // Whole vectors of channels on both sides.
    const std::int64_t ins = s.in_channels / s.groups, outs = s.out_channels / s.groups;
    step = 1;
    while (step < 16 && (step * ins % 16 != 0 || step * outs % 16 != 0)) step *= 2;
  }
  cut.block = std::min(all, ceil_div(ceil_div(all, wanted), step) * step);
  cut.blocks = ceil_div(all, cut.block);
}

Cut cut_forward(const ConvolutionSizes& s, bool whole) {
  Cut cut;
  const std::size_t a = cut.axis = axis_of(s, s.out);
  const std::int64_t reach = (s.kernel[a] - 1) * s.dilation[a] + 1;
  const std::int64_t rows = whole ? s.out[a] : rows_of_stripe(s, a, s.out[a]);
  for (std::int64_t first = 0; first < s.out[a]; first += rows) {
    const std::int64_t here = std::min(rows, s.out[a] - first);
    const std::int64_t begin = first * s.stride[a] - s.padding[a];
    const std::int64_t end = begin + (here - 1) * s.stride[a] + reach;
    const std::int64_t from = std::max<std::int64_t>(0, begin), to = std::min(s.in[a], end);
    cut.stripes.push_back({first, here, from, whole ? s.in[a] - from : to - from, from - begin});
  }
  cut.block = s.groups > 1 ? s.groups : s.out_channels;
  cut.by_group = s.groups > 1;
  if (!whole) cut_channels(cut, s, s.out_channels);
  return cut;
}

// Rows of in, which come from all rows of out whose windows reach them.
Cut cut_transposed(const ConvolutionSizes& s, bool whole) {
  Cut cut;
  const std::size_t a = cut.axis = axis_of(s, s.in);
  const std::int64_t reach = (s.kernel[a] - 1) * s.dilation[a];
  const std::int64_t rows = whole ? s.in[a] : rows_of_stripe(s, a, s.in[a]);
  for (std::int64_t first = 0; first < s.in[a]; first += rows) {
    const std::int64_t here = std::min(rows, s.in[a] - first);
    const std::int64_t low = first + s.padding[a] - reach;
    const std::int64_t from = low <= 0 ? 0 : ceil_div(low, s.stride[a]);
    const std::int64_t to =
        std::min(s.out[a] - 1, (first + here - 1 + s.padding[a]) / s.stride[a]) + 1;
    cut.stripes.push_back(
        {from, to - from, first, here, s.padding[a] + first - from * s.stride[a]});
  }
  cut.block = s.groups > 1 ? s.groups : s.in_channels;
  cut.by_group = s.groups > 1;
  if (!whole) cut_channels(cut, s, s.in_channels);
  return cut;
}

[[noreturn]] void failed(const dnnl::error& error) {
  throw Error(concat("oneDNN failed to calculate a convolution: ", error.what()));
}

// The weight in the order that a piece wants it, kept for the next time. Null if there is no memory
// for it.
std::shared_ptr<const PackedCopy> arranged_weight(const Piece& piece, const Tensor& weight,
                                                  std::int64_t offset) {
  PackedKey key{1, piece.weight_number, weight.layout().offset + offset};
  std::copy(weight.stride().begin(), weight.stride().end(), key.begin() + 3);
  if (auto found = find_packed_copy(weight, key).copy) return found;
  auto copy = PackedCopy::make(piece.weight.get_size());
  if (!copy) return nullptr;
  try {
    dnnl::stream stream(onednn::engine());
    piece.arrange_weight.execute(
        stream, {{DNNL_ARG_FROM, onednn::memory(piece.weight_plain, address(weight, offset))},
                 {DNNL_ARG_TO, onednn::memory(piece.weight, copy->data())}});
    stream.wait();
  } catch (const dnnl::error& error) {
    failed(error);
  }
  keep_packed_copy(weight, key, copy);
  return copy;
}

// What the pieces of one convolution are made of: for each stripe and block its primitive and its
// weight.
struct Part {
  std::shared_ptr<const Piece> piece;
  std::shared_ptr<const PackedCopy> weight;
};

// Forward and transposed.
class Run {
 public:
  Run(ConvolutionKind kind, const ConvolutionSizes& sizes, Cut cut, const Tensor& in,
      const Tensor& out, const Tensor& weight, const std::optional<Tensor>& bias)
      : kind_(kind), s_(sizes), cut_(std::move(cut)), in_(in), out_(out), weight_(weight) {
    if (bias) bias_ = *bias;
    common_.kind = kind;
    common_.dtype = in.dtype();
    common_.bias = bias.has_value();
    common_.in = strides_of(in);
    common_.out = strides_of(out);
    common_.weight = strides_of(weight);
  }

  bool prepare() {
    const onednn::OneThread alone;
    for (const Stripe& stripe : cut_.stripes) {
      if (stripe.rows < 1 || stripe.in_rows < 1) return false;
      for (std::int64_t b = 0; b < cut_.blocks; ++b) {
        auto piece = onednn::piece_of(piece_sizes(stripe, b));
        if (!piece) return false;
        parts_.push_back({std::move(piece), nullptr});
      }
    }
    // Stripes usually want the weight in one order.
    std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const PackedCopy>> arranged;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto b = static_cast<std::int64_t>(i) % cut_.blocks;
      auto& weight = arranged[{parts_[i].piece->weight_number, b}];
      if (!weight) weight = arranged_weight(*parts_[i].piece, weight_, weight_offset(b));
      if (!weight) return false;
      parts_[i].weight = weight;
    }
    return true;
  }

  void run() {
    const auto pieces = s_.batch * static_cast<std::int64_t>(parts_.size());
    const std::int64_t work = std::max<std::int64_t>(1, s_.batch * work_of_sample(s_) / pieces);
    parallel_for(0, pieces, ceil_div(kWork / 4, work), [&](std::int64_t first, std::int64_t last) {
      const onednn::OneThread alone;
      try {
        dnnl::stream stream(onednn::engine());
        for (std::int64_t i = first; i < last; ++i) {
          const auto part = i % static_cast<std::int64_t>(parts_.size());
          calculate(stream, i / static_cast<std::int64_t>(parts_.size()), part);
        }
      } catch (const dnnl::error& error) {
        failed(error);
      }
    });
  }

 private:
  struct Channels {
    std::int64_t first, count;
  };
  Channels channels(std::int64_t b, std::int64_t all, bool cut) const {
    if (cut_.by_group) {
      const std::int64_t each = all / s_.groups, first = b * cut_.block;
      return {first * each, std::min(cut_.block, s_.groups - first) * each};
    }
    if (!cut) return {0, all};
    return {b * cut_.block, std::min(cut_.block, all - b * cut_.block)};
  }
  Channels in_channels(std::int64_t b) const {
    return channels(b, s_.in_channels, kind_ == ConvolutionKind::transposed);
  }
  Channels out_channels(std::int64_t b) const {
    return channels(b, s_.out_channels, kind_ == ConvolutionKind::forward);
  }

  PieceSizes piece_sizes(const Stripe& stripe, std::int64_t b) const {
    PieceSizes piece = common_;
    ConvolutionSizes& s = piece.sizes;
    s = s_;
    s.batch = 1;
    s.in_channels = in_channels(b).count;
    s.out_channels = out_channels(b).count;
    if (cut_.by_group) s.groups = std::min(cut_.block, s_.groups - b * cut_.block);
    s.in[cut_.axis] = stripe.in_rows;
    s.out[cut_.axis] = stripe.rows;
    s.padding[cut_.axis] = stripe.padding;
    return piece;
  }
  std::int64_t weight_offset(std::int64_t b) const {
    if (cut_.by_group || kind_ == ConvolutionKind::forward)
      return out_channels(b).first * weight_.stride(0);
    return in_channels(b).first * weight_.stride(1);
  }

  void calculate(dnnl::stream& stream, std::int64_t sample, std::int64_t part) {
    const Stripe& stripe = cut_.stripes[static_cast<std::size_t>(part / cut_.blocks)];
    const auto& [piece, weight] = parts_[static_cast<std::size_t>(part)];
    const std::int64_t b = part % cut_.blocks;
    const auto dim = static_cast<std::int64_t>(2 + cut_.axis - (3 - s_.dims));
    std::byte* in = address(in_, sample * in_.stride(0) + in_channels(b).first * in_.stride(1) +
                                     stripe.in_first * in_.stride(dim));
    std::byte* out =
        address(out_, sample * out_.stride(0) + out_channels(b).first * out_.stride(1) +
                          stripe.first * out_.stride(dim));
    const onednn::Scratch in_near(0, piece->in_fits ? 0 : piece->in.get_size());
    const onednn::Scratch out_near(1, piece->out_fits ? 0 : piece->out.get_size());
    const onednn::Scratch scratch(2, piece->scratch.get_size());
    const auto in_plain = onednn::memory(piece->in_plain, in);
    const auto out_plain = onednn::memory(piece->out_plain, out);
    const auto in_memory = piece->in_fits ? in_plain : onednn::memory(piece->in, in_near.data());
    const auto out_memory =
        piece->out_fits ? out_plain : onednn::memory(piece->out, out_near.data());
    const auto weight_memory = onednn::memory(piece->weight, weight->data());
    const auto scratch_memory = onednn::memory(piece->scratch, scratch.data());
    if (kind_ == ConvolutionKind::forward) {
      if (!piece->in_fits) bring(stream, piece->arrange_in, piece->turn_in, in_plain, in_memory);
      std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, in_memory},
                                                      {DNNL_ARG_WEIGHTS, weight_memory},
                                                      {DNNL_ARG_DST, out_memory},
                                                      {DNNL_ARG_SCRATCHPAD, scratch_memory}};
      if (bias_.defined()) {
        arguments.emplace(DNNL_ARG_BIAS,
                          onednn::memory(piece->bias, address(bias_, out_channels(b).first)));
      }
      piece->primitive.execute(stream, arguments);
      if (!piece->out_fits)
        bring_back(stream, piece->arrange_out, piece->turn_out, out_memory, out_plain);
    } else {
      if (!piece->out_fits)
        bring(stream, piece->arrange_out, piece->turn_out, out_plain, out_memory);
      piece->primitive.execute(stream, {{DNNL_ARG_DIFF_DST, out_memory},
                                        {DNNL_ARG_WEIGHTS, weight_memory},
                                        {DNNL_ARG_DIFF_SRC, in_memory},
                                        {DNNL_ARG_SCRATCHPAD, scratch_memory}});
      if (!piece->in_fits)
        bring_back(stream, piece->arrange_in, piece->turn_in, in_memory, in_plain);
    }
    stream.wait();
  }

  ConvolutionKind kind_;
  const ConvolutionSizes& s_;
  Cut cut_;
  const Tensor &in_, &out_, &weight_;
  Tensor bias_;
  PieceSizes common_;
  std::vector<Part> parts_;  // blocks of the first stripe, of the second, ...
};

bool run(ConvolutionKind kind, const ConvolutionSizes& sizes, const Tensor& in, const Tensor& out,
         const Tensor& weight, const std::optional<Tensor>& bias) {
  limit_instruction_set();
  if (in.dtype() == bfloat16 && !has_fast_bfloat16()) return false;
  for (const bool whole : {false, true}) {
    Run run(
        kind, sizes,
        kind == ConvolutionKind::forward ? cut_forward(sizes, whole) : cut_transposed(sizes, whole),
        in, out, weight, bias);
    if (!run.prepare()) continue;
    run.run();
    return true;
  }
  return false;
}

// A kernel of one element is a product with the matrix of the channels, for which nothing has to be
// rearranged.
bool is_product(const ConvolutionSizes& s, const Tensor& from, const Tensor& to,
                const Tensor& weight) {
  return s.groups == 1 && s.kernel_positions() == 1 && s.in == s.out &&
         s.stride == std::array<std::int64_t, 3>{1, 1, 1} &&
         s.padding == std::array<std::int64_t, 3>{0, 0, 0} && from.dtype() == float32 &&
         from.is_contiguous() && to.is_contiguous() && weight.is_contiguous();
}

// to = matrix * from for each sample, where the matrix is (rows, columns).
void multiply_samples(const ConvolutionSizes& s, const Tensor& to, const Tensor& from,
                      const PackedMatrix& matrix, std::int64_t rows, std::int64_t columns,
                      const float* bias) {
  const std::int64_t all = s.in_positions();
  const std::int64_t cached = kCached / 4 / std::max(rows, columns) / 16 * 16;
  const std::int64_t step = std::min(all, std::max<std::int64_t>(128, cached));
  const std::int64_t steps = ceil_div(all, step);
  const std::int64_t work = std::max<std::int64_t>(1, rows * columns * step);
  parallel_for(
      0, s.batch * steps, ceil_div(kWork / 4, work), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t sample = i / steps, at = i % steps * step;
          const std::int64_t here = std::min(step, all - at);
          auto* out = to.data<float>() + sample * rows * all + at;
          onednn_multiply(rows, here, columns, matrix,
                          {from.data<float>() + sample * columns * all + at, all, false}, out, all);
          for (std::int64_t row = 0; bias != nullptr && row < rows; ++row) {
            float* line = out + row * all;
            for (std::int64_t p = 0; p < here; ++p) line[p] += bias[row];
          }
        }
      });
}

}  // namespace

bool onednn_convolve(const ConvolutionSizes& s, const Tensor& out, const Tensor& in,
                     const Tensor& weight, const std::optional<Tensor>& bias) {
  if (is_product(s, in, out, weight)) {
    multiply_samples(s, out, in, {weight.data_ptr(), s.in_channels, false}, s.out_channels,
                     s.in_channels, bias ? bias->data<float>() : nullptr);
    return true;
  }
  return run(ConvolutionKind::forward, s, in, out, weight, bias);
}

bool onednn_convolve_transposed(const ConvolutionSizes& s, const Tensor& in, const Tensor& out,
                                const Tensor& weight) {
  if (is_product(s, out, in, weight)) {
    multiply_samples(s, in, out, {weight.data_ptr(), s.in_channels, true}, s.in_channels,
                     s.out_channels, nullptr);
    return true;
  }
  return run(ConvolutionKind::transposed, s, in, out, weight, {});
}

}  // namespace tenon
