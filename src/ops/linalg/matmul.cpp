// Products of vectors and matrices: shapes, and what they are in terms of batches of matrices.
#include "tenon/ops/matmul.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "ops/linalg/multiply.h"
#include "ops/onednn/linear.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "ops/views/hidden_views.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::dot::info{"dot", kind};
constinit OpInfo op::mv::info{"mv", kind};
constinit OpInfo op::mm::info{"mm", kind};
constinit OpInfo op::bmm::info{"bmm", kind};
constinit OpInfo op::addmm::info{"addmm", kind};
constinit OpInfo op::matmul::info{"matmul", kind};

namespace {

std::string by(const Tensor& t) {
  std::string text;
  for (const std::int64_t size : t.shape()) text += concat(text.empty() ? "" : "x", size);
  return text;
}

void check_operands(const OpInfo& op, const Tensor& self, const Tensor& other) {
  const Tensor both[] = {self, other};
  same_device(op.name(), both);
  if (self.dtype() != other.dtype()) {
    throw DTypeError(concat(
        op.name(), ": expected both to have the same dtype, but got: ", info(self.dtype()).name,
        " != ", info(other.dtype()).name, ": convert one with to()"));
  }
  if (!can_multiply(self.dtype())) not_implemented(op.name(), self.dtype());
}

Layout result(const Shape& shape, const Tensor& self) {
  return Layout::packed(shape, self.dtype(), self.device());
}

// One matrix is a batch of one.
void multiply(const Tensor& out, const Tensor& a, const Tensor& b) {
  multiply_batch(out.view({1, a.size(0), b.size(1)}), a.unsqueeze(0), b.unsqueeze(0));
}

}  // namespace

namespace {

// The gradient of each factor is calculated from the other.
bool saves_the_other(std::size_t place, const Wanted& wanted) {
  return place < 2 && wanted[1 - place];
}

// Whether the elements of a matrix are in the order of its transpose.
bool is_turned(const Tensor& matrix) {
  return matrix.defined() && !matrix.body().is_wrapper() && matrix.stride(0) == 1 &&
         matrix.stride(1) == matrix.size(0) && matrix.size(0) > 1;
}
// Gradients of the factors of a product. They are in the order of the factor where it is known,
// so that the gradient of a weight, which is multiplied transposed, can be kept as it is.
Tensor gradient_of_first(const Tensor& grad, const Tensor& first, const Tensor& second) {
  if (is_turned(first)) return mm(second.conj(), grad.t()).t();
  return mm(grad, second.t().conj());
}
Tensor gradient_of_second(const Tensor& grad, const Tensor& first, const Tensor& second) {
  if (is_turned(second)) return mm(grad.t(), first.conj()).t();
  return mm(first.t().conj(), grad);
}

Tensor times(const Tensor& grad, const Scalar& factor) {
  return factor.to<std::complex<double>>() == 1.0 ? grad : grad * conj(factor);
}

}  // namespace

template <>
struct Rule<op::dot> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static constexpr std::string_view gradient = "DotBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return saves_the_other(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& other) {
    if (g.wanted(0)) g.set(0, grad * other.conj());
    if (g.wanted(1)) g.set(1, grad * self.conj());
  }
  static Layout infer(const Tensor& self, const Tensor& other) {
    if (self.dim() != 1 || other.dim() != 1) {
      throw ShapeError(concat("dot: 1D tensors expected, but got ", self.dim(), "D and ",
                              other.dim(), "D tensors"));
    }
    check_operands(op::dot::info, self, other);
    if (self.numel() != other.numel()) {
      throw ShapeError(concat("dot: inconsistent tensor size, expected tensor ",
                              bracketed(self.shape()), " and src ", bracketed(other.shape()),
                              " to have the same number of elements, but got ", self.numel(),
                              " and ", other.numel(), " elements respectively"));
    }
    return result({}, self);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    multiply(out, self.unsqueeze(0), other.unsqueeze(1));
  }
};

template <>
struct Rule<op::mv> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::lower_precision};
  static constexpr std::string_view gradient = "MvBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return saves_the_other(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& vec) {
    if (g.wanted(0)) g.set(0, grad.unsqueeze(1) * vec.conj());
    if (g.wanted(1)) g.set(1, mv(self.t().conj(), grad));
  }
  static Layout infer(const Tensor& self, const Tensor& vec) {
    if (self.dim() != 2 || vec.dim() != 1) {
      throw ShapeError(concat("mv: matrix @ vector expected, got ", self.dim(), "D and ", vec.dim(),
                              "D tensors"));
    }
    check_operands(op::mv::info, self, vec);
    if (self.size(1) != vec.size(0)) {
      throw ShapeError(
          concat("mv: size mismatch, got mat (", by(self), "), vec (", vec.size(0), ")"));
    }
    return result({self.size(0)}, self);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& vec) {
    multiply(out, self, vec.unsqueeze(1));
  }
};

