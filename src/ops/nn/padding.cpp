// Larger at the edges.
#include "tenon/ops/padding.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/gather_lines.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::pad::info{"pad", kind};

namespace {

// How an edge is continued.
enum class PadEdge : std::uint8_t { reflect, replicate, circular };

const char* name_of(PadEdge edge) {
  switch (edge) {
    case PadEdge::reflect: return "reflect";
    case PadEdge::replicate: return "replicate";
    default: return "circular";
  }
}

Dims negative(const Dims& pad) {
  Dims result = pad;
  for (std::int64_t& each : result) each = -each;
  return result;
}

// Before and after dimension d.
struct Amount {
  std::int64_t before, after;
};
Amount amount(const Dims& pad, const Shape& shape, std::size_t d) {
  const std::size_t from_end = shape.size() - 1 - d;
  if (2 * from_end >= pad.size()) return {0, 0};
  return {pad[2 * from_end], pad[2 * from_end + 1]};
}

Shape padded(const Tensor& self, const Dims& pad) {
  Shape shape = self.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Amount by = amount(pad, self.shape(), d);
    std::int64_t size = 0;
    if (__builtin_add_overflow(shape[d], by.before, &size) ||
        __builtin_add_overflow(size, by.after, &size)) {
      throw ShapeError(concat("pad: a dimension of size ", shape[d], " padded by ", by.before,
                              " and ", by.after, " is larger than any can be"));
    }
    shape[d] = size;
  }
  return shape;
}

}  // namespace

namespace op {

struct constant_pad_nd {
  using Signature = Tensor(const Tensor& self, const Dims& pad, const Scalar& value);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo constant_pad_nd::info{"constant_pad_nd", kind};

struct edge_pad {
  using Signature = Tensor(const Tensor& self, const Dims& pad, PadEdge edge);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo edge_pad::info{"_edge_pad", kind};

// Of a gradient as large as the padded tensor, one as large as the tensor.
struct edge_pad_backward {
  using Signature = Tensor(const Tensor& grad, const Shape& shape, const Dims& pad, PadEdge edge);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo edge_pad_backward::info{"_edge_pad_backward", kind};

}  // namespace op

template <>
struct Rule<op::constant_pad_nd> {
  static constexpr std::string_view gradient = "ConstantPadNdBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& pad,
                       const Scalar& /*value*/) {
    g.set(0, call<op::constant_pad_nd>(grad, negative(pad), 0));
  }
  static Layout infer(const Tensor& self, const Dims& pad, const Scalar& value) {
    const Shape shape = padded(self, pad);
    bool grows = false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Amount by = amount(pad, self.shape(), d);
      grows = grows || by.before > 0 || by.after > 0;
      // Neither end may be taken away beyond the other.
      const std::int64_t size = self.shape()[d];
      if (shape[d] >= 0 && size + std::min<std::int64_t>(by.before, 0) >= 0 &&
          size + std::min<std::int64_t>(by.after, 0) >= 0 &&
          size + std::min<std::int64_t>(by.before, 0) + std::min<std::int64_t>(by.after, 0) >= 0)
        continue;
      throw ShapeError(concat(
          "pad: dimension ", d, " of an input of shape ", bracketed(self.shape()), " has size ",
          size, ", of which nothing is left with a padding of (", by.before, ", ", by.after, ")"));
    }
    if (grows) check_becomes(value, self.dtype());
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, const Dims& pad, const Scalar& value) {
    // Nobody is to see that the result was written to.
    Tensor to = out.variable_data(), from = self;
    bool grows = false;
    for (std::size_t d = 0; d < self.shape().size(); ++d) {
      const Amount by = amount(pad, self.shape(), d);
      grows = grows || by.before > 0 || by.after > 0;
      const auto dim = static_cast<std::int64_t>(d);
      const std::int64_t cut = std::max<std::int64_t>(0, -by.before),
                         cut_after = std::max<std::int64_t>(0, -by.after),
                         kept = self.shape()[d] - cut - cut_after;
      from = from.narrow(dim, cut, kept);
      to = to.narrow(dim, std::max<std::int64_t>(0, by.before), kept);
    }
    if (grows) out.variable_data().fill_(value);
    to.copy_(from);
  }
};

namespace {

std::size_t padded_dims(const Dims& pad) { return pad.size() / 2; }

// Where element `at` of a padded dimension comes from.
std::int64_t source(PadEdge edge, std::int64_t at, Amount by, std::int64_t size) {
  const std::int64_t place = at - by.before;
  switch (edge) {
    case PadEdge::reflect:
      return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
    case PadEdge::replicate: return std::clamp<std::int64_t>(place, 0, size - 1);
    default: {
      // What is left of the dimension goes round.
      const std::int64_t begin = std::max<std::int64_t>(0, -by.before),
                         length = size - begin - std::max<std::int64_t>(0, -by.after);
      const std::int64_t turn = (place - begin) % length;
      return begin + (turn < 0 ? turn + length : turn);
    }
  }
}

LineMap line_map(const Shape& shape, const Dims& pad, PadEdge edge) {
  LineMap map;
  for (std::size_t d = shape.size() - padded_dims(pad); d < shape.size(); ++d) {
    const Amount by = amount(pad, shape, d);
    std::vector<std::int64_t> from(static_cast<std::size_t>(shape[d] + by.before + by.after));
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = source(edge, static_cast<std::int64_t>(i), by, shape[d]);
    map.sizes.push_back(shape[d]);
    map.from.push_back(std::move(from));
  }
  return map;
}

std::int64_t blocks(const Shape& shape, const Dims& pad) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < shape.size() - padded_dims(pad); ++d) n *= shape[d];
  return n;
}

