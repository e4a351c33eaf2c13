// Filling memory with numbers in steps, with PyTorch's rounding.
#pragma once

#include <complex>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// Both write n packed elements of T. Instantiated for the dtypes that can count (sequence.cpp).
template <class T>
TENON_API void fill_arange(T* out, std::int64_t n, double start, double step);
TENON_API void fill_arange(std::int64_t* out, std::int64_t n, std::int64_t start,
                           std::int64_t step);
template <class T>
TENON_API void fill_linspace(T* out, std::int64_t n, std::complex<double> start,
                             std::complex<double> end);

}  // namespace tenon
