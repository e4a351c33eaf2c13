#include "ops/support/into.h"

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

void check_out(const OpInfo& info, const Tensor& out, const Layout& result, OutDType dtype) {
  if (dtype == OutDType::exact && out.dtype() != result.dtype) {
    throw DTypeError(concat(info.name(), ": Expected out tensor to have dtype ",
                            tenon::info(result.dtype).name, ", but got ",
                            tenon::info(out.dtype()).name, " instead"));
  }
  check_destination(info.name(), out, result.dtype, result.device);
  if (out.shape() == result.shape) return;
  if (out.numel() == 0 && !out.is_view()) return;
  if (out.numel() == 0) {
    throw ShapeError(concat(
        info.name(), ": out has no elements and is a view, so that it cannot take the shape ",
        bracketed(result.shape), " of the result: pass a tensor of its own"));
  }
  check_result_shape(out, result.shape);
}

void take_result(const Tensor& out, const Tensor& result) { out.set_data(result.to(out.dtype())); }

}  // namespace tenon
