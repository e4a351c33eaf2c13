// expect: this C++ type is not the element type of any dtype
#include <tenon/tenon.h>

void f(const tenon::Tensor& t) {
  t.data<float>();
#ifdef MISTAKE
  t.data<char32_t>();
#endif
}
