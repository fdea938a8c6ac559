// BatchFunction: a function that runs once for the rows of many steps.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// Part of register_batches.
Status add_batch_functions(OpRegistry& ops);

}  // namespace millrace
