#include "tenon/nn/parameter.h"

#include "base/text.h"
#include "core/body_editor.h"
#include "tenon/error.h"
#include "tenon/extend/wrapper.h"

namespace tenon::nn {

Tensor make_parameter(const Tensor& given, bool requires_grad) {
  const Tensor data = given;  // a class's detach() may destroy the caller's
  if (requires_grad && !is_differentiable(data.dtype())) {
    throw DTypeError(
        concat("Only Tensors of floating point and complex dtype can require gradients: a "
               "parameter of dtype ",
               repr(data.dtype()), " needs requires_grad = false"));
  }
  const Tensor parameter = data.detach();
  if (data.body().is_wrapper()) {
    const bool same_class =
        parameter.body().is_wrapper() &&
        *static_cast<const WrapperBody&>(parameter.body()).wrapper_class().type ==
            *static_cast<const WrapperBody&>(data.body()).wrapper_class().type;
    if (!same_class) {
      throw TypeError(
          concat("a parameter of type ", data.body().type_name(),
                 " requires that detach() returns an instance of the same type, but it returned a ",
                 parameter.body().type_name()));
    }
    if (parameter.is(data))
      throw TypeError(concat(data.body().type_name(),
                             "'s detach() returned the tensor itself, which must stay what it is"));
  }
  BodyEditor::set_parameter(parameter.body(), true);
  BodyEditor::set_requires_grad(parameter.body(), requires_grad);
  return parameter;
}

}  // namespace tenon::nn