std::string_view node_name(const Dims& pad, PadEdge edge) {
  constexpr std::string_view kReflect[] = {"ReflectionPad1DBackward0", "ReflectionPad2DBackward0",
                                           "ReflectionPad3DBackward0"};
  constexpr std::string_view kReplicate[] = {
      "ReplicationPad1DBackward0", "ReplicationPad2DBackward0", "ReplicationPad3DBackward0"};
  const std::size_t n = padded_dims(pad) - 1;
  // PyTorch writes the parts of a circular one into a tensor.
  return edge == PadEdge::reflect     ? kReflect[n]
         : edge == PadEdge::replicate ? kReplicate[n]
                                      : std::string_view("CopySlices");
}

// What is left of a dimension that is cut, before it is made larger.
std::int64_t kept(Amount by, std::int64_t size) {
  return size + std::min<std::int64_t>(0, by.before) + std::min<std::int64_t>(0, by.after);
}

void check_edges(const Tensor& self, const Dims& pad, PadEdge edge, const Shape& result) {
  const Shape& shape = self.shape();
  const std::size_t n = padded_dims(pad);
  // The batch may be empty, if there is a dimension for it.
  bool empty = shape.size() == n + 1 && shape[0] == 0;
  for (std::size_t d = 1; d < shape.size(); ++d) empty = empty || shape[d] == 0;
  if (empty) {
    throw ShapeError(concat("Expected ", n + 1, "D or ", n + 2,
                            "D (batch mode) tensor with possibly 0 batch size and other non-zero "
                            "dimensions for input, but got: ",
                            bracketed(shape)));
  }
  bool any_left = edge == PadEdge::circular;
  for (std::size_t d = shape.size() - n; d < shape.size(); ++d) {
    const Amount by = amount(pad, shape, d);
    const auto which = [&] {
      return concat("got: padding (", by.before, ", ", by.after, ") at dimension ", d, " of input ",
                    bracketed(shape));
    };
    if (edge == PadEdge::reflect && (by.before >= shape[d] || by.after >= shape[d])) {
      throw ShapeError(concat(
          "Padding size should be less than the corresponding input dimension, but ", which()));
    }
    if (edge == PadEdge::circular && (by.before > shape[d] || by.after > shape[d]))
      throw ShapeError(concat("Padding value causes wrapping around more than once: ", which()));
    // PyTorch's conditions: a circular dimension may come out empty, a reflected one as long as
    // another does not, a replicated one never.
    const std::int64_t size = result[d];
    any_left = any_left || size > 0;
    const bool last = d + 1 == shape.size();
    if (size < 0 || (last && !any_left) || (size == 0 && edge == PadEdge::replicate) ||
        (size > 0 && edge == PadEdge::circular && kept(by, shape[d]) <= 0)) {
      throw ShapeError(concat("Negative padding value is resulting in an empty dimension, with ",
                              "mode \"", name_of(edge), "\": ", which()));
    }
  }
}

}  // namespace

template <>
struct Rule<op::edge_pad> {
  static std::string_view gradient_name(const Tensor&, const Dims& pad, PadEdge edge) {
    return node_name(pad, edge);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& pad,
                       PadEdge edge) {
    g.set(0, call<op::edge_pad_backward>(grad, g.shape(0), pad, edge));
  }
  static Layout infer(const Tensor& self, const Dims& pad, PadEdge edge) {
    const Shape shape = padded(self, pad);
    check_edges(self, pad, edge, shape);
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& pad, PadEdge edge) {
    if (out.numel() == 0) return;
    const Tensor from = self.contiguous();
    gather_lines(line_map(self.shape(), pad, edge), blocks(self.shape(), pad), from.data_ptr(),
                 out.data_ptr(), self.element_size());
  }
};