template <>
struct Rule<op::mm> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static constexpr std::string_view gradient = "MmBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return saves_the_other(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& mat2) {
    if (g.wanted(0)) g.set(0, gradient_of_first(grad, self, mat2));
    if (g.wanted(1)) g.set(1, gradient_of_second(grad, self, mat2));
  }
  static Layout infer(const Tensor& self, const Tensor& mat2) {
    if (self.dim() != 2)
      throw ShapeError(concat("mm: self must be a matrix, but has ", self.dim(), " dimensions"));
    if (mat2.dim() != 2)
      throw ShapeError(concat("mm: mat2 must be a matrix, but has ", mat2.dim(), " dimensions"));
    check_operands(op::mm::info, self, mat2);
    if (self.size(1) != mat2.size(0)) {
      throw ShapeError(
          concat("mat1 and mat2 shapes cannot be multiplied (", by(self), " and ", by(mat2), ")"));
    }
    return result({self.size(0), mat2.size(1)}, self);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& mat2) {
    if (multiply_by_weight(out, self, mat2, {})) return;
    multiply(out, self, mat2);
  }
};

template <>
struct Rule<op::bmm> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static constexpr std::string_view gradient = "BmmBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return saves_the_other(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& mat2) {
    if (g.wanted(0)) g.set(0, bmm(grad, mat2.mT().conj()));
    if (g.wanted(1)) g.set(1, bmm(self.mT().conj(), grad));
  }
  static Layout infer(const Tensor& self, const Tensor& mat2) {
    if (self.dim() != 3)
      throw ShapeError(
          concat("bmm: batch1 must be a 3D tensor, but has ", self.dim(), " dimensions"));
    if (mat2.dim() != 3)
      throw ShapeError(
          concat("bmm: batch2 must be a 3D tensor, but has ", mat2.dim(), " dimensions"));
    check_operands(op::bmm::info, self, mat2);
    if (self.size(0) != mat2.size(0) || self.size(2) != mat2.size(1)) {
      throw ShapeError(concat(
          "bmm: Expected size for first two dimensions of batch2 tensor to be: [", self.size(0),
          ", ", self.size(2), "] but got: [", mat2.size(0), ", ", mat2.size(1), "]."));
    }
    return result({self.size(0), self.size(1), mat2.size(2)}, self);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& mat2) {
    multiply_batch(out, self, mat2);
  }
};

template <>
struct Rule<op::addmm> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static constexpr std::string_view gradient = "AddmmBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return (place == 1 && wanted[2]) || (place == 2 && wanted[1]);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Tensor& mat1,
                       const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
    if (g.wanted(0)) g.set(0, times(grad, beta));
    if (g.wanted(1)) g.set(1, times(gradient_of_first(grad, mat1, mat2), alpha));
    if (g.wanted(2)) g.set(2, times(gradient_of_second(grad, mat1, mat2), alpha));
  }
  static Layout infer(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                      const Scalar& beta, const Scalar& alpha) {
    const Layout product = Rule<op::mm>::infer(mat1, mat2);
    check_operands(op::addmm::info, self, mat1);
    if (!broadcasts_to(self.shape(), product.shape)) {
      throw ShapeError(concat("addmm: self of shape ", bracketed(self.shape()),
                              " cannot be added to a product of shape ", bracketed(product.shape)));
    }
    for (const auto& [name, factor] : {std::pair("beta", beta), std::pair("alpha", alpha)}) {
      if (is_integral(self.dtype()) && factor.kind() != Scalar::Kind::integer) {
        throw DTypeError(concat("For integral input tensors, argument ", name,
                                " must not be a floating point number: self is of ",
                                repr(self.dtype())));
      }
    }
    return product;
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                  const Scalar& beta, const Scalar& alpha) {
    if (is(alpha, 1) && is(beta, 1) && self.dim() == 1 && self.is_contiguous() &&
        self.numel() == out.size(1) && multiply_by_weight(out, mat1, mat2, self))
      return;
    const bool rounded = out.dtype() == float16 || out.dtype() == bfloat16;
    // Nobody is to see that the result was written to more than once.
    const Tensor sum = rounded ? empty(out.shape(), {.dtype = float32, .device = Device::cpu()})
                               : out.variable_data();
    multiply(sum, mat1, mat2);
    if (!is(alpha, 1)) sum.mul_(alpha);
    if (!is(beta, 0)) sum.add_(self.to(sum.dtype()), {.alpha = beta});
    if (rounded) copy_tensor(out, sum);
  }

 private:
  static bool is(const Scalar& factor, double value) {
    return factor.to<std::complex<double>>() == value;
  }
};

