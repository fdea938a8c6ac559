// Control flow of TensorFlow 1: Switch, Merge, Enter, Exit, NextIteration, LoopCond, their
// reference forms, NoOp and ControlTrigger. The kernels only pass values on; which nodes run in
// which frame and iteration is decided by the executor from the ops' roles.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_control_flow(OpRegistry& ops);

}  // namespace millrace
