// Moved: include "tenon/extend/dispatcher.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/dispatcher.h"
