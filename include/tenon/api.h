// Moved: include "tenon/detail/api.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/detail/api.h"
