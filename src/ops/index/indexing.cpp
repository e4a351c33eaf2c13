// x.index({...}): whole numbers, slices, new dimensions and Ellipsis make a view; tensors pick
// elements out of it.
#include "tenon/ops/indexing.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/copy.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "ops/views/hidden_views.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::index::info{"index", kind};
constinit OpInfo op::index_put_::info{"index_put_", kind};
constinit OpInfo op::masked_select::info{"masked_select", kind};
constinit OpInfo op::nonzero::info{"nonzero", kind};

namespace {

using Positions =
    std::vector<std::optional<Tensor>>;  // of each dimension; nothing: the whole of it

// The part that is a view.

bool is_mask(const Tensor& tensor) { return tensor.dtype() == bool_ || tensor.dtype() == uint8; }

// The positions of the elements that are not zero, one tensor for each dimension of the mask.
std::vector<Tensor> positions_in(const char* op, const Tensor& given) {
  const Tensor mask = given;  // see Note [Arguments of one's own]
  if (mask.is_meta()) {
    throw NotImplementedError(
        concat(op,
               ": how many elements of a mask on the meta device are not zero "
               "is not known, as it has no data"));
  }
  // All that is read below is of this copy: the backend may have given the mask other data.
  const Tensor packed = mask.cpu().contiguous();
  if (packed.body().is_wrapper()) {
    throw NotImplementedError(concat("index: a ", packed.body().type_name(),
                                     " cannot be a mask, as its elements are not at hand: make a "
                                     "plain tensor of it first"));
  }
  const auto* bytes = static_cast<const std::uint8_t*>(packed.data_ptr());
  std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(packed.dim()));
  for (std::int64_t i = 0, n = packed.numel(); i < n; ++i) {
    if (bytes[i] == 0) continue;
    std::int64_t rest = i;
    for (std::size_t d = found.size(); d-- > 0;) {
      found[d].push_back(rest % packed.shape()[d]);
      rest /= packed.shape()[d];
    }
  }
  std::vector<Tensor> positions;
  positions.reserve(found.size());
  for (const auto& of_dim : found) positions.push_back(tensor(of_dim, {.device = Device::cpu()}));
  return positions;
}

struct Indexed {
  Tensor view;          // what is left after everything but tensors
  Positions positions;  // into it; empty if there were no tensors
};

class Indexing {
 public:
  Indexing(const Tensor& self, std::span<const TensorIndex> indices) {
    // The operators may be somebody's, who destroys what the caller has.
    const std::int64_t dims = self.dim();
    const void* const cell = self.cell().get();
    out_.view = self;
    std::int64_t consumed = 0;
    for (const TensorIndex& index : indices) consumed += consumes(index);
    if (consumed > dims && dims == 0) {
      throw IndexError(
          "invalid index of a 0-dim tensor. Use item<T>() to convert a 0-dim tensor to a number");
    }
    if (consumed > dims) {
      throw IndexError(
          concat("too many indices for tensor of dimension ", dims, ": ", consumed, " are given"));
    }
    for (const TensorIndex& index : indices) {
      if (index.kind() == TensorIndex::Kind::ellipsis) {
        at_ += dims - consumed;
      } else {
        apply(index);
      }
    }
    // x[...] is another tensor, not x itself.
    if (out_.positions.empty() && out_.view.cell().get() == cell) out_.view = alias(out_.view);
  }

  Indexed result() && { return std::move(out_); }

 private:
  // How many of the tensor's dimensions an index takes up.
  static std::int64_t consumes(const TensorIndex& index) {
    switch (index.kind()) {
      case TensorIndex::Kind::integer:
      case TensorIndex::Kind::slice: return 1;
      case TensorIndex::Kind::tensor: return is_mask(index.tensor()) ? index.tensor().dim() : 1;
      default: return 0;
    }
  }

