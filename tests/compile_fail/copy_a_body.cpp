// A body belongs to one cell; two tensors never have the same one.
// expect: deleted
#include <tenon/extend.h>
#include <tenon/tenon.h>

void f(const tenon::Tensor& t) {
  const tenon::Body& body = t.body();
#ifdef MISTAKE
  tenon::Body copy = body;
#endif
  static_cast<void>(body);
}
