// The families of ops in this room.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// Random numbers. Seeds as in TensorFlow: seed and seed2 both 0 means different ones in each
// process; else the numbers depend only on the seeds and on how often the node ran. They are not
// TensorFlow's.
Status register_random(OpRegistry& ops);

}  // namespace millrace
