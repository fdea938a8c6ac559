// In a container of a job whose machines share no folder: has the script that is to run from the
// job's launcher, runs it, and brings what it writes there, until it has ended and all of it has
// arrived.
//
// The program writes files, below YARN's own logs of the container; nothing of ours stands between
// it and them, and nothing is lost with a connection. SIGTERM is for the program, which YARN sends
// it to, too. Blocks; called from a process with one thread: it forks.
#pragma once

#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"

namespace millrace {

struct InsideOptions {
  std::string at = {};     // where the launcher's folder is served: "n1:40123"
  std::string token = {};  // of the job
  std::string files = {};  // how those of the task begin there: "container_2"
  std::string logs = {};   // a folder of this machine for what the program writes
  const Clock& clock;
};

// Returns the program's exit code, 128 and its number for a signal. Errors: UNAVAILABLE if the
// script can't be had, or the program not be started.
Result<int> run_inside(const InsideOptions& options);

}  // namespace millrace
