// The families of ops in this room: what outlives a step or a loop: variables, queues, stacks,
// tensor arrays.
//
// A family is a source file with its ops as values; register_state adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_state(OpRegistry& ops);

// Variables of TensorFlow 1: their tensors flow along reference edges. Assign and its kin always
// take the variable's lock, whatever use_locking says: without it, two updates may only lose each
// other's result, but in C++ they would race on memory.
Status register_ref_variables(OpRegistry& ops);

// Resource variables: found through a handle that VarHandleOp makes, created by the first
// assignment.
Status register_resource_variables(OpRegistry& ops);

// Picking and changing rows of variables by index: ScatterAdd and its kin, ResourceGather,
// ResourceScatterAdd and its kin.
Status register_scatters(OpRegistry& ops);

// Ops that make queues: FIFOQueueV2 … The rules are in queue_core.h.
Status register_queue_handles(OpRegistry& ops);

// Ops that use queues: QueueEnqueueV2 …
Status register_queue_accesses(OpRegistry& ops);

// What all resources have in common: DestroyResourceOp.
Status register_resources(OpRegistry& ops);

// Tensor arrays (TensorArrayV3 …): what loops keep their intermediate values in. They live in the
// step's own resources and end with it.
Status register_tensor_arrays(OpRegistry& ops);
// Their two versions of before TensorFlow 1.0.
Status register_old_tensor_arrays(OpRegistry& ops);

// Stacks (StackV2 …): as tensor arrays, they live in the step's own resources.
Status register_stacks(OpRegistry& ops);

// Tensors that a session keeps on a device from step to step: GetSessionHandle …
Status register_session_tensors(OpRegistry& ops);

// Writing to slices of variables: ScatterNdUpdate and its kin, StridedSliceAssign, of both kinds.
Status register_slice_writes(OpRegistry& ops);

// Elements of queues that are lent, and steps that are made under a lease: QueueLend … The rules
// are in lease_book.h; docs/design/once.md.
Status register_leases(OpRegistry& ops);

// What time it is: Timestamp.
Status register_timestamps(OpRegistry& ops);

// Variables of one step: TemporaryVariable, DestroyTemporaryVariable; and ResourceCountUpTo.
Status register_temporaries(OpRegistry& ops);

}  // namespace millrace
