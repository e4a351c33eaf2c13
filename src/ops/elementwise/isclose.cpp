// Whether numbers are close.
#include "base/text.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/reductions.h"

namespace tenon {

Tensor isclose(const Tensor& given_self, const Tensor& given_other, CloseOptions options) {
  const Tensor self = given_self, other = given_other;  // see Note [Arguments of one's own]
  if (self.dtype() != other.dtype()) {
    throw DTypeError(concat("isclose: ", info(self.dtype()).scalar_name, " did not match ",
                            info(other.dtype()).scalar_name, ": convert one with to(dtype)"));
  }
  if (!(options.rtol >= 0) || !(options.atol >= 0)) {
    throw ValueError(concat("isclose: rtol and atol must be at least zero, but they are ",
                            options.rtol, " and ", options.atol));
  }
  Tensor close = self == other;
  const bool floating = self.is_floating_point() || self.is_complex();
  if (options.equal_nan && floating) close = close | (isnan(self) & isnan(other));
  if (options.rtol == 0 && options.atol == 0) return close;
  const Tensor a = floating ? self : self.to(get_default_dtype());
  const Tensor b = floating ? other : other.to(get_default_dtype());
  const Tensor apart = abs(a - b), allowed = abs(b * options.rtol) + options.atol;
  return close | (isfinite(apart) & (apart <= allowed));
}

bool allclose(const Tensor& self, const Tensor& other, CloseOptions options) {
  return all(isclose(self, other, options)).item<bool>();
}

}  // namespace tenon
