// How many threads Tenon works with. One pool serves reading, copying and calculating; its threads
// start when they are first needed and sleep when they are not.
//
// What may be used from several threads: different tensors freely; one tensor by any number of
// readers, recorded operators included. Writing to a tensor, swap_tensors and set_data need the
// caller to keep others away, exactly as writing to a std::vector does. Handles (Tensor, Storage,
// Value) are like shared_ptr: copies are independent, one handle object is not to be assigned on
// one thread while another uses it.
#pragma once

#include "tenon/detail/api.h"

namespace tenon {

// The calling thread counts as one. By default as many as the CPUs the process may use (its
// affinity mask and its control group's quota). In a forked child it is 1: the pool's threads do
// not exist there.
TENON_API int get_num_threads();
// For the whole process, from the next parallel piece of work on. ValueError below 1.
TENON_API void set_num_threads(int threads);

}  // namespace tenon
