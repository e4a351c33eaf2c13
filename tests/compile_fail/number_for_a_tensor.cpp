// A number is not a tensor; tensor(1) makes one.
// expect: equal
#include <tenon/tenon.h>

bool f() {
#ifdef MISTAKE
  return tenon::equal(1, 2);
#else
  return tenon::equal(tenon::tensor(1), tenon::tensor(2));
#endif
}
