#include "kernels/streaming.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon {

bool prefetch_helps() noexcept {
#if defined(__x86_64__)
  static const bool intel = [] {
    unsigned highest = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &highest, &b, &c, &d) != 0 && b == signature_INTEL_ebx &&
           d == signature_INTEL_edx && c == signature_INTEL_ecx;
  }();
  return intel;
#else
  return false;
#endif
}

}  // namespace tenon
