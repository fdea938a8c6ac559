// The ops of tensor lists (TensorListReserve …): tensor arrays and accumulators of control flow v2.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_tensor_lists(OpRegistry& ops);

}  // namespace millrace
