// The families of ops in this room.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// Send and Recv: one tensor from one device to another through the step's rendezvous. The key comes
// from the attributes and, inside loops, from the frame and iteration; a sender's death is sent
// too.
Status register_transfer(OpRegistry& ops);

}  // namespace millrace
