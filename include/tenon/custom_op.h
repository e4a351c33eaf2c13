// Moved: include "tenon/extend/custom_op.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/custom_op.h"
