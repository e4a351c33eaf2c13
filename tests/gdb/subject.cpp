// A program for gdb to stop in.
#include <tenon/tenon.h>

#include "support/wrappers.h"

namespace {

using tenon::Tensor;

// Not inlined, and nothing is optimised away: gdb stops here and looks at the arguments.
__attribute__((noinline)) void stop_here(const Tensor& floats, const Tensor& view,
                                         const Tensor& halves, const Tensor& complex,
                                         const Tensor& conjugated, const Tensor& negative,
                                         const Tensor& meta, const Tensor& wrapped,
                                         const Tensor& nothing) {
  asm volatile(""
               :
               : "r"(&floats), "r"(&view), "r"(&halves), "r"(&complex), "r"(&conjugated),
                 "r"(&negative), "r"(&meta), "r"(&wrapped), "r"(&nothing));
}

}  // namespace

int main() {
  const Tensor floats = tenon::arange(8.0).view({2, 4});
  const Tensor complex = tenon::tensor({std::complex<double>(1, -2)});
  stop_here(floats, floats.t(), tenon::tensor({1.5, -2.0}, {.dtype = tenon::bfloat16}), complex,
            complex.conj(), complex.conj().imag(), tenon::empty({3}, {.device = "meta"}),
            tenon::make_tensor<tenon::ScaledTensor>(floats, 0.5), Tensor());
}
