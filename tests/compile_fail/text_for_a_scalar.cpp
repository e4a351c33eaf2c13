// A pointer must not become a bool on its way to a Scalar.
// expect: fill_
#include <tenon/tenon.h>

void f(const tenon::Tensor& t) {
  t.fill_(true);
#ifdef MISTAKE
  t.fill_("true");
#endif
}
