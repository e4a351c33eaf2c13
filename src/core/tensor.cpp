// The part of Tensor that needs no operator: identity, facts, data, history.
#include "tenon/tensor.h"

#include <utility>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/free_list.h"
#include "core/uninitialized.h"
#include "tenon/autograd.h"
#include "tenon/error.h"

namespace tenon {

namespace detail {

Cell::Cell(Ref<Body> body_in) noexcept : body(std::move(body_in)) {
  BodyEditor::set_cell(*body, this);
}

void* Cell::operator new(std::size_t size) { return FreeList<Cell>::allocate(size); }
void Cell::operator delete(void* cell) noexcept { FreeList<Cell>::release(cell, sizeof(Cell)); }

}  // namespace detail

Tensor::Tensor(Ref<Body> body) : cell_(make_ref<detail::Cell>(std::move(body))) {}

Body& Tensor::body() const {
  if (!cell_)
    throw Error("this tensor is undefined: it was default-constructed, and names no tensor yet");
  return *cell_->body;
}

std::uint64_t Tensor::id() const {
  body();  // an undefined tensor has no id
  constinit static std::atomic<std::uint64_t> last{0};
  std::uint64_t id = cell_->id.load(std::memory_order_relaxed);
  if (id != 0) return id;
  const std::uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return cell_->id.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

// Facts.

const Layout& Tensor::layout() const { return body().layout(); }

namespace {

// What a tensor without a shape refuses is asked for often: beyond the flag, the way is another
// function's, which is jumped to and not called.
const Layout& layout_of_wrapper(const Body& body) {
  if (is_uninitialized_wrapper(body)) throw_uninitialized_shape();
  return body.layout();
}
[[gnu::noinline]] const Shape& shape_of_wrapper(const Body& body) {
  return layout_of_wrapper(body).shape;
}
[[gnu::noinline]] const Dims& strides_of_wrapper(const Body& body) {
  return layout_of_wrapper(body).strides;
}
[[gnu::noinline]] std::int64_t dim_of_wrapper(const Body& body) {
  return layout_of_wrapper(body).dim();
}
[[gnu::noinline]] std::int64_t numel_of_wrapper(const Body& body) {
  return layout_of_wrapper(body).numel();
}
[[gnu::noinline]] bool is_contiguous_wrapper(const Body& body, MemoryFormat format) {
  return layout_of_wrapper(body).is_contiguous(format);
}

}  // namespace

const Shape& Tensor::shape() const {
  const Body& own = body();
  if (own.is_wrapper()) [[unlikely]]
    return shape_of_wrapper(own);
  return own.layout().shape;
}
const Dims& Tensor::stride() const {
  const Body& own = body();
  if (own.is_wrapper()) [[unlikely]]
    return strides_of_wrapper(own);
  return own.layout().strides;
}
std::int64_t Tensor::storage_offset() const { return layout().offset; }
DType Tensor::dtype() const { return layout().dtype; }
Device Tensor::device() const { return layout().device; }
std::int64_t Tensor::dim() const {
  const Body& own = body();
  if (own.is_wrapper()) [[unlikely]]
    return dim_of_wrapper(own);
  return own.layout().dim();
}
std::int64_t Tensor::numel() const {
  const Body& own = body();
  if (own.is_wrapper()) [[unlikely]]
    return numel_of_wrapper(own);
  return own.layout().numel();
}
std::int64_t Tensor::element_size() const { return layout().itemsize(); }
std::int64_t Tensor::nbytes() const { return numel() * element_size(); }
bool Tensor::is_contiguous(MemoryFormat format) const {
  const Body& own = body();
  if (own.is_wrapper()) [[unlikely]]
    return is_contiguous_wrapper(own, format);
  return own.layout().is_contiguous(format);
}
bool Tensor::is_floating_point() const { return tenon::is_floating_point(dtype()); }
bool Tensor::is_complex() const { return tenon::is_complex(dtype()); }
bool Tensor::is_cpu() const { return device().is_cpu(); }
bool Tensor::is_meta() const { return device().is_meta(); }
bool Tensor::is_cuda() const { return device().is_cuda(); }
bool Tensor::is_conj() const { return layout().conj; }
bool Tensor::is_neg() const { return layout().neg; }
bool Tensor::is_parameter() const { return body().is_parameter(); }
std::int64_t Tensor::version() const { return static_cast<std::int64_t>(body().version()); }

namespace {

std::size_t existing_dim(const Dims& sizes, std::int64_t dim) {
  if (sizes.empty())
    throw IndexError(concat("Dimension specified as ", dim, " but tensor has no dimensions"));
  return static_cast<std::size_t>(wrap_dim(dim, static_cast<std::int64_t>(sizes.size())));
}

}  // namespace

std::int64_t Tensor::size(std::int64_t dim) const {
  const Shape& sizes = shape();
  return sizes[existing_dim(sizes, dim)];
}
std::int64_t Tensor::stride(std::int64_t dim) const {
  const Dims& strides = stride();
  return strides[existing_dim(strides, dim)];
}

// Data.

const Storage& Tensor::storage() const { return body().storage(); }

void* Tensor::data_ptr() const {
  if (is_uninitialized(body())) [[unlikely]]
    throw_uninitialized_use("data_ptr", body());
  const Layout& layout = this->layout();
  void* data = storage().data();
  if (data == nullptr || layout.numel() == 0) return nullptr;
  return static_cast<std::byte*>(data) + layout.offset * layout.itemsize();
}

void* Tensor::checked_data(DType expected) const {
  const Layout& layout = this->layout();
  if (layout.dtype != expected) {
    throw DTypeError(
        concat("data<", info(expected).name, ">() of a tensor of dtype ", tenon::repr(layout.dtype),
               ": name its own type, or convert it with to(", info(expected).name, ")"));
  }
  if (layout.device.is_meta()) {
    throw Error(concat("a meta tensor has no data: its shape is ", bracketed(layout.shape),
                       " and nothing was allocated. Load a state dict into it with assign, or "
                       "materialise it on a real device"));
  }
  if (body().is_wrapper()) {
    if (is_uninitialized(body())) throw_uninitialized_use("data", body());
    throw Error(
        concat("a ", body().type_name(), " has no data of its own: ask the tensors it is made of"));
  }
  if (!layout.device.is_cpu()) {
    throw DeviceError(concat("the data of a tensor on ", layout.device.str(),
                             " cannot be read here: copy it with cpu() first"));
  }
  if (layout.conj)
    throw Error("the elements of this view are to be read conjugated: call resolve_conj() first");
  if (layout.neg)
    throw Error("the elements of this view are to be read negated: call resolve_neg() first");
  return data_ptr();
}

// History.

bool Tensor::requires_grad() const { return body().is_tracked(); }

bool Tensor::is_leaf() const { return !history_of(body()).node; }
bool Tensor::is_inference() const { return body().is_inference(); }

const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  if (!is_leaf()) {
    if (requires_grad) return *this;  // it does already, through what it was calculated from
    throw AutogradError(
        "you can only change requires_grad flags of leaf variables: this one was calculated from "
        "others. Use detach() "
        "for a tensor with the same data and no history");
  }
  if (requires_grad && !is_differentiable(dtype())) {
    throw DTypeError(
        concat("only Tensors of floating point and complex dtype can require gradients, not ",
               tenon::repr(dtype())));
  }
  if (requires_grad && is_inference() && !is_inference_mode_enabled()) {
    throw AutogradError(
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
        "Make a clone() of it first");
  }
  BodyEditor::set_requires_grad(body(), requires_grad);
  return *this;
}

Tensor Tensor::grad() const {
  const detail::AutogradMeta* meta = BodyEditor::autograd(body());
  return meta == nullptr ? Tensor() : meta->grad;
}

void Tensor::set_grad(const Tensor& grad) const {
  Body& own = body();
  if (!grad.defined()) {
    if (detail::AutogradMeta* meta = BodyEditor::autograd(own)) meta->grad = Tensor();
    return;
  }
  if (is_uninitialized(own)) throw_uninitialized_shape();
  if (grad.is(*this)) throw AutogradError("can't assign a tensor as its own grad");
  const Layout &mine = own.layout(), &theirs = grad.layout();
  if (theirs.shape != mine.shape) {
    throw ShapeError(concat("attempting to assign a gradient of size '", bracketed(theirs.shape),
                            "' to a tensor of size '", bracketed(mine.shape),
                            "'. Please ensure that the gradient and the tensor are the same size"));
  }
  if (theirs.dtype != mine.dtype) {
    throw DTypeError(concat("attempting to assign a gradient with dtype '", info(theirs.dtype).name,
                            "' to a tensor with dtype '", info(mine.dtype).name,
                            "': convert it with to(", info(mine.dtype).name, ")"));
  }
  if (theirs.device != mine.device) {
    throw DeviceError(concat("attempting to assign a gradient with device '", theirs.device.str(),
                             "' to a tensor with device '", mine.device.str(), "'"));
  }
  BodyEditor::need_autograd(own).grad = grad;
}

Ref<Node> Tensor::grad_fn() const { return history_of(body()).node; }

bool Tensor::is_view() const { return body().is_view(); }

Tensor Tensor::base() const {
  const Ref<Body>& base = BodyEditor::base(body());
  return base ? BodyEditor::tensor_of(base) : Tensor();
}

// Attributes.

void Tensor::set_attribute(std::string_view name, Value value) const {
  auto& values = BodyEditor::need_attributes(body()).values;
  for (auto& [known, held] : values) {
    if (known == name) {
      std::swap(held, value);  // what there was goes last: it may be somebody's who changes these
      return;
    }
  }
  values.emplace_back(name, std::move(value));
}

std::optional<Value> Tensor::attribute(std::string_view name) const {
  const detail::Attributes* attributes = BodyEditor::attributes(body());
  if (attributes == nullptr) return std::nullopt;
  for (const auto& [known, held] : attributes->values) {
    if (known == name) return held;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, Value>> Tensor::attributes() const {
  const detail::Attributes* attributes = BodyEditor::attributes(body());
  if (attributes == nullptr) return {};
  return attributes->values;
}

}  // namespace tenon
