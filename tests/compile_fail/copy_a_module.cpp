// Hooks, parents and tied weights refer to a module: it is assigned to nothing, and copied by nn::clone.
// expect: deleted
#include <tenon/tenon.h>

void f(tenon::nn::Linear& a, const tenon::nn::Linear& b) {
  const std::shared_ptr<tenon::nn::Linear> copy = tenon::nn::clone(b);
#ifdef MISTAKE
  a = b;
#endif
}
