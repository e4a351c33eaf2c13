// How far numbers are from those PyTorch gave.
#pragma once

#include <string>

#include "parity/cases.h"

namespace tenon::parity {

// Empty, or what is wrong: elements of ours are apart from those of a "result" line by more than so
// many units in the last place. With no units they are equal, the sign of zero included. With 64 or
// more, a unit is at least that of `scale`.
std::string difference(const Tensor& ours, const Line& expected, double units, double scale = 1);

}  // namespace tenon::parity
