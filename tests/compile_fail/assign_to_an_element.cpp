// Assigning makes a variable name another tensor; x[0] is no variable, and the numbers would stay.
// expect: operator=
#include <tenon/tenon.h>

void f(const tenon::Tensor& x, const tenon::Tensor& y) {
  x[0].copy_(y);
#ifdef MISTAKE
  x[0] = y;
#endif
}