  void apply(const TensorIndex& index) {
    switch (index.kind()) {
      case TensorIndex::Kind::integer: return pick(index.integer());
      case TensorIndex::Kind::slice: {
        const Slice& slice = index.slice();
        if (slice.step <= 0)
          throw ValueError(concat("slice step must be greater than zero, got ", slice.step));
        if (slice.start || slice.stop || slice.step != 1)
          out_.view = out_.view.slice(at_, slice.start, slice.stop, slice.step);
        ++at_;
        return;
      }
      case TensorIndex::Kind::none: out_.view = out_.view.unsqueeze(at_++); return;
      case TensorIndex::Kind::boolean: return mask_nothing(index.integer() != 0);
      case TensorIndex::Kind::tensor: return pick(index.tensor());
      case TensorIndex::Kind::ellipsis: return;
    }
  }

  void pick(std::int64_t position) {
    const std::int64_t size = out_.view.size(at_);
    if (position < -size || position >= size) {
      throw IndexError(
          concat("index ", position, " is out of bounds for dimension ", at_, " with size ", size));
    }
    out_.view = out_.view.select(at_, position);
  }

  void pick(const Tensor& tensor) {
    if (tensor.dtype() != int64 && tensor.dtype() != int32 && !is_mask(tensor)) {
      throw IndexError(
          concat("tensors used as indices must be long, int, byte or bool tensors, not ",
                 repr(tensor.dtype())));
    }
    if (!is_mask(tensor)) {
      if (tensor.dim() == 0) return pick(tensor.item<std::int64_t>());
      return record(tensor.to(int64));
    }
    if (tensor.dim() == 0) return mask_nothing(tensor.item<bool>());
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
      if (tensor.size(d) != out_.view.size(at_ + d)) {
        throw IndexError(concat("The shape of the mask ", bracketed(tensor.shape()), " at index ",
                                d, " does not match the shape of the indexed tensor ",
                                bracketed(out_.view.shape()), " at index ", at_ + d));
      }
    }
    for (const Tensor& positions : positions_in("index", tensor)) record(positions);
  }

  // A bool is a mask of no dimensions: it picks everything or nothing along a new one.
  void mask_nothing(bool value) {
    out_.view = out_.view.unsqueeze(at_);
    record(value ? zeros({1}, {.dtype = int64, .device = Device::cpu()})
                 : empty({0}, {.dtype = int64, .device = Device::cpu()}));
  }

  void record(const Tensor& positions) {
    out_.positions.resize(static_cast<std::size_t>(at_));
    out_.positions.emplace_back(positions);
    ++at_;
  }

  Indexed out_;
  std::int64_t at_ = 0;  // the dimension of the view that comes next
};

// The part that is not.

// Where elements come from and go to when tensors pick them. `picked` is the shape the tensors
// broadcast to; it stands where they stood if they are neighbours, else in front.
struct Plan {
  Shape picked;
  std::size_t first = 0;          // dimension of the result where `picked` begins
  Shape rest;                     // dimensions taken whole
  Dims rest_strides;              // of the tensor
  std::vector<std::size_t> dims;  // those that are picked from
  std::vector<Tensor> positions;  // for each of them, broadcast
  Shape result;
};

