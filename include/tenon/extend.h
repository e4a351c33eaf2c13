// Tensor types, operators and devices of your own: all of tenon/extend.
// Written by tools/umbrella.py.
#pragma once

#include "tenon/extend/autocast.h"
#include "tenon/extend/body.h"
#include "tenon/extend/custom_op.h"
#include "tenon/extend/device_backend.h"
#include "tenon/extend/dispatcher.h"
#include "tenon/extend/flattened.h"
#include "tenon/extend/gradient.h"
#include "tenon/extend/op_arguments.h"
#include "tenon/extend/op_call.h"
#include "tenon/extend/op_info.h"
#include "tenon/extend/recorded_node.h"
#include "tenon/extend/ref.h"
#include "tenon/extend/saved_tensor.h"
#include "tenon/extend/wrapper.h"
