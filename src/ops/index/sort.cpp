// Order.
#include "tenon/ops/sort.h"

#include <limits>
#include <new>
#include <stdexcept>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/sort.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::sort::info{"sort", kind};
constinit OpInfo op::topk::info{"topk", kind};

namespace {

void check_order(std::string_view op, const Tensor& self) {
  if (!can_sort(self.dtype())) not_implemented(op, self.dtype());
}

// One element is sorted.
void fill_single(std::array<Tensor, 2>& out, const Tensor& self) {
  copy_tensor(out[0], self);
  out[1].zero_();
}

[[noreturn]] void no_memory(const Tensor& self, std::size_t dim) {
  throw OutOfMemoryError(
      concat("not enough memory to sort rows of ", self.shape()[dim], " elements"),
      static_cast<std::size_t>(self.shape()[dim]));
}

void run(std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim, std::int64_t k,
         bool descending) {
  if (self.dim() == 0) return fill_single(out, self);
  if (k == 0 || out[0].numel() == 0) return;
  const auto along = static_cast<std::size_t>(wrap_dim(dim, self.dim()));
  constexpr std::int64_t kEach = 16;  // bytes that sorting needs for an element
  if (self.shape()[along] > std::numeric_limits<std::int64_t>::max() / kEach)
    no_memory(self, along);
  try {
    sort_elements(self.shape(), along, k, descending, operand(self), self.dtype(), operand(out[0]),
                  operand(out[1]));
  } catch (const std::bad_alloc&) {
    no_memory(self, along);
  } catch (const std::length_error&) {
    no_memory(self, along);
  }
}

}  // namespace

template <>
struct Rule<op::sort> {
  static constexpr std::string_view gradient = "SortBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t dim, bool /*descending*/) {
    g.set(0, picked_gradient(grads[0], g.shape(0), g.result(1), dim, true));
  }
  static std::array<Layout, 2> infer(const Tensor& self, std::int64_t dim, bool /*descending*/) {
    wrap_dim(dim, self.dim());
    check_order("sort", self);
    const Layout values = Layout::packed_like(self.layout());
    Layout indices = values;
    indices.dtype = int64;
    return {values, indices};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim,
                  bool descending) {
    run(out, self, dim, self.dim() == 0 ? 1 : self.size(dim), descending);
  }
};

template <>
struct Rule<op::topk> {
  static constexpr std::string_view gradient = "TopkBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t /*k*/, std::int64_t dim, bool /*largest*/) {
    g.set(0, picked_gradient(grads[0], g.shape(0), g.result(1), dim, true));
  }
  static std::array<Layout, 2> infer(const Tensor& self, std::int64_t k, std::int64_t dim,
                                     bool /*largest*/) {
    const auto along = static_cast<std::size_t>(wrap_dim(dim, self.dim()));
    check_order("topk", self);
    const std::int64_t size = self.dim() == 0 ? 1 : self.shape()[along];
    if (k < 0 || k > size) {
      throw IndexError(concat("topk: selected index k out of range: k is ", k, ", and dimension ",
                              along, " has size ", size));
    }
    Shape shape = self.shape();
    if (!shape.empty()) shape[along] = k;
    return {Layout::packed(shape, self.dtype(), self.device()),
            Layout::packed(shape, int64, self.device())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, std::int64_t k, std::int64_t dim,
                  bool largest) {
    run(out, self, dim, k, largest);
  }
};

std::tuple<Tensor, Tensor> sort(const Tensor& self, SortOptions options) {
  return call<op::sort>(self, options.dim, options.descending);
}
std::tuple<Tensor, Tensor> sort_out(const Tensor& values, const Tensor& indices, const Tensor& self,
                                    SortOptions options) {
  return into_both<op::sort>(values, indices, self, options.dim, options.descending);
}
Tensor argsort(const Tensor& self, SortOptions options) { return std::get<1>(sort(self, options)); }
std::tuple<Tensor, Tensor> topk(const Tensor& self, std::int64_t k, TopkOptions options) {
  return call<op::topk>(self, k, options.dim, options.largest);
}
std::tuple<Tensor, Tensor> topk_out(const Tensor& values, const Tensor& indices, const Tensor& self,
                                    std::int64_t k, TopkOptions options) {
  return into_both<op::topk>(values, indices, self, k, options.dim, options.largest);
}

namespace {

Tensor numbers(const std::vector<std::int64_t>& values, Device device) {
  return tensor(values, {.dtype = int64, .device = Device::cpu()}).to(device);
}

// How many different ones there are is only known with the data: no operator with a shape rule.
UniqueResult distinct(std::string_view op, const Tensor& given, std::optional<std::int64_t> dim,
                      bool consecutive, bool inverse, bool counts) {
  const Tensor self = given;  // see Note [Arguments of one's own]
  if (self.is_meta()) {
    throw NotImplementedError(concat(op,
                                     ": how many elements of a tensor on the meta device differ "
                                     "is not known, as it has no data"));
  }
  check_order(op, self);
  const bool slices = dim && self.dim() > 0;
  const std::int64_t along = dim ? wrap_dim(*dim, self.dim()) : 0;
  for (std::int64_t d = 0; slices && d < self.dim(); ++d) {
    if (d == along || self.size(d) != 0) continue;
    throw ShapeError(concat(op,
                            ": there are 0 sized dimensions, and they aren't selected, so it "
                            "cannot be applied; the shape is ",
                            bracketed(self.shape())));
  }
  const Tensor lines = slices ? self.movedim(along, 0) : self.reshape({-1});
  const Tensor packed = lines.detach().cpu().contiguous();
  if (packed.body().is_wrapper()) {
    throw NotImplementedError(concat(op, ": the elements of a ", packed.body().type_name(),
                                     " are not at hand: make a plain tensor of it first"));
  }
  const std::int64_t rows = packed.size(0);
  const Groups groups = group_rows(packed.data_ptr(), packed.dtype(), rows,
                                   rows == 0 ? 1 : packed.numel() / rows, consecutive);
  UniqueResult result;
  const Tensor first = numbers(groups.first, self.device());
  result.output = index_select(lines, 0, first);
  if (slices) result.output = result.output.movedim(0, along);
  if (inverse) {
    result.inverse = numbers(groups.inverse, self.device());
    if (!slices) result.inverse = result.inverse.view(self.shape());
  }
  if (counts) result.counts = numbers(groups.counts, self.device());
  return result;
}

}  // namespace

UniqueResult unique(const Tensor& self, UniqueOptions options) {
  return distinct("unique", self, options.dim, false, options.return_inverse,
                  options.return_counts);
}
UniqueResult unique_consecutive(const Tensor& self, UniqueConsecutiveOptions options) {
  return distinct("unique_consecutive", self, options.dim, true, options.return_inverse,
                  options.return_counts);
}

}  // namespace tenon
