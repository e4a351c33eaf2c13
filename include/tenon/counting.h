// Moved: include "tenon/ops/one_hot.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/one_hot.h"
