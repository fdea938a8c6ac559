// Runs a command beside a task on YARN, from where somebody has typed it: asks the task's door
// (local_guest_door.h), hands on what is read here, and repeats what the command writes. No
// terminal goes along. Blocks; the command ends when this process does.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"

namespace millrace {

struct GuestVisit {
  std::string at = {};     // "n1:40123"
  std::string token = {};  // of the job
  std::string task = {};   // "map:1"
  std::vector<std::string> command = {};
  const Clock& clock;
  Random& random;
};

// Returns its exit code; 126 and a line on standard error if it can't be run. Errors:
// UNAVAILABLE if nobody answers, or no longer; FAILED_PRECONDITION if the task has ended, or its
// door is another's now.
Result<int> visit(const GuestVisit& visit);

}  // namespace millrace
