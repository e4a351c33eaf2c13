// Moved: include "tenon/detail/function_names.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/detail/function_names.h"
