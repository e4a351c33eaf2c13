// Views that are written with other views, and the copies they fall back to.
#include <algorithm>

#include "base/text.h"
#include "ops/views/hidden_views.h"
#include "ops/views/view_rules.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::reshape::info{"reshape", kind};
constinit OpInfo op::flatten::info{"flatten", kind};
constinit OpInfo op::unflatten::info{"unflatten", kind};
constinit OpInfo op::narrow::info{"narrow", kind};
constinit OpInfo op::movedim::info{"movedim", kind};
constinit OpInfo op::chunk::info{"chunk", kind};
constinit OpInfo op::contiguous::info{"contiguous", kind};
constinit OpInfo op::real::info{"real", kind};
constinit OpInfo op::imag::info{"imag", kind};

template <>
struct Rule<op::reshape> {
  static Tensor compose(const Tensor& self, const Shape& shape) {
    const Shape size = rules::infer_size(shape, self.numel());
    if (rules::view_strides(self.layout(), size)) return self.view(size);
    return unsafe_view(self.clone(MemoryFormat::contiguous), size);
  }
};

template <>
struct Rule<op::flatten> {
  static Tensor compose(const Tensor& self, std::int64_t start_dim, std::int64_t end_dim) {
    const std::int64_t start = wrap_dim(start_dim, self.dim()), end = wrap_dim(end_dim, self.dim());
    if (start > end)
      throw ShapeError(concat("flatten() has invalid args: start_dim cannot come after end_dim: ",
                              start_dim, " and ", end_dim));
    if (self.dim() == 0) return self.reshape({1});
    if (start == end) return self;
    const Shape& shape = self.shape();
    Shape flat;
    for (std::int64_t d = 0; d < start; ++d) flat.push_back(shape[static_cast<std::size_t>(d)]);
    std::int64_t joined = 1;
    for (std::int64_t d = start; d <= end; ++d) joined *= shape[static_cast<std::size_t>(d)];
    flat.push_back(joined);
    for (std::int64_t d = end + 1; d < self.dim(); ++d)
      flat.push_back(shape[static_cast<std::size_t>(d)]);
    return self.reshape(flat);
  }
};

template <>
struct Rule<op::unflatten> {
  static Tensor compose(const Tensor& self, std::int64_t dim, const Shape& sizes) {
    const auto d = static_cast<std::size_t>(wrap_dim(dim, self.dim()));
    if (sizes.empty()) throw ShapeError("unflatten: sizes must be non-empty");
    const std::int64_t size = self.size(static_cast<std::int64_t>(d));
    Shape parts;
    try {
      parts = rules::infer_size(sizes, size);
    } catch (const ShapeError&) {
      throw ShapeError(concat("unflatten: Provided sizes ", bracketed(sizes),
                              " don't multiply up to the size of dim ", d, " (", size,
                              ") in the input tensor"));
    }
    Shape shape = self.shape();
    shape.erase(d);
    for (std::size_t i = 0; i < parts.size(); ++i) shape.insert(d + i, parts[i]);
    return self.view(shape);
  }
};

