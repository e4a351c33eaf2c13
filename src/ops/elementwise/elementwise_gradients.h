// The gradients of functions of one and of two tensors. One node class for each of the two, not one
// for each function: there are eighty.
#pragma once

#include <string_view>

#include "tenon/autograd.h"
#include "tenon/detail/function_names.h"
#include "tenon/tensor.h"

namespace tenon {

// A node that keeps what the function's gradient needs, of the arguments as they are now: what is
// about to be written over is copied.
Ref<Node> unary_node(UnaryFunction function, std::string_view name, const Tensor& self,
                     bool in_place);
Ref<Node> binary_node(BinaryFunction function, std::string_view name, const Tensor& self,
                      const Tensor& other, bool in_place);
// Shows such a node its result.
void keep_unary_result(Node& node, const Tensor& result);
void keep_binary_result(Node& node, const Tensor& result);

}  // namespace tenon
