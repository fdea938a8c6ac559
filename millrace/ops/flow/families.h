// The families of ops in this room: which nodes run, and looking at values in passing.
//
// A family is a source file with its ops as values; register_flow adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_flow(OpRegistry& ops);

// Control flow of TensorFlow 1: Switch, Merge, Enter, Exit, NextIteration, LoopCond, their
// reference forms, NoOp and ControlTrigger. The kernels only pass values on; which nodes run in
// which frame and iteration is decided by the executor from the ops' roles.
Status register_control_flow(OpRegistry& ops);

// Ops that call functions: If, While, Case, PartitionedCall and their kin. They have signatures, so
// that graphs with them can be checked, and no kernels: planning puts the functions' bodies in
// their place (millrace/plan/lower.h).
Status register_functional(OpRegistry& ops);

// Looking at values in passing: Assert, Print, CheckNumerics, CheckNumericsV2.
Status register_checks(OpRegistry& ops);

// What a node is told of where it runs: DeviceIndex.
Status register_devices(OpRegistry& ops);

// RemoteCalls that read where they go when they run: _RemoteDevice, _RemoteCall.
Status register_remote_calls(OpRegistry& ops);

}  // namespace millrace
