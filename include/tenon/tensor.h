// Tensor: a name for a cell; the cell holds a body; the body is everything a tensor is.
//
//   Tensor a = arange(6).view({2, 3});
//   Tensor b = a;                          // another name for the same tensor: b.is(a)
//   swap_tensors(a, zeros({4}));           // a and b are the zeros now; no id has changed
//
// Copying a Tensor copies the name. Methods are PyTorch's: those that end in _ write into the
// tensor and return it, views share its bytes, everything else makes new ones. A
// default-constructed Tensor is undefined: it names nothing, and asking it anything but defined()
// is an Error (repr() says so in words). Which methods may run on several threads is said in
// tenon/threads.h.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/detail/tensor_arithmetic.h"
#include "tenon/detail/tensor_methods.h"
#include "tenon/detail/tensor_reductions.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/extend/ref.h"
#include "tenon/layout.h"
#include "tenon/scalar.h"
#include "tenon/shape.h"
#include "tenon/storage.h"

namespace tenon {

class Body;
class Generator;
class Node;
class RemovableHandle;
struct BackwardOptions;
class Tensor;
class TensorIndices;
class Value;

TENON_API const Generator& default_generator();

namespace detail {

class WeakAnchor;

// What a Tensor names. Its body can be exchanged; itself it never changes or moves.
class TENON_API Cell final : public RefCounted {
 public:
  explicit Cell(Ref<Body> body) noexcept;
  ~Cell() override;
  // From lists that each thread keeps, because there are as many cells as tensors.
  static void* operator new(std::size_t size);
  static void operator delete(void* cell) noexcept;

  Ref<Body> body;
  std::atomic<std::uint64_t> id{0};               // given when first asked for
  std::atomic<WeakAnchor*> weak_anchor{nullptr};  // made with the first weak handle
};

}  // namespace detail

struct ToOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool non_blocking = false;
  bool copy = false;  // also when nothing changes
  MemoryFormat memory_format = MemoryFormat::preserve;
};
struct FlattenOptions {
  std::int64_t start_dim = 0;
  std::int64_t end_dim = -1;
};
struct DiagonalOptions {
  std::int64_t offset = 0;
  std::int64_t dim1 = 0;
  std::int64_t dim2 = 1;
};
struct DimOptions {
  std::int64_t dim = 0;
};
struct CloneOptions {
  MemoryFormat memory_format = MemoryFormat::preserve;
};
struct ContiguousOptions {
  MemoryFormat memory_format = MemoryFormat::contiguous;
};
struct UniformOptions {
  double from = 0;
  double to = 1;
};
struct NormalOptions {
  double mean = 0;
  double std = 1;
};
struct ProbabilityOptions {
  double p = 0.5;
};

