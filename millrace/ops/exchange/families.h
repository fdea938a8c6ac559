// The families of ops in this room: where steps hand values to each other.
//
// A family is a source file with its ops as values; register_exchange adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_exchange(OpRegistry& ops);

// Accumulators of gradients, dense and sparse: ConditionalAccumulator … The rules are in
// accumulator.h.
Status register_accumulators(OpRegistry& ops);

}  // namespace millrace
