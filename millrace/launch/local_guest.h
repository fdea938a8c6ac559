// A command beside a task of this machine: with the environment that the task's program was started
// with, and in its directory, as /proc tells them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job_place.h"

namespace millrace {

// `launcher` runs the job; `task`: "map:1", and `attempt` which of its lives. What the launcher
// handed over to the program (sockets, the place for its record) is not in the environment. Errors:
// FAILED_PRECONDITION if no process below the launcher is that attempt; PERMISSION_DENIED for
// somebody else's.
Result<GuestCommand> guest_beside(pid_t launcher, const std::string& task, int attempt,
                                  const std::vector<std::string>& command);

// The same of a process that is the attempt, or has it below itself.
Result<GuestCommand> guest_at(pid_t process, const std::string& task, int attempt,
                              const std::vector<std::string>& command);

}  // namespace millrace
