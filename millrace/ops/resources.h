// What all resources have in common: DestroyResourceOp.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_resources(OpRegistry& ops);

}  // namespace millrace
