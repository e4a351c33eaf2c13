// Sums, means or largest elements of rows of a table.
#include "tenon/ops/embedding_bag.h"

#include <algorithm>
#include <vector>

#include "base/element_cast.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/embedding_rows.h"
#include "ops/support/gradients.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::embedding_bag::info{"embedding_bag", kind};

namespace op {

// Positions, and for each of them the number of its bag, in ascending order. The second result is,
// for the largest elements, which row each is of (-1: of none), and else nothing. A padding of -1
// is none.
struct embedding_bags {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& weight, const Tensor& positions,
                                               const Tensor& bags,
                                               const std::optional<Tensor>& factors,
                                               std::int64_t count, std::string_view mode,
                                               bool scale_grad_by_freq, std::int64_t padding);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo embedding_bags::info{"_embedding_bag", kind};

}  // namespace op

namespace {

template <class T>
using Carried = std::conditional_t<is_small_float<T>, float, T>;

// How many rows each bag counts, at least one.
Tensor sizes_of_bags(const Tensor& positions, const Tensor& bags, std::int64_t count,
                     std::int64_t padding, DType dtype) {
  const TensorOptions like{.dtype = dtype, .device = positions.device()};
  Tensor each = ones({positions.numel()}, like);
  if (padding >= 0) each = masked_fill(each, positions == padding, 0);
  return clamp(zeros({count}, like).index_add_(0, bags, each), {.min = 1});
}

}  // namespace

