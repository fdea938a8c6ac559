// The socket at which errands reach the application master: of Linux' abstract kind, which is no
// file and leaves nothing behind, and open to the processes of one user only. Single-threaded.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

// Errors of both: UNAVAILABLE with what the system says.
Result<Descriptor> listen_as_master(const std::string& name);
Result<Descriptor> connect_to_master(const std::string& name);
// The next errand, without waiting; not open: there is none, or it is of another user.
Descriptor accept_errand(const Descriptor& listener);

}  // namespace millrace
