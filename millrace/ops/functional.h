// Ops that call functions: If, While, Case, PartitionedCall and their kin. They have signatures, so
// that graphs with them can be checked, and no kernels: planning puts the functions' bodies in
// their place (millrace/plan/lower.h).
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_functional(OpRegistry& ops);

}  // namespace millrace
