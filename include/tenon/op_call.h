// Moved: include "tenon/extend/op_call.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/op_call.h"
