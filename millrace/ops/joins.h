// Putting tensors together and taking them apart along an axis: Concat, Pack, Split, Unpack.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_joins(OpRegistry& ops);

}  // namespace millrace
