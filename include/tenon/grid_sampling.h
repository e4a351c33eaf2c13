// Moved: include "tenon/ops/grid_sample.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/grid_sample.h"