template <>
struct Rule<op::narrow> {
  static Tensor compose(const Tensor& self, std::int64_t dim, std::int64_t start,
                        std::int64_t length) {
    if (self.dim() == 0) throw ShapeError("narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0) throw ValueError(concat("narrow(): length must be non-negative, got ", length));
    const std::int64_t size = self.size(dim);
    if (start < -size || start > size) {
      throw IndexError(concat("start out of range (expected to be in range of [", -size, ", ", size,
                              "], but got ", start, ")"));
    }
    const std::int64_t first = start < 0 ? start + size : start;
    if (length > size - first) {
      throw ShapeError(concat("start (", first, ") + length (", length,
                              ") exceeds dimension size (", size, ")."));
    }
    return self.slice(dim, first, first + length);
  }
};

template <>
struct Rule<op::movedim> {
  static Tensor compose(const Tensor& self, const Dims& source, const Dims& destination) {
    if (source.size() != destination.size()) {
      throw ShapeError(concat("movedim: Invalid source or destination dims: source (",
                              bracketed(source),
                              " dims) should contain the same number of dims as destination (",
                              bracketed(destination), " dims)"));
    }
    for (const Dims* dims : {&source, &destination}) {  // out of range is said before repeated
      for (const std::int64_t dim : *dims) wrap_dim(dim, self.dim());
    }
    const Dims from = wrap_dims(source, self.dim()), to = wrap_dims(destination, self.dim());
    if (self.dim() == 0) return self.permute(Dims());
    Dims order = Dims::filled(static_cast<std::size_t>(self.dim()), -1);
    for (std::size_t i = 0; i < from.size(); ++i) order[static_cast<std::size_t>(to[i])] = from[i];
    // The others keep their order in the places that are left.
    std::int64_t next = 0;
    for (std::int64_t& place : order) {
      if (place != -1) continue;
      while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
      place = next++;
    }
    return self.permute(order);
  }
};

template <>
struct Rule<op::chunk> {
  static std::vector<Tensor> compose(const Tensor& self, std::int64_t chunks, std::int64_t dim) {
    if (self.dim() == 0) throw ShapeError("chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0)
      throw ValueError(concat("chunk expects `chunks` to be greater than 0, got: ", chunks));
    const std::int64_t size = self.size(dim);
    if (size == 0) rules::check_pieces(chunks, "chunk");
    // An empty dimension has as many chunks as were asked for, all of them empty.
    if (size == 0) return self.split(Dims::filled(static_cast<std::size_t>(chunks), 0), dim);
    return self.split(size / chunks + (size % chunks != 0 ? 1 : 0), dim);
  }
};

template <>
struct Rule<op::contiguous> {
  static Tensor compose(const Tensor& self, MemoryFormat format) {
    if (self.is_contiguous(format)) return self;
    return self.clone(format);
  }
};

template <>
struct Rule<op::real> {
  static Tensor compose(const Tensor& self) {
    if (!self.is_complex()) return self;
    return view_as_real(self.is_conj() ? self.conj() : self).select(-1, 0);
  }
};

template <>
struct Rule<op::imag> {
  static Tensor compose(const Tensor& self) {
    if (!self.is_complex()) {
      throw DTypeError(
          concat("imag is not implemented for tensors with non-complex dtypes: this is ",
                 repr(self.dtype())));
    }
    if (!self.is_conj()) return view_as_real(self).select(-1, 1);
    return neg_view(view_as_real(self.conj())).select(-1, 1);
  }
};

namespace {

void check_can_be_split(const Tensor& self) {
  if (self.dim() > 0) return;
  throw ShapeError(
      "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape) const { return call<op::reshape>(*this, shape); }
Tensor Tensor::flatten(std::int64_t start_dim, std::int64_t end_dim) const {
  return call<op::flatten>(*this, start_dim, end_dim);
}
Tensor Tensor::unflatten(std::int64_t dim, const Shape& sizes) const {
  return call<op::unflatten>(*this, dim, sizes);
}
Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return call<op::narrow>(*this, dim, start, length);
}
Tensor Tensor::movedim(const Dims& source, const Dims& destination) const {
  return call<op::movedim>(*this, source, destination);
}
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t dim) const {
  return call<op::chunk>(*this, chunks, dim);
}
std::vector<Tensor> Tensor::tensor_split(std::int64_t sections, std::int64_t dim_) const {
  const Tensor own = *this;  // see Note [Arguments of one's own]
  check_can_be_split(own);
  if (sections <= 0) {
    throw ValueError(
        concat("tensor_split: number of sections must be larger than 0, got ", sections));
  }
  rules::check_pieces(sections, "tensor_split");
  const std::int64_t size = own.size(dim_), least = size / sections, longer = size % sections;
  Dims sizes = Dims::filled(static_cast<std::size_t>(sections), least);
  for (std::int64_t i = 0; i < longer; ++i) ++sizes[static_cast<std::size_t>(i)];
  std::vector<Tensor> pieces;
  pieces.reserve(sizes.size());
  std::int64_t at = 0;
  for (const std::int64_t length : sizes) {
    pieces.push_back(own.slice(dim_, at, at + length));
    at += length;
  }
  return pieces;
}
std::vector<Tensor> Tensor::tensor_split(const Dims& given_indices, std::int64_t dim_) const {
  const Tensor own = *this;  // see the same note
  const Dims indices = given_indices;
  check_can_be_split(own);
  std::vector<Tensor> pieces;
  pieces.reserve(indices.size() + 1);
  std::int64_t at = 0;
  for (const std::int64_t end : indices) {
    pieces.push_back(own.slice(dim_, at, end));
    at = end;
  }
  pieces.push_back(own.slice(dim_, at));
  return pieces;
}
Tensor Tensor::contiguous(ContiguousOptions options) const {
  // Asked of nobody where there is nothing to do: a user-defined tensor stays the same one too.
  if (is_contiguous(options.memory_format)) return *this;
  return call<op::contiguous>(*this, options.memory_format);
}
Tensor Tensor::real() const { return call<op::real>(*this); }
Tensor Tensor::imag() const { return call<op::imag>(*this); }

}  // namespace tenon
