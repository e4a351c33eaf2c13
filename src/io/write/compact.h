// Of storages only what tensors use.
#pragma once

#include "io/write/overlay.h"
#include "tenon/value.h"

namespace tenon {

// The tree with tensors over the parts of storages that are used. A tensor that has its storage for
// itself, and gaps in it, is packed.
Value compacted(const Value& tree, Overlay& overlay, ReadMeter& meter);

}  // namespace tenon