class TENON_API Tensor : public TensorArithmetic, public TensorReductions, public TensorMethods {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor&) noexcept = default;
  Tensor(Tensor&&) noexcept = default;
  // Makes a variable name another tensor. Of a temporary, as in x[0] = y, that would be lost, and
  // does not compile: write x[0].copy_(y).
  Tensor& operator=(const Tensor&) & noexcept = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // A new tensor with that body, which must not be another tensor's.
  explicit Tensor(Ref<Body> body);
  explicit Tensor(Ref<detail::Cell> cell) noexcept : cell_(std::move(cell)) {}

  // Identity.

  bool defined() const noexcept { return static_cast<bool>(cell_); }
  // Whether both name the same tensor. (Whether they hold the same numbers: equal().)
  bool is(const Tensor& other) const noexcept { return cell_ == other.cell_; }
  // A number no other tensor of this process has or will have. Swapping does not change it.
  std::uint64_t id() const;

  // Facts.

  // References are good until the tensor is swapped, given other data, or gone.
  const Shape& shape() const;
  const Shape& size() const { return shape(); }
  std::int64_t size(std::int64_t dim) const;
  const Dims& stride() const;
  std::int64_t stride(std::int64_t dim) const;
  std::int64_t storage_offset() const;
  DType dtype() const;
  Device device() const;
  const Layout& layout() const;
  std::int64_t dim() const;
  std::int64_t numel() const;
  std::int64_t element_size() const;  // bytes an element
  std::int64_t nbytes() const;        // elements times element size, whatever the storage has
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  bool is_floating_point() const;
  bool is_complex() const;
  bool is_cpu() const;
  bool is_meta() const;
  bool is_cuda() const;
  bool is_conj() const;  // elements are read as their conjugates
  bool is_neg() const;   // elements are read as their negatives
  bool is_parameter() const;
  // Raised by one by every write through any tensor that shares it: views and detached aliases do.
  std::int64_t version() const;

  // Data.

  const Storage& storage() const;
  // The first element, in place. Null if there are no elements, or no bytes (meta, user-defined
  // tensors).
  void* data_ptr() const;
  // The same with the dtype checked: DTypeError if elements are not T, Error with the way out if
  // there is no data to point at (meta, user-defined) or if elements are to be read conjugated or
  // negated. Strides apply.
  template <class T>
  T* data() const {
    return static_cast<T*>(checked_data(dtype_of<T>));
  }
  // The one element. Error if there is not exactly one, or no data.
  Scalar item() const;
  // Converted; ValueError if T cannot hold it.
  template <class T>
  T item() const {
    return item().to<T>();
  }

  // History (tenon/autograd.h).

  bool requires_grad() const;
  // Only floating and complex tensors can; only leaves can be changed.
  const Tensor& requires_grad_(bool requires_grad = true) const;
  bool is_leaf() const;
  bool is_inference() const;                // made in an InferenceModeScope
  Tensor grad() const;                      // undefined if there is none
  void set_grad(const Tensor& grad) const;  // undefined to remove it
  Ref<Node> grad_fn() const;                // null for leaves
  // Adds the gradients of this tensor to the grads of the leaves it was calculated from
  // (tenon/backward.h).
  void backward() const;
  void backward(const BackwardOptions& options) const;
  // Keeps the gradient of a tensor that is no leaf as its grad, too.
  void retain_grad() const;
  bool retains_grad() const;
  // The hook is called with the gradient on its way to this tensor; what it returns, unless it is
  // undefined, takes the gradient's place. It must not write into the one it is given.
  RemovableHandle register_hook(std::function<Tensor(const Tensor& grad)> hook) const;
  // Of a leaf: called with it when its grad has been added to.
  RemovableHandle register_post_accumulate_grad_hook(
      std::function<void(const Tensor& leaf)> hook) const;
  bool is_view() const;
  // The tensor this is a view of, or undefined. Views of views have the same base.
  Tensor base() const;

  // Views.

  // A scalar stands for a list of one wherever a list is asked for: view(-1).
  Tensor view(const Shape& shape) const;
  template <std::same_as<DType> D>  // not what {} means
  Tensor view(D dtype) const {      // the same bytes, read as another dtype
    return view_dtype(dtype);
  }
  Tensor view_as(const Tensor& other) const;
  Tensor reshape(const Shape& shape) const;  // a view if that can be, else a copy
  Tensor reshape_as(const Tensor& other) const { return reshape(other.shape()); }
  Tensor ravel() const { return reshape(-1); }
  Tensor slice(std::int64_t dim = 0, std::optional<std::int64_t> start = {},
               std::optional<std::int64_t> end = {}, std::int64_t step = 1) const;
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  Tensor select(std::int64_t dim, std::int64_t index) const;
  Tensor operator[](std::int64_t index) const { return select(0, index); }
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor permute(const Dims& dims) const;
  Tensor movedim(const Dims& source, const Dims& destination) const;
  Tensor moveaxis(const Dims& source, const Dims& destination) const {
    return movedim(source, destination);
  }
  Tensor t() const;
  Tensor mT() const;  // the last two dimensions exchanged
  Tensor T() const;   // all dimensions in reverse order
  Tensor expand(const Shape& size) const;
  Tensor expand_as(const Tensor& other) const;
  Tensor broadcast_to(const Shape& size) const;
  Tensor squeeze() const;
  Tensor squeeze(const Dims& dim) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1) const;
  Tensor flatten(FlattenOptions options) const {
    return flatten(options.start_dim, options.end_dim);
  }
  Tensor unflatten(std::int64_t dim, const Shape& sizes) const;
  Tensor unfold(std::int64_t dimension, std::int64_t size, std::int64_t step) const;
  Tensor as_strided(const Shape& size, const Dims& stride,
                    std::optional<std::int64_t> storage_offset = {}) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1) const;
  Tensor diagonal(DiagonalOptions options) const {
    return diagonal(options.offset, options.dim1, options.dim2);
  }
  std::vector<Tensor> split(std::int64_t split_size, std::int64_t dim = 0) const;
  std::vector<Tensor> split(std::int64_t split_size, DimOptions options) const {
    return split(split_size, options.dim);
  }
  // Pieces of the sizes given. (A list of one number is taken for a split_size.)
  std::vector<Tensor> split(const Dims& split_sizes, std::int64_t dim = 0) const;
  std::vector<Tensor> split(const Dims& split_sizes, DimOptions options) const {
    return split(split_sizes, options.dim);
  }
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  std::vector<Tensor> chunk(std::int64_t chunks, DimOptions options) const {
    return chunk(chunks, options.dim);
  }
  // So many pieces whose sizes differ by 1 at most, or the pieces between positions. (A list of one
  // number is taken for a number of pieces.)
  std::vector<Tensor> tensor_split(std::int64_t sections, std::int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(std::int64_t sections, DimOptions options) const {
    return tensor_split(sections, options.dim);
  }
  std::vector<Tensor> tensor_split(const Dims& indices, std::int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Dims& indices, DimOptions options) const {
    return tensor_split(indices, options.dim);
  }
  std::vector<Tensor> unbind(std::int64_t dim = 0) const;
  std::vector<Tensor> unbind(DimOptions options) const { return unbind(options.dim); }
  Tensor real() const;  // of a real tensor: itself
  Tensor imag() const;
  Tensor conj() const;  // of a real tensor: itself; else a view with the conjugate bit flipped
  // x.index({Slice(1, {}), Ellipsis, None, 0, mask}): see tenon/ops/indexing.h. A view unless a
  // tensor is among the indices.
  Tensor index(TensorIndices indices) const;
  // The same bytes and version counter without history: not a view, so it does not stand in the way
  // of a swap.
  Tensor detach() const;
  // As detach(), with a version counter of its own: PyTorch's x.data.
  Tensor variable_data() const;

  // Copies and writes.

  Tensor clone(CloneOptions options = {}) const;
  template <std::same_as<MemoryFormat> F>
  Tensor clone(F format) const {
    return clone(CloneOptions{.memory_format = format});
  }
  Tensor contiguous(ContiguousOptions options = {}) const;  // itself if it already is
  template <std::same_as<MemoryFormat> F>
  Tensor contiguous(F format) const {
    return contiguous(ContiguousOptions{.memory_format = format});
  }
  // Itself where nothing changes, unless .copy.
  Tensor to(const ToOptions& options) const;
  template <std::same_as<DType> D>
  Tensor to(D dtype) const {
    return to(ToOptions{.dtype = dtype});
  }
  Tensor to(Device device) const { return to(ToOptions{.device = device}); }
  Tensor to(const Tensor& other) const {
    return to(ToOptions{.dtype = other.dtype(), .device = other.device()});
  }
  Tensor cpu() const { return to(Device::cpu()); }
  Tensor resolve_conj() const;  // itself if the bit is not set
  Tensor resolve_neg() const;

  // Broadcasts and converts. Tensors may share memory; several elements of this one at one place
  // are an error.
  const Tensor& copy_(const Tensor& src, bool non_blocking = false) const;
  const Tensor& fill_(const Scalar& value) const;
  const Tensor& fill_(const Tensor& value) const;  // of no dimensions
  const Tensor& zero_() const;
  // Writes the value where the mask, of bools, holds (tenon/ops/where.h).
  const Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
  const Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  // Writes the first elements of source, one after another, where the mask holds.
  const Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
  const Tensor& index_put_(TensorIndices indices, const Tensor& value) const;
  const Tensor& index_put_(TensorIndices indices, const Scalar& value) const;

  // Random numbers (tenon/ops/random.h), written in the order the elements have in memory. Floating
  // and complex tensors: uniform in [from, to); normal.
  const Tensor& uniform_(double from = 0, double to = 1,
                         const Generator& generator = default_generator()) const;
  const Tensor& normal_(double mean = 0, double std = 1,
                        const Generator& generator = default_generator()) const;
  // By name: x.normal_({.std = 0.02}).
  const Tensor& uniform_(UniformOptions options) const {
    return uniform_(options.from, options.to);
  }
  const Tensor& normal_(NormalOptions options) const { return normal_(options.mean, options.std); }
  // Floating tensors.
  const Tensor& exponential_(double lambd = 1,
                             const Generator& generator = default_generator()) const;
  const Tensor& cauchy_(double median = 0, double sigma = 1,
                        const Generator& generator = default_generator()) const;
  const Tensor& log_normal_(double mean = 1, double std = 2,
                            const Generator& generator = default_generator()) const;
  // Real tensors: how many trials until the first success; 0 or 1; whole numbers, by default all
  // from 0 on that the dtype has (floating ones: has exactly), or [0, to), or [from, to), where no
  // `to` means the dtype's largest included.
  const Tensor& geometric_(double p, const Generator& generator = default_generator()) const;
  const Tensor& bernoulli_(double p = 0.5, const Generator& generator = default_generator()) const;
  const Tensor& bernoulli_(ProbabilityOptions options) const { return bernoulli_(options.p); }
  const Tensor& bernoulli_(const Tensor& p, const Generator& generator = default_generator()) const;
  const Tensor& random_(const Generator& generator = default_generator()) const;
  const Tensor& random_(std::int64_t to, const Generator& generator = default_generator()) const;
  const Tensor& random_(std::int64_t from, std::optional<std::int64_t> to,
                        const Generator& generator = default_generator()) const;

  // Takes over the data, shape, dtype and device of another tensor; identity, history, hooks,
  // version counter and views taken before stay as they are. Both on real devices or both on meta.
  void set_data(const Tensor& data) const;
  // How a value from a checkpoint becomes this parameter, when it is loaded by swapping:
  // value.detach() with assign, else copy_(value).detach(). User-defined tensors on either side may
  // do it their way (tenon/extend/wrapper.h).
  Tensor module_load(const Tensor& value, bool assign = false) const;

  // Attributes and text.

  // Anything a program wants to hang on a tensor. Belongs to the body: swapped with it, not copied
  // with the data.
  void set_attribute(std::string_view name, Value value) const;
  std::optional<Value> attribute(std::string_view name) const;
  // All of them, in the order they were first set.
  std::vector<std::pair<std::string, Value>> attributes() const;

  // PyTorch's text, character for character (tenon/printing.h).
  std::string repr() const;

  // The body (tenon/extend/wrapper.h).

  Body& body() const;
  // The user-defined body, if that is what this tensor has now; else null.
  template <class W>
  const W* as() const;

  const Ref<detail::Cell>& cell() const noexcept { return cell_; }

 private:
  void* checked_data(DType dtype) const;
  Tensor view_dtype(DType dtype) const;

  Ref<detail::Cell> cell_;
};

