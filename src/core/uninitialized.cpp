#include "core/uninitialized.h"

#include <typeinfo>
#include <utility>

#include "base/text.h"
#include "base/thread_state.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/device_table.h"
#include "core/swap.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/uninitialized.h"

namespace tenon {

UninitializedBody::UninitializedBody(DType dtype, Device device)
    : Body(Layout::packed({0}, dtype, device), Storage::without_data(0, device), kWrapper) {}
UninitializedBody::~UninitializedBody() = default;

bool is_uninitialized_wrapper(const Body& body) noexcept {
  return typeid(body) == typeid(UninitializedBody);
}

std::string UninitializedBody::type_name() const {
  return is_parameter() ? "UninitializedParameter" : "UninitializedBuffer";
}
std::optional<std::string> UninitializedBody::repr() const { return concat("<", type_name(), ">"); }

const std::string_view kUninitializedShape =
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes.";

void throw_uninitialized_shape() { throw Error(std::string(kUninitializedShape)); }

void throw_uninitialized_use(std::string_view what, const Body& body) {
  throw ValueError(
      concat("Attempted to use an uninitialized parameter in ", what,
             ". This error happens when you are using a `LazyModule` or explicitly manipulating "
             "`torch.nn.parameter.",
             body.type_name(),
             "` objects. When using LazyModules Call `forward` with a dummy batch to initialize "
             "the parameters before calling torch functions"));
}

Tensor make_uninitialized(DType dtype, Device device, bool is_parameter, bool requires_grad) {
  if (requires_grad && !is_differentiable(dtype)) {
    throw DTypeError(
        concat("Only Tensors of floating point and complex dtype can require gradients, not ",
               repr(dtype)));
  }
  Tensor made(Ref<Body>(make_ref<UninitializedBody>(dtype, device)));
  BodyEditor::set_parameter(made.body(), is_parameter);
  BodyEditor::set_requires_grad(made.body(), requires_grad);
  return made;
}

Tensor uninitialized_like(const Tensor& tensor, std::optional<DType> dtype,
                          std::optional<Device> device) {
  return make_uninitialized(dtype.value_or(tensor.dtype()),
                            device ? usable_device(*device) : tensor.device(),
                            tensor.is_parameter(), tensor.requires_grad());
}

Tensor uninitialized_parameter(const UninitializedParameterOptions& options) {
  return make_uninitialized(options.dtype.value_or(get_default_dtype()),
                            usable_device(options.device.value_or(get_default_device())), true,
                            options.requires_grad);
}

Tensor uninitialized_buffer(const UninitializedBufferOptions& options) {
  return make_uninitialized(options.dtype.value_or(get_default_dtype()),
                            usable_device(options.device.value_or(get_default_device())), false,
                            options.requires_grad);
}

bool is_lazy(const Tensor& tensor) noexcept { return is_uninitialized(tensor); }

OrdinaryScope::OrdinaryScope() noexcept : saved_(std::exchange(thread_state().inference, false)) {}
OrdinaryScope::~OrdinaryScope() { thread_state().inference = saved_; }

void prepare_materialize(const Tensor& tensor, const Tensor& fresh) {
  Body& own = tensor.body();
  BodyEditor::set_parameter(fresh.body(), own.is_parameter());
  BodyEditor::set_requires_grad(fresh.body(), tensor.requires_grad());
  check_swap(tensor, fresh);
  prepare_carry_over(own, fresh.body());
}
void materialize_as(const Tensor& tensor, const Tensor& fresh) noexcept {
  carry_over(tensor.body(), fresh.body());
  swap_checked(tensor, fresh);
}

void materialize(const Tensor& tensor, const Shape& shape, const MaterializeOptions& options) {
  Body& own = tensor.body();
  if (!is_uninitialized(own)) {
    throw TypeError(concat("materialize: this ", own.is_parameter() ? "Parameter" : own.type_name(),
                           " of ", "shape ", bracketed(own.layout().shape),
                           " is initialized already"));
  }
  const DType dtype = options.dtype.value_or(tensor.dtype());
  if (tensor.requires_grad() && !is_differentiable(dtype)) {
    throw DTypeError(
        concat("data set to a tensor that requires gradients must be floating point or complex "
               "dtype, not ",
               repr(dtype)));
  }
  const OrdinaryScope ordinary;
  const Tensor fresh = allocate_tensor(Layout::packed(
      shape, dtype, options.device ? usable_device(*options.device) : tensor.device()));
  prepare_materialize(tensor, fresh);
  materialize_as(tensor, fresh);
}

}  // namespace tenon
