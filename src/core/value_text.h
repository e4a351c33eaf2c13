// The repr of a value, of which no more is made than is wanted: what is shared in a value is
// written out in every place.
#pragma once

#include <cstddef>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/value.h"

namespace tenon {

// All of it, if that is no more than `most` bytes; else as many bytes of its beginning, and
// something behind them. A text in it is written out no further than that.
TENON_API std::string repr_up_to(const Value& value, std::size_t most);

// For messages: a beginning and dots if it is long.
TENON_API std::string short_repr(const Value& value);

}  // namespace tenon
