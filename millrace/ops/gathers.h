// Picking and changing rows by index: Gather, Scatter, and their forms on resource variables.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_gathers(OpRegistry& ops);

}  // namespace millrace
