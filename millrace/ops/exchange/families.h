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

// Elements whose components come one by one: Barrier, BarrierInsertMany … The rules are in
// barrier.h.
Status register_barriers(OpRegistry& ops);

// Tuples that wait between steps: Stage, MapStage, OrderedMapStage … The rules are in
// staging_area.h.
Status register_staging(OpRegistry& ops);

// What only one step at a time does: MutexV2, MutexLock, ConsumeMutexLock.
Status register_mutexes(OpRegistry& ops);

// Rows of concurrent steps put together, and taken apart again: Batch, Unbatch, UnbatchGrad,
// BatchFunction. The rules are in batch_rules.h and batcher.h.
Status register_batches(OpRegistry& ops);

}  // namespace millrace
