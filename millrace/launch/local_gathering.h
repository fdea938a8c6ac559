// The socket at which tasks that run elsewhere tell where they are (gathering.h): the shell around
// it, for the poll loop of whoever supervises. Owns the connections; no thread, never waits.
// Hostile peers cost little: who is no task of the job after ten seconds, whether silent or too
// slow to read that it is refused, is hung up on, and there are never many of those: while there
// are, others wait in the system's queue. Single-threaded.
#pragma once

#include <poll.h>

#include <map>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/gathering.h"
#include "millrace/launch/line_splitter.h"

namespace millrace {

class LocalGathering {
 public:
  // Listens at `host`, at a free port. The job passes check(). Errors: as of HeldPort::bind().
  static Result<LocalGathering> listen(const JobSpec& job, const std::string& host,
                                       std::string token,
                                       Gathering::Absent absent = Gathering::Absent::hold);

  int port() const { return port_; }
  void add_descriptors(std::vector<pollfd>& events) const;

  // What tasks have told since, for whoever supervises: only Recorded, Came
  // and Note.
  std::vector<Gathering::Action> turn(Clock::Time now);

  // As of Gathering::begins(); what is to be known of it comes with the next turn().
  void begins(size_t task, int attempt, Gathering::ForNow for_now = Gathering::ForNow::runs);
  // As of Gathering::wanted().
  void wanted(size_t task);

  bool complete() const { return gathering_.complete(); }
  StillMissing missing(size_t most) const { return gathering_.missing(most); }

 private:
  struct Peer {
    Descriptor socket;
    Clock::Time since = {};
    bool is_task = false;     // it has come, and was not refused
    bool hanging_up = false;  // when all of `unwritten` is written
    std::string unwritten = {};
    LineSplitter lines = {};
  };
  using Actions = std::vector<Gathering::Action>;

  LocalGathering(Gathering gathering, Descriptor listener, int port)
      : gathering_(std::move(gathering)), listener_(std::move(listener)), port_(port) {}

  bool is_crowded() const;
  void accept_all(Clock::Time now);
  // False when the connection is over.
  bool read(int number, Peer& peer, Actions& out);
  static bool write(Peer& peer);
  void carry_out(Actions actions, Actions& out);

  Gathering gathering_;
  Descriptor listener_;
  int port_;
  std::map<int, Peer> peers_;  // by descriptor
  Actions begun_;              // for the next turn
  Clock::Time next_reminder_ = {};
};

}  // namespace millrace
