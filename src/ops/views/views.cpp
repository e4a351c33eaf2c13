// Operators that give a tensor another layout.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/support/gradients.h"
#include "ops/views/hidden_views.h"
#include "ops/views/view_nodes.h"
#include "ops/views/view_rules.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::view::info{"view", kind};
constinit OpInfo op::view_dtype::info{"view_dtype", kind};
constinit OpInfo op::unsafe_view::info{"_unsafe_view", kind};
constinit OpInfo op::alias::info{"alias", kind};
constinit OpInfo op::detach::info{"detach", kind};
constinit OpInfo op::slice::info{"slice", kind};
constinit OpInfo op::select::info{"select", kind};
constinit OpInfo op::transpose::info{"transpose", kind};
constinit OpInfo op::t::info{"t", kind};
constinit OpInfo op::permute::info{"permute", kind};
constinit OpInfo op::expand::info{"expand", kind};
constinit OpInfo op::squeeze::info{"squeeze", kind};
constinit OpInfo op::squeeze_dim::info{"squeeze", kind};
constinit OpInfo op::squeeze_dims::info{"squeeze", kind};
constinit OpInfo op::unsqueeze::info{"unsqueeze", kind};
constinit OpInfo op::as_strided::info{"as_strided", kind};
constinit OpInfo op::diagonal::info{"diagonal", kind};
constinit OpInfo op::unfold::info{"unfold", kind};
constinit OpInfo op::split::info{"split", kind};
constinit OpInfo op::split_with_sizes::info{"split_with_sizes", kind};
constinit OpInfo op::unbind::info{"unbind", kind};
constinit OpInfo op::view_as_real::info{"view_as_real", kind};
constinit OpInfo op::view_as_complex::info{"view_as_complex", kind};
constinit OpInfo op::conj::info{"conj", kind};
constinit OpInfo op::neg_view::info{"_neg_view", kind};

namespace {

// Gradients of parts go back to where a packed tensor of the argument's shape has them.
template <class F>
void put_back_into(Gradient& g, const Tensor& grad, F&& view) {
  const Layout whole = Layout::packed(g.shape(0), grad.dtype(), grad.device());
  g.set(0, put_back(grad, g.shape(0), view(whole)));
}

// The gradients of all pieces: zeros for those that nobody has used.
template <class F>
std::vector<Tensor> whole_pieces(const Gradient& g, std::span<const Tensor> grads, F&& views) {
  const auto pieces = views(Layout::packed(g.shape(0), g.dtype(0), g.device(0)));
  std::vector<Tensor> whole;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    whole.push_back(i < grads.size() && grads[i].defined()
                        ? grads[i]
                        : zeros(pieces[i].shape, {.dtype = g.dtype(0), .device = g.device(0)}));
  }
  return whole;
}

}  // namespace

