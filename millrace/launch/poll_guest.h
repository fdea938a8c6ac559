// Somebody beside the tasks whom a launcher's poll loop serves (local_run.h): who gives it its
// files, say. Single-threaded: the loop's.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "millrace/base/clock.h"

namespace millrace {

class PollGuest {
 public:
  virtual ~PollGuest() = default;
  // What the loop is to wait for, too.
  virtual void add_descriptors(std::vector<pollfd>& events) const = 0;
  // Deals with what can be done without waiting. What people should know, a line each.
  virtual std::vector<std::string> turn(Clock::Time now) = 0;
};

}  // namespace millrace
