// Pools of any number of dimensions, which pools as users call them come down to. The number of
// spatial dimensions is that of the numbers in a list; all lists have that many.
#pragma once

#include <cstdint>
#include <tuple>

#include "tenon/tensor.h"

namespace tenon {

// Without a gradient: where one is wanted, it takes the indices.
Tensor pool_max(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, const Dims& dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> pool_max_with_indices(const Tensor& self, const Dims& kernel_size,
                                                 const Dims& stride, const Dims& padding,
                                                 const Dims& dilation, bool ceil_mode);
std::tuple<Tensor, Tensor> pool_max_adaptive(const Tensor& self, const Dims& output_size);
// The gradient of both with indices: each element is added to where its index says, in zeros of
// that size.
Tensor pool_max_backward(const Tensor& grad, const Tensor& indices, const Dims& sizes);
// The same, but the last that comes to a place stays.
Tensor unpool_max(const Tensor& self, const Tensor& indices, const Dims& sizes);
// A divisor of 0 is none.
Tensor pool_average(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                    const Dims& padding, bool ceil_mode, bool count_include_pad,
                    std::int64_t divisor);
Tensor pool_average_backward(const Tensor& grad, const Dims& sizes, const Dims& kernel_size,
                             const Dims& stride, const Dims& padding, bool ceil_mode,
                             bool count_include_pad, std::int64_t divisor);
Tensor pool_average_adaptive(const Tensor& self, const Dims& output_size);
Tensor pool_average_adaptive_backward(const Tensor& grad, const Dims& sizes);

}  // namespace tenon
