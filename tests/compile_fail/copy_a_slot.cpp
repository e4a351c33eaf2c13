// A slot is a place in its module; a copy of it would be in none. The tensor in it is slot.get().
// expect: Parameter
#include <tenon/tenon.h>

void f(tenon::nn::Linear& linear) {
  const tenon::Tensor tensor = linear.weight;
#ifdef MISTAKE
  auto w = linear.weight;
#endif
}
