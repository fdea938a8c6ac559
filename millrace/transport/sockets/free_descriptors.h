// Whether this process may open as many descriptors as a server needs. gRPC ends the process if it
// gets none, so who is about to use it asks before.
#pragma once

#include "millrace/base/status.h"

namespace millrace {

// What a server opens before the first connection, and room for a few of those.
inline constexpr int kDescriptorsOfServer = 32;

// Errors: RESOURCE_EXHAUSTED, with how many there are, if fewer than `count` are free.
Status need_descriptors(int count);

}  // namespace millrace
