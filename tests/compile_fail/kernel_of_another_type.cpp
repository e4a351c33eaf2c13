// A device's kernel has the type of the operator's own.
// expect: set_kernel
#include <tenon/extend.h>
#include <tenon/tenon.h>

void right(const tenon::Tensor& self, const tenon::Scalar& value);
void wrong(const tenon::Tensor& self, double value);

void f() {
  tenon::set_kernel<tenon::op::fill_>(tenon::DeviceType::cuda, right);
#ifdef MISTAKE
  tenon::set_kernel<tenon::op::fill_>(tenon::DeviceType::cuda, wrong);
#endif
}
