// Functions of two tensors, element by element with broadcasting: arithmetic, comparisons, logic;
// and AddN, the sum of many tensors of one shape.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_arithmetic(OpRegistry& ops);
Status register_comparisons(OpRegistry& ops);

}  // namespace millrace
