// Moved: include "tenon/ops/embedding_bag.h". The old name is gone in version 0.3.
#pragma once

#include "tenon/ops/embedding_bag.h"
