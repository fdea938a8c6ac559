// Ops that work out shapes: what two shapes broadcast to, and along which axes a gradient is summed
// to undo that; where the pieces of a concatenation begin.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_broadcasts(OpRegistry& ops);

}  // namespace millrace
