// Moved: include "tenon/ops/random.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/random.h"
