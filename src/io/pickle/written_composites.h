// Tensors that are made of several, on their way into an archive.
#pragma once

#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

// ValueError for a whole composite (io/pickle/composites.h) whose parts do not fit each other, so
// that reading would refuse it: notes of a safetensors file may say anything of them, and so may a
// caller. Charged to the meter: all indices of a sparse tensor are looked at.
void check_written_composite(const Value& object, ReadMeter& meter);

}  // namespace tenon
