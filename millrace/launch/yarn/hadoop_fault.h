// What an exception of Hadoop means to us. Pure.
#pragma once

#include <string_view>

#include "millrace/base/status.h"

namespace millrace {

// An exception of Hadoop: UNAVAILABLE for a server that is not the active one or just starts,
// UNAUTHENTICATED, PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND for an application's attempt that
// is over, ABORTED for one that has to register again, ALREADY_EXISTS for one that is registered,
// UNIMPLEMENTED, or else UNKNOWN. The message is the first line of what the server says.
Status hadoop_fault(std::string_view exception_class, std::string_view said);

}  // namespace millrace