template <>
struct Rule<op::edge_pad_backward> {
  static constexpr std::string_view gradient = "EdgePadBackwardBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*grad*/,
                       const Shape& /*shape*/, const Dims& pad, PadEdge edge) {
    g.set(0, call<op::edge_pad>(grad, pad, edge));
  }
  static Layout infer(const Tensor& grad, const Shape& shape, const Dims& /*pad*/,
                      PadEdge /*edge*/) {
    return Layout::packed(shape, grad.dtype(), grad.device());
  }
  static void cpu(Tensor& out, const Tensor& grad, const Shape& shape, const Dims& pad,
                  PadEdge edge) {
    if (out.numel() == 0) return;
    const DType dtype = grad.dtype();
    const bool wide = dtype == float64 || dtype == complex128;
    const DType sums = wide || is_complex(dtype) ? dtype : float32;
    LineMap map = line_map(shape, pad, edge);
    if (is_complex(dtype)) map.inner = 2;
    const Tensor from = grad.to(sums).contiguous();
    const Tensor to = zeros(shape, {.dtype = sums, .device = Device::cpu()});
    add_lines(map, blocks(shape, pad), from.data_ptr(), to.data_ptr(), wide ? float64 : float32);
    copy_tensor(out, to);
  }
};

template <>
struct Rule<op::pad> {
  static Tensor compose(const Tensor& input, const Dims& pad, const std::string& mode,
                        std::optional<double> value) {
    if (pad.size() % 2 != 0) {
      throw ValueError(concat("Padding length must be divisible by 2, but got ", pad.repr(),
                              " of length ", pad.size()));
    }
    const auto dims = static_cast<std::size_t>(input.dim());
    if (pad.size() > 2 * dims) {
      throw ShapeError(concat("Padding length should be less than or equal to two times the input ",
                              "dimension but got padding length ", pad.size(),
                              " and input of dimension ", dims, ", of shape ",
                              bracketed(input.shape())));
    }
    if (mode == "constant") return call<op::constant_pad_nd>(input, pad, fill(input, value));
    const PadEdge edge = edge_of(mode);
    if (value && *value != 0) {
      throw ValueError(
          concat("Padding mode \"", mode, "\" doesn't take in value argument, but got ", *value));
    }
    const std::size_t n = padded_dims(pad);
    if (n < 1 || n > 3 || (dims != n + 1 && dims != n + 2)) {
      throw ShapeError(concat("Padding size ", pad.size(), " is not supported for ", dims,
                              "D input tensor of shape ", bracketed(input.shape()),
                              ".\nSupported combinations for non-constant padding:\n",
                              "  - 2D or 3D input: padding size = 2 (pads last dimension)\n",
                              "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n",
                              "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"));
    }
    return call<op::edge_pad>(cast_input(input, n, edge), pad, edge);
  }

 private:
  // Which of them PyTorch calculates in float32 on the CPU.
  static Tensor cast_input(const Tensor& input, std::size_t dims, PadEdge edge) {
    if (!detail::is_autocasting() || edge == PadEdge::circular ||
        (edge == PadEdge::reflect && dims == 3))
      return input;
    detail::AutocastCall cast(op::pad::info, {.cpu = AutocastPolicy::fp32});
    cast.see(input);
    return cast.applies() ? cast.converted(input) : input;
  }
  static PadEdge edge_of(const std::string& mode) {
    for (const PadEdge edge : {PadEdge::reflect, PadEdge::replicate, PadEdge::circular}) {
      if (mode == name_of(edge)) return edge;
    }
    throw NotImplementedError(concat("Unrecognised padding mode ", mode,
                                     ": use constant, reflect, replicate or circular"));
  }
  // Whole numbers where elements are: a fraction is cut off, as PyTorch does.
  static Scalar fill(const Tensor& input, std::optional<double> value) {
    if (!value) return 0;
    if (input.dtype() == bool_) return *value != 0;
    if (is_floating_point(input.dtype()) || is_complex(input.dtype())) return *value;
    check_value_fits(*value, input.dtype());
    return static_cast<std::int64_t>(*value);
  }
};

Tensor pad(const Tensor& input, const Dims& pad, const PadOptions& options) {
  return call<op::pad>(input, pad, options.mode, options.value);
}

}  // namespace tenon
