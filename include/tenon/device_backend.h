// Moved: include "tenon/extend/device_backend.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/device_backend.h"
