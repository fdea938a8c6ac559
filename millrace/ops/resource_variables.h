// Resource variables: found through a handle that VarHandleOp makes, created by the first
// assignment.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_resource_variables(OpRegistry& ops);

}  // namespace millrace
