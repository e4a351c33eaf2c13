// Moved: include "tenon/extend/autocast.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/autocast.h"