Plan make_plan(const Layout& self, const Positions& given) {
  if (given.size() > self.shape.size()) {
    throw IndexError(concat("too many indices for tensor of dimension ", self.shape.size(), ": ",
                            given.size(), " are given"));
  }
  Plan plan;
  std::vector<Tensor> positions;
  for (std::size_t d = 0; d < self.shape.size(); ++d) {
    if (d < given.size() && given[d]) {
      plan.dims.push_back(d);
      positions.push_back(*given[d]);
    } else {
      plan.rest.push_back(self.shape[d]);
      plan.rest_strides.push_back(self.strides[d]);
    }
  }
  if (plan.dims.empty()) throw IndexError("index: none of the indices is a tensor");
  for (const Tensor& one : positions) {
    try {
      plan.picked = broadcast_shapes(plan.picked, one.shape());
    } catch (const ShapeError&) {
      std::string shapes;
      for (const Tensor& shown : positions)
        shapes += (shapes.empty() ? "" : ", ") + bracketed(shown.shape());
      throw IndexError(concat(
          "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes));
    }
  }
  for (const Tensor& one : positions) plan.positions.push_back(one.expand(plan.picked));
  for (const std::size_t d : plan.dims) {
    if (self.shape[d] == 0 && plan.picked.numel() != 0) {
      throw IndexError(concat("index is out of bounds for dimension ", d, " with size 0"));
    }
  }
  const bool neighbours = plan.dims.back() - plan.dims.front() + 1 == plan.dims.size();
  plan.first = neighbours ? plan.dims.front() : 0;
  plan.result = plan.rest;
  for (std::size_t i = 0; i < plan.picked.size(); ++i)
    plan.result.insert(plan.first + i, plan.picked[i]);
  return plan;
}

// A device's backend brings them, and may give any of the arguments other data: whatever a kernel
// reads of a layout or of memory, it reads afterwards.
Positions on_cpu(const Positions& given) {
  Positions here = given;
  for (auto& one : here) {
    if (one) one = one->cpu();
  }
  return here;
}

// Error if the backend has made the tensor one that the kernel cannot go on with.
void check_still(const char* op, bool same, const Tensor& self) {
  if (same && self.is_cpu() && !self.body().is_wrapper()) return;
  throw Error(concat(op, ": an argument was changed by user code while indices or values were ",
                     "copied to the CPU; the tensor is now ", repr(self.dtype()), " of shape ",
                     bracketed(self.shape()), " on ", self.device().str()));
}

// For every element of `picked`, in order, where in the tensor it lies, in elements from its first.
// The positions are on the CPU.
// Written into `memory`, whose allocation says how much was asked for if there is not enough.
std::span<const std::int64_t> picked_offsets(const Plan& plan, const Layout& self,
                                             Storage& memory) {
  const auto count = static_cast<std::size_t>(plan.picked.numel());
  memory = Storage::allocate_zeroed(count * sizeof(std::int64_t));
  const std::span offsets(static_cast<std::int64_t*>(memory.data()), count);
  for (std::size_t i = 0; i < plan.dims.size(); ++i) {
    const Tensor packed = plan.positions[i].contiguous();
    const auto* positions = packed.data<std::int64_t>();
    const std::int64_t size = self.shape[plan.dims[i]], stride = self.strides[plan.dims[i]];
    for (std::size_t n = 0; n < offsets.size(); ++n) {
      const std::int64_t position = positions[n];
      if (position < -size || position >= size) {
        throw IndexError(concat("index ", position, " is out of bounds for dimension ",
                                plan.dims[i], " with size ", size, " (the ", n, "th index)"));
      }
      offsets[n] += (position < 0 ? position + size : position) * stride;
    }
  }
  return offsets;
}

// Calls copy(result_side, tensor_side) with the rest of the dimensions at each picked place.
template <class F>
void for_each_picked(const Plan& plan, const Tensor& self, const Tensor& result, F&& copy) {
  const Layout& layout = result.layout();
  const std::int64_t itemsize = self.element_size();
  Dims result_strides = layout.strides, picked_strides;
  for (std::size_t i = 0; i < plan.picked.size(); ++i) {
    picked_strides.push_back(result_strides[plan.first]);
    result_strides.erase(plan.first);
  }
  if (plan.result.numel() == 0) return;  // and no position is ever looked at, as in PyTorch
  Storage memory;
  const auto offsets = picked_offsets(plan, self.layout(), memory);
  auto* result_data = static_cast<std::byte*>(result.data_ptr());
  auto* self_data = static_cast<std::byte*>(self.data_ptr());
  Dims at = Dims::filled(plan.picked.size(), 0);
  for (const std::int64_t offset : offsets) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * picked_strides[d];
    copy(Operand{result_data + place * layout.itemsize(), result_strides, layout.itemsize()},
         Operand{self_data + offset * itemsize, plan.rest_strides, itemsize});
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < plan.picked[d]) break;
      at[d] = 0;
    }
  }
}

