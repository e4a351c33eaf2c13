// Moved: include "tenon/ops/convolution.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/convolution.h"
