// Runs a job as processes of this machine, from free ports to the last process gone; or as
// processes of other machines, each below a process of this one that reaches out for it (reach.h).
//
// A job whose roles may be scaled is planned with all tasks that they may have, and heeds wishes
// (scaling.h), if it has a folder and runs on this machine; anywhere else it has `count` of them.
//
// A job's secrets are read first, from its folder or where their sources are, and nothing is
// started without them; the variables that they were read from are then no longer in the
// environment.
//
// The shell around supervision.h: one poll loop, no threads. It takes SIGINT, SIGTERM and SIGHUP
// for as long as it runs (those that were ignored stay so), and is the reaper of orphans below it.
// Call it from a process with one thread, one job at a time: it forks.
#pragma once

#include <optional>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/job_report.h"
#include "millrace/launch/poll_guest.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/supervision.h"

namespace millrace {

struct LocalRunOptions {
  // Where each task's output goes as well, with all its bytes: <directory>/map_1.log. Lines of
  // standard output and error stay apart. Made if it is missing. Empty: nowhere.
  std::string log_directory = {};
  // The job is kept there for others to look at (job_folder.h): its journal, and its logs unless
  // they go elsewhere; lines of tasks are not shown then. Empty: nowhere.
  std::string folder = {};
  // Of a job that may be begun again as a whole, with the same folder: its secrets stay in the
  // folder until it has succeeded, or nobody begins it again.
  bool may_begin_again = false;
  // It is begun again, for this reason: "it was preempted". Its last journal is in the folder, if
  // it had come so far; attempts go on from there, and a job that had succeeded is left so.
  std::string begins_again = {};
  // Which run this is of a job that is to run several times, and of how many; 0: of one that is
  // not.
  int run = 0;
  int runs = 0;
  // Given to the tasks before the job's time limit, if they run elsewhere and are on a leash.
  std::optional<TimeWarning> warning = {};
  // Where the tasks run, if it is elsewhere, and what keeps strangers from joining them. The
  // processes of this machine are then those that reach out.
  const Reach* reach = nullptr;
  std::string token = {};
  // Served in the same loop, as long as the run goes on. Null: nobody.
  PollGuest* guest = nullptr;
  // By which the job's limits and graces are kept; poll() waits by the machine's.
  const Clock& clock;
  Random& random;  // for the pauses before restarts, each run's its own
};

// Shows the tasks' lines on standard output and error, and what it does itself on standard error.
// Errors: what check() says; a secret that can't be read; ports that are taken; a log directory
// that can't be written. A job that was started is never an error: its report tells how it ended.
Result<JobReport> run_locally(const JobSpec& job, const LocalRunOptions& options);

// What run_locally() would start, with the ports that it would use now.
Result<std::string> describe_local_run(const JobSpec& job);
// The same of a run elsewhere, whose port and token are not known before it starts: PORT, TOKEN.
Result<std::string> describe_run_elsewhere(const JobSpec& job, const Reach& reach);

}  // namespace millrace