// Names a tensor without keeping it. Does not stand in the way of a swap, and follows it.
class TENON_API WeakTensor {
 public:
  WeakTensor() noexcept;
  WeakTensor(const Tensor& tensor);  // as weak_ptr is made from shared_ptr
  WeakTensor(const WeakTensor&) noexcept;
  WeakTensor(WeakTensor&&) noexcept;
  WeakTensor& operator=(const WeakTensor&) noexcept;
  WeakTensor& operator=(WeakTensor&&) noexcept;
  ~WeakTensor();

  // The tensor, or an undefined one if nobody names it any more. Any thread may ask.
  Tensor lock() const;

 private:
  Ref<detail::WeakAnchor> anchor_;
};

// Exchanges what two tensors are: data, shape, dtype, device, class, attributes, requires_grad,
// grad, history, hooks and version. What stays is who they are: every handle, in a module, an
// optimizer or a container, sees the other's content.
//
// SwapError, with nothing changed, if either has live views, is saved for a backward pass (itself
// or a view of it: linear saves the transpose of its weight), or contains the other (a user-defined
// tensor and its payload, a parameter and its own grad). What the wanted gradients need is saved:
// of a layer whose input requires no grad, not its weight. What retain_grad keeps goes along. A
// gradient accumulator does not stand in the way, but is poisoned: a backward pass recorded before
// a swap that was not refused raises when it gets there, and never gives a wrong gradient. Swapping
// a tensor with itself does nothing.
TENON_API void swap_tensors(const Tensor& a, const Tensor& b);

TENON_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace tenon