template <>
struct Rule<op::embedding_bags> {
  static constexpr std::string_view gradient = "EmbeddingBagBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place == 1 || place == 2 || (place == 3 && wanted[0]) || (place == 0 && wanted[3]) ||
           place == kResult + 1;
  }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& weight,
                       const Tensor& positions, const Tensor& bags,
                       const std::optional<Tensor>& factors, std::int64_t count,
                       std::string_view mode, bool scale_grad_by_freq, std::int64_t padding) {
    // Counts and sums have more digits than 16 bits have room for.
    const DType wide = compute_dtype(grads[0].dtype());
    const Tensor grad = grads[0].to(wide);
    if (g.wanted(0)) {
      if (mode == "max") {
        g.set(0, largest_gradient(grad, g.shape(0), g.result(1)));
      } else {
        const TensorOptions like{.dtype = grad.dtype(), .device = grad.device()};
        Tensor each = grad;
        if (mode == "mean") {
          each = each / sizes_of_bags(positions, bags, count, padding, grad.dtype()).unsqueeze(1);
        }
        each = index_select(each, 0, bags);
        if (factors) each = each * factors->to(wide).unsqueeze(1);
        if (padding >= 0) each = masked_fill(each, (positions == padding).unsqueeze(1), 0);
        if (scale_grad_by_freq) {
          const Tensor times =
              slices_gradient(ones({positions.numel()}, like), {g.shape(0)[0]}, positions, 0);
          each = each / index_select(times, 0, positions).unsqueeze(1);
        }
        g.set(0, slices_gradient(each, g.shape(0), positions, 0));
      }
    }
    if (g.wanted(3)) {
      Tensor each =
          (index_select(grad, 0, bags) * index_select(weight, 0, positions).to(wide)).sum(1);
      if (padding >= 0) each = masked_fill(each, positions == padding, 0);
      g.set(3, each);
    }
  }
  static std::array<Layout, 2> infer(const Tensor& weight, const Tensor& /*positions*/,
                                     const Tensor& /*bags*/,
                                     const std::optional<Tensor>& /*factors*/, std::int64_t count,
                                     std::string_view mode, bool /*scale_grad_by_freq*/,
                                     std::int64_t /*padding*/) {
    const Shape shape{count, weight.size(1)};
    return {Layout::packed(shape, weight.dtype(), weight.device()),
            Layout::packed(mode == "max" ? shape : Shape{0}, int64, weight.device())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& weight, const Tensor& positions,
                  const Tensor& bags, const std::optional<Tensor>& factors, std::int64_t count,
                  std::string_view mode, bool /*scale_grad_by_freq*/, std::int64_t padding) {
    const Tensor table = weight.contiguous(), rows = positions.contiguous(),
                 owners = bags.contiguous();
    const Tensor scales = factors ? factors->contiguous() : Tensor();
    const std::int64_t columns = weight.size(1), n = positions.numel();
    const std::int64_t* row = static_cast<const std::int64_t*>(rows.data_ptr());
    const std::int64_t* owner = static_cast<const std::int64_t*>(owners.data_ptr());
    check_rows_exist(rows, weight);
    // Whoever calls this operator with tensors of another origin has not checked them.
    if (owners.numel() != n || (scales.defined() && scales.numel() != n) ||
        !std::is_sorted(owner, owner + n) || (n > 0 && (owner[0] < 0 || owner[n - 1] >= count))) {
      throw ValueError(concat("embedding_bag: ", n, " positions with ", owners.numel(),
                              " numbers of bags, which have to ascend and be less than ", count));
    }
    auto* largest = static_cast<std::int64_t*>(out[1].data_ptr());
    visit(weight.dtype(), [&]<class T>() {
      if constexpr (std::floating_point<T> || std::same_as<T, Half> || std::same_as<T, BFloat16>) {
        const T* from = static_cast<const T*>(table.data_ptr());
        const T* scale = scales.defined() ? static_cast<const T*>(scales.data_ptr()) : nullptr;
        T* to = static_cast<T*>(out[0].data_ptr());
        parallel_for(0, count, 16, [&](std::int64_t first, std::int64_t last) {
          std::vector<Carried<T>> sum(static_cast<std::size_t>(columns));
          std::int64_t i = std::lower_bound(owner, owner + n, first) - owner;
          for (std::int64_t bag = first; bag < last; ++bag) {
            std::fill(sum.begin(), sum.end(), Carried<T>(0));
            std::int64_t counted = 0;
            if (mode == "max") std::fill_n(largest + bag * columns, columns, -1);
            for (; i < n && owner[i] == bag; ++i) {
              if (row[i] == padding) continue;
              const T* each = from + row[i] * columns;
              if (mode == "max") {
                take_larger(each, sum, largest + bag * columns, row[i], counted == 0);
              } else {
                const Carried<T> factor = scale ? convert<Carried<T>>(scale[i]) : Carried<T>(1);
                for (std::size_t c = 0; c < sum.size(); ++c)
                  sum[c] += convert<Carried<T>>(each[c]) * factor;
              }
              ++counted;
            }
            const Carried<T> by =
                mode == "mean" && counted > 0 ? Carried<T>(counted) : Carried<T>(1);
            for (std::size_t c = 0; c < sum.size(); ++c)
              to[bag * columns + static_cast<std::int64_t>(c)] = convert<T>(sum[c] / by);
          }
        });
      }
    });
  }

 private:
  template <class T>
  static void take_larger(const T* each, std::vector<Carried<T>>& most, std::int64_t* rows,
                          std::int64_t row, bool is_first) {
    for (std::size_t c = 0; c < most.size(); ++c) {
      const auto value = convert<Carried<T>>(each[c]);
      if (!is_first && !(value > most[c])) continue;
      most[c] = value;
      rows[c] = row;
    }
  }
  static Tensor largest_gradient(const Tensor& grad, const Shape& shape, const Tensor& rows) {
    const Tensor none = rows < 0;
    return scatter_add(zeros(shape, {.dtype = grad.dtype(), .device = grad.device()}), 0,
                       masked_fill(rows, none, 0), masked_fill(grad, none, 0));
  }
};

