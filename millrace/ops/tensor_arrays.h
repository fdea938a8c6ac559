// The ops of tensor arrays (TensorArrayV3 …) and stacks (StackV2 …): what loops keep their
// intermediate values in. Both live in the step's own resources and end with it.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_tensor_arrays(OpRegistry& ops);
Status register_stacks(OpRegistry& ops);

}  // namespace millrace
