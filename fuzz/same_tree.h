// Whether two trees of values say the same, in time that does not grow with how often parts of them
// are shared, and without operators: fuzzers of files link nothing but the reader and the writer.
#pragma once

#include <string>

#include "tenon/value.h"

namespace tenon {

// Empty, or where they differ. Without `layouts`, of tensors only dtype, shape and elements count:
// that is what safetensors keeps.
std::string differs(const Value& a, const Value& b, bool layouts);

}  // namespace tenon
