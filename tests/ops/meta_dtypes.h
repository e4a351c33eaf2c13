// The operators that MetaDtypes tries: with tensors of every dtype, and of every two.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

// Given a matrix, or two.
using OfOne = std::function<Tensor(const Tensor&)>;
using OfTwo = std::function<Tensor(const Tensor&, const Tensor&)>;
template <class F>
using Named = std::vector<std::pair<std::string, F>>;

// Every function of one or two elements (tenon/detail/function_names.h): new, in place, into
// another.
Named<OfOne> functions_of_elements();
Named<OfTwo> functions_of_two_elements();
// All other operators, by what they do.
Named<OfOne> operators_of_one();
Named<OfTwo> operators_of_two();
Named<OfOne> layers_of_one();
Named<OfTwo> layers_of_two();

}  // namespace tenon
