// What gradients of several families are made of.
#pragma once

#include "tenon/extend/gradient.h"
#include "tenon/layout.h"
#include "tenon/tensor.h"

namespace tenon {

// A result of reducing these dimensions (none given: all) as large as what was reduced.
Tensor spread_reduced(const Tensor& reduced, const Shape& shape, const Dims& dim, bool keepdim);
// The other way: a gradient of something that was broadcast, summed to what it was.
Tensor sum_to(const Tensor& grad, const Shape& shape);
// A complex number's conjugate; a real one.
Scalar conj(const Scalar& value);
// How many elements of the shape became one.
std::int64_t reduced_count(const Shape& shape, const Dims& dim);

// Whether no two elements have one place, as far as sizes and strides tell.
bool never_meet(const Shape& shape, const Dims& strides);
// Zeros of that shape with the part, that lies in it as a view of a packed tensor does, added.
Tensor put_back(const Tensor& part, const Shape& shape, const Layout& view);

// Gradients of reductions.
Tensor prod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, const Dims& dim,
                     bool keepdim);
Tensor extreme_gradient(const Tensor& grad, const Tensor& self, const Tensor& result,
                        const Dims& dim, bool keepdim);
Tensor extreme_of_all_gradient(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor var_gradient(const Tensor& grad, const Tensor& self, const Dims& dim, double correction,
                    bool keepdim);
Tensor norm_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, double p,
                     const Dims& dim, bool keepdim);
Tensor cumprod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result,
                        std::int64_t dim);
// Of slices that were picked by number along a dimension: each is added to where it came from.
Tensor slices_gradient(const Tensor& grad, const Shape& shape, const Tensor& index,
                       std::int64_t dim);
// Of values that were picked along a dimension: each goes back to where it came from.
Tensor picked_gradient(const Tensor& grad, const Shape& shape, const Tensor& indices,
                       std::int64_t dim, bool keepdim);

}  // namespace tenon
