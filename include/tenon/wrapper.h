// Moved: include "tenon/extend/wrapper.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/wrapper.h"
