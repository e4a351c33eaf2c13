// Elements that meet in one place, reduced to one.
#include <string>

#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "ops/index/scatter.h"
#include "ops/support/gradients.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::scatter_reduce_::info{"scatter_reduce_", kind};

namespace {

using op::ReduceAs;

ReduceAs reduction(std::string_view name) {
  if (name == "sum") return ReduceAs::sum;
  if (name == "prod") return ReduceAs::prod;
  if (name == "mean") return ReduceAs::mean;
  if (name == "amax") return ReduceAs::amax;
  if (name == "amin") return ReduceAs::amin;
  throw ValueError(
      concat("reduce argument must be either sum, prod, mean, amax or amin, got ", name));
}

PickFunction function_of(ReduceAs reduce) {
  switch (reduce) {
    case ReduceAs::prod: return PickFunction::multiply;
    case ReduceAs::amax: return PickFunction::largest;
    case ReduceAs::amin: return PickFunction::smallest;
    case ReduceAs::sum:
    case ReduceAs::mean: break;
  }
  return PickFunction::add;
}

// How many elements were reduced to each; 1 where none was.
Tensor counts(const Tensor& like, std::int64_t dim, const Tensor& index, bool include_self) {
  const Tensor each =
      scatter_add(include_self ? ones_like(like) : zeros_like(like), dim, index,
                  ones(index.shape(), {.dtype = like.dtype(), .device = like.device()}));
  return masked_fill(each, each == 0, 1);
}

// 1 where it holds.
Tensor ones_where(const Tensor& mask, DType dtype) { return mask.to(dtype); }

struct Both {
  Tensor self, src;
};

// What each factor is multiplied by: the product of all others. Where one factor is zero, and not
// another, that is not the product divided by it.
Both product_gradients(const Tensor& grad, const Tensor& self, std::int64_t dim,
                       const Tensor& index, const Tensor& src, bool include_self) {
  const Tensor self_zero = self == 0, src_zero = src == 0;
  const Tensor own = masked_fill(self, self_zero, 1), given = masked_fill(src, src_zero, 1);
  const auto product = [&](const Tensor& of_self, const Tensor& of_src) {
    return scatter_reduce(of_self, dim, index, of_src, "prod", {.include_self = include_self});
  };
  Both both;
  // As if self were 1 where it is zero: what is left is the product of the others.
  both.self = grad * (product(own, src) / own).conj();
  // Of src the zeros in each place are counted. Without them the product is of all others; it
  // counts where there are none but the factor itself.
  const Tensor zeros_in_place = gather(
      scatter_add(zeros_like(grad), dim, index, ones_where(src_zero, grad.dtype())), dim, index);
  const Tensor others = zeros_in_place - ones_where(src_zero, grad.dtype());
  const Tensor without = gather(grad * product(self, given).conj(), dim, index) / given.conj();
  both.src = masked_fill(without, others != 0, 0);
  return both;
}

// Shared by all that are the extreme.
Both extreme_gradients(const Tensor& grad, const Tensor& self, std::int64_t dim,
                       const Tensor& index, const Tensor& src, const Tensor& result,
                       bool include_self) {
  Tensor own = ones_where(self == result, grad.dtype());
  if (!include_self) own = scatter(own, dim, index, 0);
  const Tensor given = ones_where(src == gather(result, dim, index), grad.dtype());
  const Tensor among = scatter_add(own, dim, index, given);
  const Tensor share = grad / masked_fill(among, among == 0, 1);
  return {own * share, given * gather(share, dim, index)};
}

void set_gradients(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t dim,
                   const Tensor& index, const Tensor& src, const Tensor& result, ReduceAs reduce,
                   bool include_self) {
  Both both;
  switch (reduce) {
    case ReduceAs::sum:
      both.self = grad;
      if (g.wanted(2)) both.src = gather(grad, dim, index);
      break;
    case ReduceAs::mean: {
      both.self = grad / counts(grad.detach(), dim, index, include_self);
      if (g.wanted(2)) both.src = gather(both.self, dim, index);
      break;
    }
    case ReduceAs::prod:
      both = product_gradients(grad, self, dim, index, scattering::read_part(src, index),
                               include_self);
      break;
    case ReduceAs::amax:
    case ReduceAs::amin:
      both = extreme_gradients(grad, self.detach(), dim, index,
                               scattering::read_part(src, index).detach(), result.detach(),
                               include_self);
      break;
  }
  if (g.wanted(0)) g.set(0, include_self ? both.self : scatter(both.self, dim, index, 0));
  if (g.wanted(2)) g.set(2, scattering::narrowed_back(both.src, g.shape(2)));
}

}  // namespace

