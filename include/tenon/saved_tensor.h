// Moved: include "tenon/extend/saved_tensor.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/saved_tensor.h"