namespace {

void check_bag_arguments(const Tensor& input, const Tensor& weight,
                         const std::optional<Tensor>& offsets, std::string_view mode,
                         bool scale_grad_by_freq, bool sparse,
                         const std::optional<Tensor>& per_sample_weights) {
  const auto is_index = [](const Tensor& t) { return t.dtype() == int64 || t.dtype() == int32; };
  if (weight.dim() != 2) {
    throw ShapeError(concat("embedding_bag: weight has to be a 2D Tensor, but got Tensor of shape ",
                            bracketed(weight.shape())));
  }
  if (!weight.is_floating_point()) not_implemented("embedding_bag", weight.dtype());
  if (!is_index(input)) {
    throw DTypeError(concat("embedding_bag: expected indices of dtype torch.int64 or torch.int32, ",
                            "but got ", repr(input.dtype()), ": convert them with to(int64)"));
  }
  std::vector<Tensor> all{input, weight};
  for (const std::optional<Tensor>* other : {&offsets, &per_sample_weights})
    if (*other) all.push_back(**other);
  same_device("embedding_bag", all);
  if (offsets && offsets->body().is_wrapper()) {
    throw NotImplementedError(
        "embedding_bag: the offsets are a user-defined tensor, whose values cannot be read: a "
        "type of tensor that stands for offsets takes over embedding_bag itself");
  }
  if (per_sample_weights && per_sample_weights->shape() != input.shape()) {
    throw ShapeError(concat("embedding_bag: If per_sample_weights (",
                            bracketed(per_sample_weights->shape()),
                            ") is not None, then it must have the same shape as the input (",
                            bracketed(input.shape()), ")"));
  }
  if (input.dim() == 2 && offsets) {
    throw ValueError(concat(
        "embedding_bag: if input is 2D, then offsets has to be None, as input is treated is a "
        "mini-batch of fixed length sequences. However, found offsets of shape ",
        bracketed(offsets->shape()), " and an input of ", bracketed(input.shape())));
  }
  if (input.dim() == 1 && !offsets)
    throw ValueError("embedding_bag: offsets has to be a 1D Tensor but got none");
  if (input.dim() == 1 && offsets->dim() != 1) {
    throw ShapeError(concat("embedding_bag: offsets has to be a 1D Tensor but got one of shape ",
                            bracketed(offsets->shape())));
  }
  if (input.dim() != 1 && input.dim() != 2) {
    throw ShapeError(
        concat("embedding_bag: input has to be 1D or 2D Tensor, but got Tensor of shape ",
               bracketed(input.shape())));
  }
  if (offsets && !is_index(*offsets)) {
    throw DTypeError(concat("embedding_bag: expected offsets of dtype torch.int64 or torch.int32, ",
                            "but got ", repr(offsets->dtype())));
  }
  if (mode != "sum" && mode != "mean" && mode != "max") {
    throw ValueError(
        concat("embedding_bag: mode has to be one of sum, mean or max, and is \"", mode, "\""));
  }
  if (mode == "max" && scale_grad_by_freq) {
    throw ValueError(
        "embedding_bag: max mode does not support scaling the gradient by the frequency");
  }
  if (sparse) {
    throw NotImplementedError(
        "embedding_bag: gradients are never sparse here: leave out sparse = true");
  }
  if (per_sample_weights && mode != "sum") {
    throw NotImplementedError(concat(
        "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
        "mode='sum' (got mode='",
        mode, "')"));
  }
  if (per_sample_weights && per_sample_weights->dtype() != weight.dtype()) {
    throw DTypeError(concat("embedding_bag: expected weight (", repr(weight.dtype()),
                            ") and per_sample_weights (", repr(per_sample_weights->dtype()),
                            ") to have the same dtype"));
  }
}

// The number of the bag of each position that is in one.
Tensor bags_of(const Tensor& offsets, std::int64_t length, bool include_last_offset,
               std::int64_t& count) {
  const Tensor starts = offsets.to({.dtype = int64, .device = Device::cpu()}).contiguous();
  const std::int64_t n = starts.numel();
  if (include_last_offset && n < 1) {
    throw ValueError("embedding_bag: include_last_offset: number of offsets should be at least 1");
  }
  count = include_last_offset ? n - 1 : n;
  const std::int64_t* start = static_cast<const std::int64_t*>(starts.data_ptr());
  if (n > 0 && start[0] != 0) {
    throw ValueError(concat(
        "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
        "start from position 0. However, got ",
        start[0]));
  }
  if (n > 0 && start[n - 1] > length) {
    throw ValueError(concat("embedding_bag: offsets[-1] can not be greater than input's length ",
                            length, " but got offsets[-1] of ", start[n - 1]));
  }
  std::vector<std::int64_t> bags;
  for (std::int64_t bag = 0; bag < count; ++bag) {
    const std::int64_t end = bag + 1 < n ? start[bag + 1] : length;
    if (end < start[bag]) {
      throw ValueError(concat("embedding_bag: offsets have to be in ascending order: offsets[",
                              bag + 1, "] is ", end, " after ", start[bag]));
    }
    bags.insert(bags.end(), static_cast<std::size_t>(end - start[bag]), bag);
  }
  return tensor(bags, {.dtype = int64, .device = Device::cpu()});
}

}  // namespace

