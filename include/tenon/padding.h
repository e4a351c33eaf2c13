// Moved: include "tenon/ops/padding.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/padding.h"
