// What kernels of iterators read from their node and their step. Private to this room.
#pragma once

#include "millrace/op/kernel.h"
#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// What a walk that this step begins may use.
IterationHost::Machine machine_of(KernelContext& context);

// From "output_types" and "output_shapes". Errors: INVALID_ARGUMENT if there are shapes, of another
// number.
Result<Dataset::Components> components_of(const AttrView& attrs);

// The kernel of OneShotIterator.
KernelFactory one_shot_kernel();

}  // namespace millrace::data