template <>
struct Rule<op::view> {
  static constexpr std::string_view gradient = "ViewBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Shape& /*size*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static Layout view(const Tensor& self, const Shape& size) {
    return rules::view(self.layout(), size);
  }
};
template <>
struct Rule<op::view_dtype> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout view(const Tensor& self, DType dtype) {
    return rules::view_dtype(self.layout(), dtype);
  }
};
template <>
struct Rule<op::unsafe_view> {
  static constexpr std::string_view gradient = "UnsafeViewBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Shape& /*size*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static constexpr bool is_view = false;
  static Layout view(const Tensor& self, const Shape& size) {
    return rules::view(self.layout(), size);
  }
};
template <>
struct Rule<op::alias> {
  static constexpr std::string_view gradient = "AliasBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) { g.set(0, grad); }
  static Layout view(const Tensor& self) { return self.layout(); }
};
template <>
struct Rule<op::detach> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout view(const Tensor& self) { return self.layout(); }
};
template <>
struct Rule<op::slice> {
  static constexpr std::string_view gradient = "SliceBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                       std::int64_t step) {
    put_back_into(g, grad, [&](const Layout& l) { return rules::slice(l, dim, start, end, step); });
  }
  static Layout view(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) {
    return rules::slice(self.layout(), dim, start, end, step);
  }
};
template <>
struct Rule<op::select> {
  static constexpr std::string_view gradient = "SelectBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       std::int64_t index) {
    put_back_into(g, grad, [&](const Layout& l) { return rules::select(l, dim, index); });
  }
  static Layout view(const Tensor& self, std::int64_t dim, std::int64_t index) {
    return rules::select(self.layout(), dim, index);
  }
};
template <>
struct Rule<op::transpose> {
  static constexpr std::string_view gradient = "TransposeBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim0,
                       std::int64_t dim1) {
    g.set(0, grad.transpose(dim0, dim1));
  }
  static Layout view(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
    return rules::transpose(self.layout(), dim0, dim1);
  }
};
template <>
struct Rule<op::t> {
  static constexpr std::string_view gradient = "TBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    g.set(0, grad.t());
  }
  static Layout view(const Tensor& self) {
    if (self.dim() > 2)
      throw ShapeError(
          concat("t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D"));
    return self.dim() < 2 ? self.layout() : rules::transpose(self.layout(), 0, 1);
  }
};
template <>
struct Rule<op::permute> {
  static constexpr std::string_view gradient = "PermuteBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& dims) {
    const auto rank = static_cast<std::int64_t>(dims.size());
    Dims back = Dims::filled(dims.size(), 0);
    for (std::int64_t i = 0; i < rank; ++i)
      back[static_cast<std::size_t>(wrap_dim(dims[static_cast<std::size_t>(i)], rank))] = i;
    g.set(0, grad.permute(back));
  }
  static Layout view(const Tensor& self, const Dims& dims) {
    return rules::permute(self.layout(), dims);
  }
};
template <>
struct Rule<op::expand> {
  static constexpr std::string_view gradient = "ExpandBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Shape& /*size*/) {
    g.set(0, grad);  // summed by whoever asked
  }
  static Layout view(const Tensor& self, const Shape& size) {
    return rules::expand(self.layout(), size);
  }
};
template <>
struct Rule<op::squeeze> {
  static constexpr std::string_view gradient = "SqueezeBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static Layout view(const Tensor& self) { return rules::squeeze(self.layout()); }
};
template <>
struct Rule<op::squeeze_dim> {
  static constexpr std::string_view gradient = "SqueezeBackward1";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::int64_t /*dim*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static Layout view(const Tensor& self, std::int64_t dim) {
    return rules::squeeze(self.layout(), dim);
  }
};
template <>
struct Rule<op::squeeze_dims> {
  static constexpr std::string_view gradient = "SqueezeBackward2";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Dims& /*dim*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static Layout view(const Tensor& self, const Dims& dim) {
    return rules::squeeze(self.layout(), dim);
  }
};
template <>
struct Rule<op::unsqueeze> {
  static constexpr std::string_view gradient = "UnsqueezeBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::int64_t /*dim*/) {
    g.set(0, grad.reshape(g.shape(0)));
  }
  static Layout view(const Tensor& self, std::int64_t dim) {
    return rules::unsqueeze(self.layout(), dim);
  }
};
template <>
struct Rule<op::as_strided> {
  static Ref<Node> node(const Tensor& self, const Shape& size, const Dims& stride,
                        std::optional<std::int64_t> offset) {
    Layout view = self.layout();
    view.shape = size;
    view.strides = stride;
    view.offset = offset.value_or(self.storage_offset());
    return as_strided_node(self.layout(), view);
  }
  static Layout view(const Tensor& self, const Shape& size, const Dims& stride,
                     std::optional<std::int64_t> offset) {
    return rules::as_strided(self.layout(), size, stride, offset, self.storage().nbytes());
  }
};
template <>
struct Rule<op::diagonal> {
  static constexpr std::string_view gradient = "DiagonalBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t offset,
                       std::int64_t dim1, std::int64_t dim2) {
    put_back_into(g, grad, [&](const Layout& l) { return rules::diagonal(l, offset, dim1, dim2); });
  }
  static Layout view(const Tensor& self, std::int64_t offset, std::int64_t dim1,
                     std::int64_t dim2) {
    return rules::diagonal(self.layout(), offset, dim1, dim2);
  }
};
template <>
struct Rule<op::unfold> {
  static constexpr std::string_view gradient = "UnfoldBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::int64_t dimension, std::int64_t size, std::int64_t step) {
    put_back_into(g, grad,
                  [&](const Layout& l) { return rules::unfold(l, dimension, size, step); });
  }
  static Layout view(const Tensor& self, std::int64_t dimension, std::int64_t size,
                     std::int64_t step) {
    return rules::unfold(self.layout(), dimension, size, step);
  }
};
template <>
struct Rule<op::split> {
  static constexpr std::string_view gradient = "SplitBackward0";
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t split_size, std::int64_t dim) {
    g.set(0, cat(whole_pieces(g, grads,
                              [&](const Layout& l) { return rules::split(l, split_size, dim); }),
                 dim));
  }
  static std::vector<Layout> view(const Tensor& self, std::int64_t split_size, std::int64_t dim) {
    return rules::split(self.layout(), split_size, dim);
  }
};
template <>
struct Rule<op::split_with_sizes> {
  static constexpr std::string_view gradient = "SplitWithSizesBackward0";
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       const Dims& split_sizes, std::int64_t dim) {
    g.set(0, cat(whole_pieces(
                     g, grads,
                     [&](const Layout& l) { return rules::split_with_sizes(l, split_sizes, dim); }),
                 dim));
  }
  static std::vector<Layout> view(const Tensor& self, const Dims& split_sizes, std::int64_t dim) {
    return rules::split_with_sizes(self.layout(), split_sizes, dim);
  }
};
template <>
struct Rule<op::unbind> {
  static constexpr std::string_view gradient = "UnbindBackward0";
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t dim) {
    g.set(0, stack(whole_pieces(g, grads, [&](const Layout& l) { return rules::unbind(l, dim); }),
                   dim));
  }
  static std::vector<Layout> view(const Tensor& self, std::int64_t dim) {
    return rules::unbind(self.layout(), dim);
  }
};
template <>
struct Rule<op::view_as_real> {
  static constexpr std::string_view gradient = "ViewAsRealBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    g.set(0, view_as_complex(grad.contiguous()));
  }
  static Layout view(const Tensor& self) { return rules::view_as_real(self.layout()); }
};
template <>
struct Rule<op::view_as_complex> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "ViewAsComplexBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    g.set(0, view_as_real(grad.resolve_conj()));
  }
  static Layout view(const Tensor& self) { return rules::view_as_complex(self.layout()); }
};
template <>
struct Rule<op::conj> {
  static constexpr std::string_view gradient = "ConjBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) {
    g.set(0, grad.conj());
  }
  static Layout view(const Tensor& self) {
    Layout out = self.layout();
    out.conj = !out.conj;
    return out;
  }
};
template <>
struct Rule<op::neg_view> {
  static constexpr std::string_view gradient = "NegViewBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/) { g.set(0, -grad); }
  static Layout view(const Tensor& self) {
    Layout out = self.layout();
    out.neg = !out.neg;
    return out;
  }
};

