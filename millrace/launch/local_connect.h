// How a process of a task gets a connection to the launcher of its job: it may have to wait until
// that is there, and the word to end may come meanwhile. Blocks, in a time limit.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

// A socket that blocks. `leash`: a descriptor whose end is the word to end; -1: none. Errors:
// UNAVAILABLE with what the last try failed of; CANCELLED as of heed_leash().
Result<Descriptor> connect_to(const HostPort& server, Clock::Time deadline, int leash,
                              const Clock& clock);

// Of a leash that poll() found readable. Errors: CANCELLED at its end, and for one that tells of
// signals (local_signals.h), which no byte can be read of.
Status heed_leash(int leash);

}  // namespace millrace
