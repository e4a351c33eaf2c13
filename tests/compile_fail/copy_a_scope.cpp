// A scope ends where it was opened; a copy would end it twice.
// expect: deleted
#include <tenon/tenon.h>

void f() {
  const tenon::DeviceScope meta("meta");
#ifdef MISTAKE
  const tenon::DeviceScope copy = meta;
#endif
}