void check_positions_are_here(const Tensor& self, const Positions& positions, const char* op) {
  for (const auto& one : positions) {
    if (one && one->is_meta() && !self.is_meta()) {
      throw DeviceError(concat(op, ": indices on the meta device cannot pick from a tensor on ",
                               self.device().str()));
    }
  }
}

}  // namespace

template <>
struct Rule<op::index> {
  static constexpr std::string_view gradient = "IndexBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place > 0 && place < kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Positions& indices) {
    // The places of all elements, picked as the elements were.
    const Shape& shape = g.shape(0);
    const std::int64_t n = shape.numel();
    const Tensor places = arange(n, {.dtype = int64, .device = grad.device()}).reshape(shape);
    const Tensor picked = call<op::index>(places, indices).reshape({-1});
    g.set(0, slices_gradient(grad.reshape({-1}), {n}, picked, 0).reshape(shape));
  }
  static constexpr bool math_bits = true;
  static Layout infer(const Tensor& self, const Positions& indices) {
    check_positions_are_here(self, indices, "index");
    return Layout::packed(make_plan(self.layout(), indices).result, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Positions& indices) {
    const Positions here = on_cpu(indices);
    const Plan plan = make_plan(self.layout(), here);
    check_still("index", plan.result == out.shape() && self.dtype() == out.dtype(), self);
    const CopyTransform transform{self.is_conj(), self.is_neg()};
    for_each_picked(plan, self, out, [&](const Operand& result, const Operand& source) {
      copy_elements(plan.rest, result, self.dtype(), source, self.dtype(), transform);
    });
  }
};

template <>
struct Rule<op::index_put_> {
  static constexpr std::string_view gradient = "IndexPutBackward0";
  // The positions: what is between the first tensor and the last.
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place > 0 && place + 1 < wanted.places();
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Positions& indices, const Tensor& /*values*/) {
    const std::size_t last = g.places() - 1;
    if (g.wanted(0)) {
      const Tensor rest = grad.clone();
      call<op::index_put_>(rest, indices,
                           zeros({}, {.dtype = grad.dtype(), .device = grad.device()}));
      g.set(0, rest);
    }
    if (g.wanted(last)) g.set(last, call<op::index>(grad, indices));
  }
  static constexpr bool math_bits = true;
  static void check(const Tensor& self, const Positions& indices, const Tensor& values) {
    check_positions_are_here(self, indices, "index_put_");
    check_copy_out_of_meta("index_put_", values.device(), self.device());
    if (values.dtype() != self.dtype()) {
      throw DTypeError(concat("Index put requires the source and destination dtypes match, got ",
                              info(self.dtype()).scalar_name, " for the destination and ",
                              info(values.dtype()).scalar_name, " for the source."));
    }
    const Shape result = make_plan(self.layout(), indices).result;
    const auto refuse = [&] {
      throw ShapeError(concat("shape mismatch: value tensor of shape ", bracketed(values.shape()),
                              " cannot be broadcast to indexing result of shape ",
                              bracketed(result)));
    };
    if (values.dim() > static_cast<std::int64_t>(result.size())) refuse();
    try {
      if (broadcast_shapes(result, values.shape()) != result) refuse();
    } catch (const ShapeError&) {
      refuse();
    }
  }
  static void cpu(const Tensor& self, const Positions& indices, const Tensor& values) {
    const Positions here = on_cpu(indices);
    const Tensor brought = values.cpu();
    check_still("index_put_", brought.dtype() == self.dtype(), self);
    const Plan plan = make_plan(self.layout(), here);
    // The values are copied where they could be what is written to.
    const Tensor own = brought.storage().is(self.storage()) ? brought.clone() : brought;
    const Tensor spread = own.expand(plan.result);
    const CopyTransform transform{self.is_conj() != spread.is_conj(),
                                  self.is_neg() != spread.is_neg()};
    // Before anything is written, so that an index out of bounds changes nothing.
    for_each_picked(plan, self, spread, [&](const Operand& value, const Operand& place) {
      copy_elements(plan.rest, place, self.dtype(), value, self.dtype(), transform);
    });
  }
};

