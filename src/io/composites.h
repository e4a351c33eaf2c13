// Tensors that are made of several: what their parts have to be.
#pragma once

#include "tenon/value.h"

namespace tenon {

// Whether an object of one of the names in io/rebuild.h has the parts that reading gives such ones,
// or is a scheme of quantisation, or a Counter of a dict. Anything else that calls itself so is
// none.
bool is_whole_composite(const Value& object);

// TypeError, for who saves it, if it is not: files hold nothing that is only a name here.
void check_whole_composite(const Value& object);

}  // namespace tenon