template <>
struct Rule<op::embedding_bag> {
  static Tensor compose(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& offsets, std::optional<double> max_norm,
                        double norm_type, bool scale_grad_by_freq, std::string_view mode,
                        bool sparse, const std::optional<Tensor>& per_sample_weights,
                        bool include_last_offset, std::optional<std::int64_t> padding_idx) {
    check_bag_arguments(input, weight, offsets, mode, scale_grad_by_freq, sparse,
                        per_sample_weights);
    const std::int64_t rows = weight.size(0);
    if (padding_idx && (*padding_idx >= rows || *padding_idx < -rows)) {
      throw ValueError(
          concat("embedding_bag: padding_idx must be within the number of embeddings, ", -rows,
                 " through ", rows - 1, " but got ", *padding_idx));
    }
    Tensor positions = input.reshape({-1}).to(int64), bags;
    std::int64_t count = 0;
    if (input.dim() == 2) {
      count = input.size(0);
      bags = arange(count, {.dtype = int64, .device = input.device()})
                 .unsqueeze(1)
                 .expand(input.shape())
                 .reshape({-1});
    } else if (offsets->is_meta()) {
      count = offsets->numel() - (include_last_offset ? 1 : 0);
      bags = positions;
    } else {
      bags = bags_of(*offsets, input.numel(), include_last_offset, count).to(input.device());
    }
    std::optional<Tensor> factors;
    if (per_sample_weights) factors = per_sample_weights->reshape({-1});
    // What comes after the last bag's end is in none.
    if (!input.is_meta() && bags.numel() < positions.numel()) {
      positions = positions.narrow(0, 0, bags.numel());
      if (factors) factors = factors->narrow(0, 0, bags.numel());
    }
    if (positions.is_cpu() && !positions.body().is_wrapper()) {
      check_rows_exist(positions, weight);
      if (max_norm) shorten_rows(weight, positions, *max_norm, norm_type);
    } else if (max_norm && !input.is_meta()) {
      throw NotImplementedError(
          concat("embedding_bag: max_norm is for indices on the CPU, and these are on ",
                 input.device(), " or user-defined"));
    }
    const std::int64_t padding = padding_idx ? wrap_dim(*padding_idx, rows) : -1;
    return std::get<0>(call<op::embedding_bags>(weight, positions, bags, factors, count, mode,
                                                scale_grad_by_freq, padding));
  }
};

Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                     const EmbeddingBagFunctionOptions& options) {
  return call<op::embedding_bag>(input, weight, options.offsets, options.max_norm,
                                 options.norm_type, options.scale_grad_by_freq, options.mode,
                                 options.sparse, options.per_sample_weights,
                                 options.include_last_offset, options.padding_idx);
}

}  // namespace tenon