Tensor Tensor::view(const Shape& shape) const { return call<op::view>(*this, shape); }
Tensor Tensor::view_dtype(DType dtype) const { return call<op::view_dtype>(*this, dtype); }
Tensor Tensor::view_as(const Tensor& other) const { return view(other.shape()); }
Tensor Tensor::slice(std::int64_t dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) const {
  return call<op::slice>(*this, dim, start, end, step);
}
Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  return call<op::select>(*this, dim, index);
}
Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  return call<op::transpose>(*this, dim0, dim1);
}
Tensor Tensor::permute(const Dims& dims) const { return call<op::permute>(*this, dims); }
Tensor Tensor::t() const { return call<op::t>(*this); }
Tensor Tensor::T() const {
  Dims reversed;
  for (std::int64_t d = dim(); d-- > 0;) reversed.push_back(d);
  return permute(reversed);
}
Tensor Tensor::mT() const {
  if (dim() == 1) {
    throw ShapeError("mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
  }
  return dim() == 0 ? permute({}) : transpose(-2, -1);
}
Tensor Tensor::expand(const Shape& size) const { return call<op::expand>(*this, size); }
Tensor Tensor::expand_as(const Tensor& other) const { return expand(other.shape()); }
Tensor Tensor::broadcast_to(const Shape& size) const { return expand(size); }
Tensor Tensor::squeeze() const { return call<op::squeeze>(*this); }
Tensor Tensor::squeeze(const Dims& dim) const {
  return dim.size() == 1 ? call<op::squeeze_dim>(*this, dim[0])
                         : call<op::squeeze_dims>(*this, dim);
}
Tensor Tensor::unsqueeze(std::int64_t dim) const { return call<op::unsqueeze>(*this, dim); }
Tensor Tensor::unfold(std::int64_t dimension, std::int64_t size, std::int64_t step) const {
  return call<op::unfold>(*this, dimension, size, step);
}
Tensor Tensor::as_strided(const Shape& size, const Dims& stride,
                          std::optional<std::int64_t> storage_offset) const {
  return call<op::as_strided>(*this, size, stride, storage_offset);
}
Tensor Tensor::diagonal(std::int64_t offset, std::int64_t dim1, std::int64_t dim2) const {
  return call<op::diagonal>(*this, offset, dim1, dim2);
}
std::vector<Tensor> Tensor::split(std::int64_t split_size, std::int64_t dim) const {
  return call<op::split>(*this, split_size, dim);
}
std::vector<Tensor> Tensor::split(const Dims& split_sizes, std::int64_t dim) const {
  return call<op::split_with_sizes>(*this, split_sizes, dim);
}
std::vector<Tensor> Tensor::unbind(std::int64_t dim) const { return call<op::unbind>(*this, dim); }
Tensor Tensor::conj() const { return is_complex() ? call<op::conj>(*this) : *this; }
Tensor Tensor::detach() const { return call<op::detach>(*this); }

Tensor unsafe_view(const Tensor& self, const Shape& size) {
  return call<op::unsafe_view>(self, size);
}
Tensor neg_view(const Tensor& self) { return call<op::neg_view>(self); }
Tensor alias(const Tensor& self) { return call<op::alias>(self); }

Tensor view_as_real(const Tensor& self) { return call<op::view_as_real>(self); }
Tensor view_as_complex(const Tensor& self) { return call<op::view_as_complex>(self); }

}  // namespace tenon
