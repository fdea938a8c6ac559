// The connections over which attendants of tasks hear and tell each other's ends (farewell.h): one
// line each, to one port of each machine. Part of local_attendant.h; what is made of the lines is
// decided there. Linux; one thread.
#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/farewell.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_signals.h"

namespace millrace {

// For people who read what the task writes.
void note_of_join(std::string_view text);

// Those who call to say farewell, or to ask. Few at once, and not for long.
class Callers {
 public:
  // Makes of a line what is answered to it; "": nothing.
  using Answer = std::function<std::string(std::string_view line)>;

  // Without the port nothing is heard; the task runs all the same.
  explicit Callers(int port);

  void add_descriptors(std::vector<pollfd>& events) const;
  // When the first of them has had its time. They leave room for others then, so that strangers who
  // say nothing keep nobody out.
  Clock::Time first_end() const;
  // Hands on each line that was said, and writes back what that answers, without waiting.
  void turn(Clock::Time now, const Answer& answer);

 private:
  struct Caller {
    Descriptor socket;
    Clock::Time since;
    size_t bytes = 0;
    LineSplitter lines = {};
  };

  void accept_all(Clock::Time now);
  static bool read(Caller& caller, const Answer& answer);

  Descriptor listener_;
  std::map<int, Caller> callers_;
};

// True if the name of the address leads to this machine, as others find it.
bool leads_here(const std::string& address);

// Tells all that are at these hosts, each until it has heard or the time is over. Ends early for a
// signal. Returns who has not heard.
std::vector<HostPort> tell(std::vector<HostPort> whom, const std::string& line,
                           Clock::Duration time, SignalWatch& signals, const Clock& clock);

// Asks some of them, all at once, for three seconds, and hands on the lines that they answer.
void ask_them(const std::vector<HostPort>& whom, const std::string& line, const Clock& clock,
              const std::function<void(std::string_view line)>& sink);

}  // namespace millrace
