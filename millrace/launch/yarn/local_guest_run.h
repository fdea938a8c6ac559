// One guest of a door (local_guest_door.h), in a process of its own: its command, and the bytes
// both ways until that has ended. A poll loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/job_place.h"
#include "millrace/launch/yarn/local_guest_link.h"

namespace millrace {

struct GuestRequest {
  std::string token = {};
  std::string task = {};
  std::string nonce = {};  // the door's, for this guest
  // The command, as it is to run beside the task.
  std::function<Result<GuestCommand>(const std::vector<std::string>& command)> beside = {};
  int owner = -1;  // a pidfd of the task's
  const Clock& clock;
};

// Returns when the guest is gone, or its command, and nothing that it started is left. A stranger
// is hung up on.
void serve_guest(Descriptor socket, const GuestRequest& request);

}  // namespace millrace
