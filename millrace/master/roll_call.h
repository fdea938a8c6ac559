// Roll call: asks every member of a cluster for its devices and waits until all have answered.
//
// Tasks start in any order, so a member that is down is waited for, as long as the caller likes:
// only the cancellation ends the wait. Every so often (first after a tenth of the interval) a log
// line names each member that is missing, its address, and what a direct attempt to reach it says;
// so does the error when the time is up. A member that answers under another name ends the roll
// call at once.
//
// A member that is known to have ended well (cluster/departures.h) is asked, but not waited for: if
// nobody answers in its place, it is left out. The others tell who has ended as they answer.
//
// What is decided when is in roll.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/cluster/services.h"
#include "millrace/master/master_options.h"
#include "millrace/master/membership.h"

namespace millrace {

// A member that answered.
struct Present {
  Member member;
  std::shared_ptr<WorkerService> worker;
  std::vector<DeviceAttributes> devices;  // under the names they have in the session
  Capabilities can = {};
};

std::vector<TaskName> tasks_of(std::span<const Present> members);

// `purpose` stands in front of log lines: "CreateSession". `call` must stay valid until `done`.
// Errors: the cancellation's reason; what a WorkerDirectory or a member says, with its name; and
// those of check_identity. The answer lacks the members that are left out.
void call_the_roll(MasterContext& context, const Membership& membership, std::string_view purpose,
                   const Call& call, Done<std::vector<Present>> done);

}  // namespace millrace
