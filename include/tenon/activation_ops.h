// Moved: include "tenon/ops/activation_ops.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/activation_ops.h"
