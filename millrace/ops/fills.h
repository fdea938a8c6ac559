// Tensors that are made up: Fill, ZerosLike, OnesLike, Range, LinSpace, OneHot.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_fills(OpRegistry& ops);

}  // namespace millrace
