#include "ops/into.h"

namespace tenon {

void prepare_out(const OpInfo& info, const Tensor& out, const Layout& result) {
  check_destination(info.name(), out, result.dtype, result.device);
  fit_out(out, result);
  check_result_shape(out, result.shape);
}

}  // namespace tenon
