// Folding axes of a tensor into one value each: Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_reductions(OpRegistry& ops);

}  // namespace millrace
