// The same elements in another arrangement: Transpose, Tile, Pad, BroadcastTo, ReverseV2.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_layout(OpRegistry& ops);

}  // namespace millrace
