// Moved: include "tenon/extend/recorded_node.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/extend/recorded_node.h"
