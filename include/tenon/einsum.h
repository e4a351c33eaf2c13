// Moved: include "tenon/ops/einsum.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/einsum.h"
