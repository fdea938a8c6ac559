// Asking for a tensor's shape and giving it another: Shape, Size, Rank, Reshape, ExpandDims,
// Squeeze.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_shapes(OpRegistry& ops);

}  // namespace millrace
