// What functions of three tensors have in common: their shape rule, and the way to the kernel.
#pragma once

#include "kernels/ternary.h"
#include "tenon/extend/op_info.h"
#include "tenon/layout.h"
#include "tenon/tensor.h"

namespace tenon {

// Three operands, and what is calculated with them.
struct Ternary {
  const OpInfo& info;
  TernaryFunction function;
  DType dtype;
  const Tensor &a, &b, &c;
};

Layout infer_ternary(const Ternary& t);
// That the result can be written into the first operand.
void check_ternary(const Ternary& t);
// out is what was inferred, or has been checked.
void run_ternary(const Ternary& t, const Tensor& out, const Scalar& value);

}  // namespace tenon
