// Tensors that are made of several: what their parts have to be.
#pragma once

#include <string_view>

#include "tenon/value.h"

namespace tenon {

// Whether it is the name of a scheme of quantisation: exactly one of the table's.
bool is_scheme(std::string_view name);

// Whether an object of one of the names in io/pickle/rebuild.h has the parts that reading gives
// such ones, or is a scheme of quantisation, or a Counter of a dict. Anything else that calls
// itself so is none.
bool is_whole_composite(const Value& object);

// TypeError, for who saves it, if it is not: files hold nothing that is only a name here.
void check_whole_composite(const Value& object);

}  // namespace tenon
