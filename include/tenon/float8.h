// Moved: include "tenon/detail/float8.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/detail/float8.h"
