// Moved: include "tenon/extend/flattened.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/flattened.h"