// What is recorded: of sums and means the index is enough, the others keep the values too.
namespace op {
namespace {
struct scatter_linear : scatter_reduce_ {};
struct scatter_values : scatter_reduce_ {};
}  // namespace
}  // namespace op
template <>
struct Rule<op::scatter_linear> {
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t dim,
                       const Tensor& index, const Tensor& src, ReduceAs reduce, bool include_self) {
    set_gradients(g, grad, self, dim, index, src, {}, reduce, include_self);
  }
};
template <>
struct Rule<op::scatter_values> {
  static bool saves(std::size_t /*place*/, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t dim,
                       const Tensor& index, const Tensor& src, ReduceAs reduce, bool include_self) {
    set_gradients(g, grad, self, dim, index, src, g.result(), reduce, include_self);
  }
};

template <>
struct Rule<op::scatter_reduce_> {
  static Ref<Node> node(const Tensor& self, std::int64_t dim, const Tensor& index,
                        const Tensor& src, ReduceAs reduce, bool include_self) {
    const auto kept = [&]<class O>() -> Ref<Node> {
      auto made = make_ref<detail::RecordedNode<O>>("ScatterReduceBackward0");
      made->keep(self, dim, index, src, reduce, include_self);
      return made;
    };
    const bool linear = reduce == ReduceAs::sum || reduce == ReduceAs::mean;
    return linear ? kept.operator()<op::scatter_linear>() : kept.operator()<op::scatter_values>();
  }
  static void keep_result(Node& node, const Tensor& result) {
    if (auto* values = dynamic_cast<detail::RecordedNode<op::scatter_values>*>(&node))
      values->keep_result(result);
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                    ReduceAs reduce, bool /*include_self*/) {
    scattering::check(op::scatter_reduce_::info, function_of(reduce), self, dim, index, src);
    if (reduce == ReduceAs::mean && self.dtype() == bool_)
      not_implemented("scatter_reduce_ with mean", self.dtype());
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                  ReduceAs reduce, bool include_self) {
    const OpInfo& info = op::scatter_reduce_::info;
    if (index.numel() == 0) return;
    const Tensor plain = self.variable_data();  // the write is counted once, by the dispatcher
    const Tensor own = may_share_memory(self, src) ? src.clone() : src;
    const bool extreme = reduce == ReduceAs::amax || reduce == ReduceAs::amin;
    if (!include_self && extreme) {
      scattering::run(info, PickFunction::write, plain, dim, index, own);
    } else if (!include_self) {
      plain.scatter_(dim, index, reduce == ReduceAs::prod ? 1 : 0);
    }
    scattering::run(info, function_of(reduce), plain, dim, index, own);
    if (reduce != ReduceAs::mean) return;
    const Tensor count = counts(self.detach(), dim, index, include_self);
    if (is_integral(self.dtype())) {
      plain.copy_(floor_divide(plain, count));
    } else {
      plain.div_(count);
    }
  }
};

Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, ScatterReduceOptions options) {
  // See Note [Arguments of one's own].
  const Tensor own_index = index, own_src = src;
  const std::string own_reduce(reduce);
  return self.clone({.memory_format = MemoryFormat::contiguous})
      .scatter_reduce_(dim, own_index, own_src, own_reduce, options);
}
Tensor TensorMethods::scatter_reduce(std::int64_t dim, const Tensor& index, const Tensor& src,
                                     std::string_view reduce, ScatterReduceOptions options) const {
  return tenon::scatter_reduce(itself(*this), dim, index, src, reduce, options);
}
const Tensor& TensorMethods::scatter_reduce_(std::int64_t dim, const Tensor& index,
                                             const Tensor& src, std::string_view reduce,
                                             ScatterReduceOptions options) const {
  return call<op::scatter_reduce_>(itself(*this), dim, index, src, reduction(reduce),
                                   options.include_self);
}

}  // namespace tenon
