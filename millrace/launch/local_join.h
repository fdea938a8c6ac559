// The other side of a gathering (gathering.h): a process that is to be one task of a job tells
// whoever supervises it where it will serve, and waits until it knows where all the others do.
// Blocks; called from a process with one thread, which then becomes the task's program.
#pragma once

#include <functional>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/arrival.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_ports.h"

namespace millrace {

struct JoinRequest {
  std::string supervisor = {};  // "host:port"
  std::string token = {};
  TaskName task = {};
  // Where the others will find this task; one that has served before is told the port by the
  // supervisor. Empty: the address of this machine that the supervisor
  // sees, or if that is a loopback address and the supervisor's is not, this machine's name; the
  // port is then that of all its addresses.
  std::string host = {};
  std::string machine = {};  // what its manager calls the machine; empty: not known
  int guests = 0;            // the port where commands are let in beside the task; 0: nowhere
  Clock::Duration patience = std::chrono::minutes(10);
  int leash = -1;  // a descriptor whose end is the word to end; -1: none
  std::function<void(const std::string&)> progress = {};  // "map:1 waits for map:0 and 3 more"
};

struct JoinedTask {
  AllThere all = {};
  std::string address = {};  // of this task
  HeldPort port;             // bound there
  Descriptor connection;     // to the supervisor; the task's record goes there
};

// Errors: UNAVAILABLE if the supervisor can't be reached or goes away, DEADLINE_EXCEEDED with who
// is missing, FAILED_PRECONDITION if the task is not wanted, CANCELLED if it is told to end,
// ABORTED if it was only to say where it can be, and has, INVALID_ARGUMENT for addresses.
Result<JoinedTask> join_job(const JoinRequest& request, const Clock& clock);

}  // namespace millrace
