// Hooks, parents and tied weights refer to a module: nothing is assigned to one; nn::clone copies.
// expect: deleted
#include <tenon/tenon.h>

void f(tenon::nn::Linear& a, const tenon::nn::Linear& b) {
  const std::shared_ptr<tenon::nn::Linear> copy = tenon::nn::clone(b);
#ifdef MISTAKE
  a = b;
#endif
}
