// Stays with a task's program until it ends, where no launcher is its parent: the first process of
// a container. Starts it as a child, hands signals on to it, reaps what it leaves behind, tells the
// other tasks how it ended (farewell.h), and ends it when they say that it is no longer needed.
//
// Listens at one port of the machine, the same for all tasks of the job: each has a host of its
// own. Hostile peers cost little: few at once, one short line each, ten seconds. One thread.
//
// Of a job whose roles grow and shrink it reads a roster, which may be some seconds late: it waits
// for nobody who is absent, and ends its own program when that is to go. A failure after which
// another life of the task follows is no farewell.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/farewell.h"

namespace millrace {

struct AttendedTask {
  ClusterSpec cluster = {};
  TaskName task = {};
  FarewellRules rules = {};
  int farewell_port = kFarewellPort;  // of all tasks
  std::string token = {};
  std::vector<std::string> command = {};
  // From SIGTERM to SIGKILL.
  Clock::Duration grace = std::chrono::seconds(5);
  std::string record_file = {};  // where it is noted that the task was ended; empty: nowhere
  // Of how many failures of this task another start follows, by whoever started it; how many there
  // have been; after which exit codes: these, or all but these.
  int restarts = 0;
  int failures = 0;
  bool after_listed = false;
  bool after_success = false;  // too
  std::set<int> codes = {};
  // What has gone wrong before the program could begin: it does not, and the task has failed.
  Status trouble = {};
  // When the program has ended, however it did. A task for which that fails has failed.
  std::function<Status()> afterwards = {};
  std::string roster = {};  // the file that tells who is absent (cluster/roster.h); empty: nobody
};

// The exit code: the program's; 1 if that ended well and the task has failed all the same; 128 and
// its number for a signal; 126 or 127 if it can't be run; 0 if it was ended because the job has
// finished, or has no place for it any more; kEndedForGood for another end that was asked for, of a
// task that would be started again after a failure; kStartsAgain for one that ended well and is to
// be started again.
int attend(const AttendedTask& task, const Clock& clock);

// Becomes the command. Comes back only if it can't be run, having said why: with 126, or 127 if
// there is no such command.
int become_command(const std::vector<std::string>& command);

}  // namespace millrace