template <>
struct Rule<op::matmul> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& self, const Tensor& other) {
    if (self.dim() == 0 || other.dim() == 0) {
      throw ShapeError(concat("both arguments to matmul need to be at least 1D, but they are ",
                              self.dim(), "D and ", other.dim(), "D"));
    }
    if (self.dim() == 1 && other.dim() == 1) return dot(self, other);
    // Nobody else has a product: it is given its shape without becoming a view.
    if (self.dim() == 2 && other.dim() == 1) return mv(self, other);
    if (self.dim() == 1 && other.dim() == 2) {
      const Tensor row = mm(self.unsqueeze(0), other);
      return unsafe_view(row, {row.size(1)});
    }
    if (self.dim() == 2 && other.dim() == 2) return mm(self, other);
    // One matrix, or vector, for a whole batch: the batch is one tall matrix.
    if (self.dim() > 2 && other.dim() <= 2) {
      Shape shape = self.shape();
      const std::int64_t k = shape.back();
      shape.erase(shape.size() - 1);
      const Tensor tall = self.reshape({shape.numel(), k});
      if (other.dim() == 1) return unsafe_view(mv(tall, other), shape);
      Tensor product = mm(tall, other);
      shape.push_back(product.size(1));
      return unsafe_view(product, shape);
    }
    const Tensor left = self.dim() == 1 ? self.unsqueeze(0) : self;
    const Tensor right = other.dim() == 1 ? other.unsqueeze(1) : other;
    const auto batch_of = [](const Tensor& t) {
      Shape shape = t.shape();
      shape.erase(shape.size() - 1);
      shape.erase(shape.size() - 1);
      return shape;
    };
    Shape batch = broadcast_shapes(batch_of(left), batch_of(right));
    const auto flat = [&](const Tensor& t) {
      Shape shape = batch;
      shape.push_back(t.size(-2));
      shape.push_back(t.size(-1));
      return t.expand(shape).reshape({batch.numel(), t.size(-2), t.size(-1)});
    };
    const Tensor product = bmm(flat(left), flat(right));
    if (self.dim() > 1) batch.push_back(left.size(-2));
    if (other.dim() > 1) batch.push_back(right.size(-1));
    return unsafe_view(product, batch);
  }
};

Tensor dot(const Tensor& self, const Tensor& tensor) { return call<op::dot>(self, tensor); }
Tensor mv(const Tensor& self, const Tensor& vec) { return call<op::mv>(self, vec); }
Tensor mm(const Tensor& self, const Tensor& mat2) { return call<op::mm>(self, mat2); }
Tensor bmm(const Tensor& self, const Tensor& mat2) { return call<op::bmm>(self, mat2); }
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
             const AddmmOptions& options) {
  return call<op::addmm>(self, mat1, mat2, options.beta, options.alpha);
}
Tensor matmul(const Tensor& self, const Tensor& other) { return call<op::matmul>(self, other); }
Tensor outer(const Tensor& self, const Tensor& given_vec2) {
  const Tensor vec2 = given_vec2;  // see Note [Arguments of one's own]
  if (self.dim() != 1 || vec2.dim() != 1) {
    throw ShapeError(
        concat("outer: Expected 1-D arguments, but got ", self.dim(), "-D and ", vec2.dim(), "-D"));
  }
  return self.unsqueeze(1) * vec2;
}

const Tensor& dot_out(const Tensor& out, const Tensor& self, const Tensor& tensor) {
  return into<op::dot>(out, self, tensor);
}
const Tensor& mv_out(const Tensor& out, const Tensor& self, const Tensor& vec) {
  return into<op::mv>(out, self, vec);
}
const Tensor& mm_out(const Tensor& out, const Tensor& self, const Tensor& mat2) {
  return into<op::mm>(out, self, mat2);
}
const Tensor& bmm_out(const Tensor& out, const Tensor& self, const Tensor& mat2) {
  return into<op::bmm>(out, self, mat2);
}
const Tensor& addmm_out(const Tensor& out, const Tensor& self, const Tensor& mat1,
                        const Tensor& mat2, const AddmmOptions& options) {
  return into<op::addmm>(out, self, mat1, mat2, options.beta, options.alpha);
}
const Tensor& matmul_out(const Tensor& out, const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) return mm_out(out, self, other);
  if (self.dim() == 3 && other.dim() == 3 && self.size(0) == other.size(0))
    return bmm_out(out, self, other);
  check_no_history(out, self);
  check_no_history(out, other);
  const NoGradScope unrecorded;
  const detail::NoAutocastScope as_given;
  const Tensor own = out;  // see Note [Arguments of one's own]
  const Tensor product = matmul(self, other);
  check_out(op::matmul::info, own, product.layout(), OutDType::exact);
  if (own.shape() == product.shape())
    own.copy_(product);
  else
    take_result(own, product);
  return out;
}

}  // namespace tenon
