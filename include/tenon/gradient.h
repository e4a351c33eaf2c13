// Moved: include "tenon/extend/gradient.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/gradient.h"
