// A process that stays when this one has ended: in a session of its own, without its terminal and
// what it has open, but with its directory and environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// The first word is the program's path. From a process with one thread: it forks. What the process
// writes goes to `output`; -1: nowhere. It remains a child of this one, as long as that lives.
// Errors: RESOURCE_EXHAUSTED.
Result<pid_t> start_detached(std::vector<std::string> words, int output = -1);

}  // namespace millrace
