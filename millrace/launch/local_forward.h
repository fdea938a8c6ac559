// Brings connections from a port of this machine to one of another, for people: what comes in on
// either side goes out on the other, until somebody ends it. One poll loop, no threads; it takes
// SIGINT, SIGTERM and SIGHUP for as long as it runs. Only this machine's own programs are let in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/cluster/host_port.h"

namespace millrace {

struct ForwardedPort {
  int local = 0;     // 0: a free one
  HostPort to = {};  // tried once before the first connection comes
  // For people: "127.0.0.1:6006 -> n1:6006", and why a connection could not be brought there.
  std::function<void(const std::string&)> say = {};
};

// OK when a signal has ended it. Errors: ALREADY_EXISTS for a local port that is taken; UNAVAILABLE
// if the machine can't be reached from here at all: one where nobody listens at the port yet can.
Status forward_port(const ForwardedPort& port, const Clock& clock);

// Runs a command that forwards by itself, and shows what it writes. OK when a signal has ended it.
// Errors: NOT_FOUND if it is not there; UNAVAILABLE with its last words if it ended by itself.
Status forward_by(const std::vector<std::string>& command,
                  const std::function<void(const std::string&)>& say);

}  // namespace millrace
