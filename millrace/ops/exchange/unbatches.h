// The way back of what Batch has put together: Unbatch and UnbatchGrad.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// Part of register_batches.
Status add_unbatches(OpRegistry& ops);

}  // namespace millrace