Tensor Tensor::index(TensorIndices indices) const {
  Indexed indexed = Indexing(*this, indices.span()).result();
  if (indexed.positions.empty()) return indexed.view;
  return call<op::index>(indexed.view, indexed.positions);
}

namespace {

// Broadcasting brings leading dimensions of size 1 back where the place has them, and where it has
// not they are ignored, as in x[0] = ones(1, 3).
Tensor without_leading_ones(Tensor value) {
  while (value.dim() > 0 && value.size(0) == 1) value = value.select(0, 0);
  return value;
}

}  // namespace

const Tensor& Tensor::index_put_(TensorIndices indices, const Tensor& given) const {
  const Tensor value = given;  // see Note [Arguments of one's own]
  const Indexed indexed = Indexing(*this, indices.span()).result();
  if (!indexed.positions.empty()) {
    call<op::index_put_>(indexed.view, indexed.positions, without_leading_ones(value));
  } else {
    indexed.view.copy_(without_leading_ones(value));
  }
  return *this;
}

const Tensor& Tensor::index_put_(TensorIndices indices, const Scalar& given) const {
  const Scalar value = given;  // see Note [Arguments of one's own]
  const DType own_dtype = dtype();
  const Indexed indexed = Indexing(*this, indices.span()).result();
  if (indexed.positions.empty()) {
    indexed.view.fill_(value);
  } else {
    call<op::index_put_>(indexed.view, indexed.positions,
                         full({}, value, {.dtype = own_dtype, .device = Device::cpu()}));
  }
  return *this;
}

// As many results as there are elements: these need the data before they have a shape.

template <>
struct Rule<op::masked_select> {
  static constexpr std::string_view gradient = "MaskedSelectBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& mask) {
    // What was broadcast is summed by the engine.
    const Shape shape = broadcast_shapes(g.shape(0), mask.shape());
    const Tensor whole = mask.expand(shape);
    if (shape.empty()) return g.set(0, grad.sum());
    g.set(0,
          zeros(shape, {.dtype = grad.dtype(), .device = grad.device()}).index_put_({whole}, grad));
  }
  static Layout infer(const Tensor& self, const Tensor& mask) {
    if (mask.dtype() != bool_) {
      throw DTypeError(concat("masked_select: expected BoolTensor for mask, but got ",
                              repr(mask.dtype()), ": compare it with something first"));
    }
    const Tensor both[] = {self, mask};
    const Device device = same_device("masked_select", both);
    const Shape shape = broadcast_shapes(self.shape(), mask.shape());
    if (device.is_meta()) {
      throw NotImplementedError(
          "masked_select: how many elements of a mask on the meta device are not zero is not "
          "known, as it has no data");
    }
    const std::int64_t repeats =
        mask.numel() == 0 ? 0 : shape.numel() / mask.numel();  // of each element of the mask
    const std::int64_t count = mask.sum().item<std::int64_t>() * repeats;
    return Layout::packed({count}, self.dtype(), device);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& mask) {
    Shape shape = broadcast_shapes(self.shape(), mask.shape());
    if (shape.empty()) shape = {1};
    copy_tensor(out, self.expand(shape).index({mask.expand(shape)}));
  }
};

template <>
struct Rule<op::nonzero> {
  static Tensor compose(const Tensor& self) {
    const NoGradScope unrecorded;
    const std::vector<Tensor> columns = positions_in("nonzero", self != 0);
    if (columns.empty()) {
      const std::int64_t rows = self.item<bool>() ? 1 : 0;
      return empty({rows, 0}, {.dtype = int64, .device = self.device()});
    }
    // Dimension by dimension in memory, as in PyTorch.
    return stack(columns).t().to(self.device());
  }
};

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  return call<op::masked_select>(self, mask);
}
Tensor nonzero(const Tensor& self) { return call<op::nonzero>(self); }
std::vector<Tensor> nonzero_as_tuple(const Tensor& self) {
  return nonzero(self.dim() == 0 ? self.unsqueeze(0) : self).unbind(1);
}

}  // namespace tenon
