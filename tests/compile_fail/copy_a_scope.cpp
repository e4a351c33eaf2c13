// A scope ends where it was opened; a copy would end it twice.
#include <tenon/tenon.h>

void f() {
  const tenon::DeviceScope meta("meta");
  const tenon::NoGradScope no_grad;
#ifdef MISTAKE
  const tenon::DeviceScope copy = meta;
  const tenon::NoGradScope another = no_grad;
#endif
}
