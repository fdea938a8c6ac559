// Taking a box out of a tensor: Slice and StridedSlice.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_slices(OpRegistry& ops);

}  // namespace millrace
