// Moved: include "tenon/detail/half.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/detail/half.h"
