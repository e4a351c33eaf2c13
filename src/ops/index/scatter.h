// What scatter and scatter_reduce have in common.
#pragma once

#include <cstdint>

#include "kernels/pick.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon::scattering {

// That src can be scattered into self.
void check(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
           const Tensor& index, const Tensor& src);
void run(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
         const Tensor& index, const Tensor& src);

// The part of src that an index, which may be smaller, reads; and a gradient of that part as large
// as src: the rest is zero.
Tensor read_part(const Tensor& src, const Tensor& index);
Tensor narrowed_back(const Tensor& grad, const Shape& shape);

}  // namespace tenon::scattering
