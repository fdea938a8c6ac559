// The process that YARN starts first of a job: its application master. It registers, runs the job's
// launcher as a child, gets containers for that one's errands (local_errand.h), and says at the end
// how the job went. The shell around application_master.h: one poll loop, no threads.
//
// SIGTERM goes on to the launcher, which ends the job in its own way. Should this process be
// killed, the kernel kills the launcher, and YARN the containers. Call it from a process with one
// thread: it forks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

struct LauncherEnd {
  int code = 0;               // exit code
  std::string sentence = {};  // how the job went, in one line
};

struct YarnMasterOptions {
  std::string credentials_file = {};         // where YARN has left the tokens
  std::vector<std::string> schedulers = {};  // "rm:8030"
  std::string host = {};                     // of this machine
  int port = -1;  // where the job's folder is served (folder_server.h); -1: nowhere
  // What every task's container begins with.
  std::vector<LocalResource> resources = {};
  // The launcher, in a process of its own; `master`: by which errands reach this one.
  std::function<LauncherEnd(const std::string& master)> launch = {};
  const Clock& clock;
  Random& random;
};

// Returns the launcher's exit code. Errors: FAILED_PRECONDITION outside of a container of YARN;
// UNAVAILABLE if the ResourceManager can't be reached, RESOURCE_EXHAUSTED if there is no process.
Result<int> run_application_master(const YarnMasterOptions& options);

}  // namespace millrace
