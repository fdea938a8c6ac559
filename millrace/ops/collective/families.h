// The families of ops in this room: what several devices do together, each in a step of its own.
//
// A family is a source file with its ops as values; register_collective adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_collective(OpRegistry& ops);

// What merges: CollectiveReduce, CollectiveReduceV2, CollectiveReduceScatterV2.
Status register_collective_reduces(OpRegistry& ops);

// What moves tensors as they are: CollectiveGather, CollectiveBcastSend, CollectiveBcastRecv, their
// second versions, CollectiveAllToAllV2.
Status register_collective_moves(OpRegistry& ops);

}  // namespace millrace
