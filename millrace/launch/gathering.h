// Learns where the tasks of a job are, and tells all of them when the last one has come. Pure:
// lines in, lines out; no socket, clock or thread. The shell is local_gathering.h, the other side
// `millrace join`.
//
//   nobody ── a line: token, task, address ──► waiting ── all have come ──► running
//      │                                          │ told who is missing        │ its record
//      └── anything else: refused, hung up        └── gone: missing again      └── begins again:
//      asked to serve where it did, and told the cluster when it says that it does
//
// Of roles that may be scaled all tasks come that there may be. Those that are absent hold their
// places, and are told the cluster when they are wanted; or they only say where they can be, and
// leave, and come again to that address.
//
// A task that comes while another connection has its name is refused: of two processes with one
// index one is a leftover, and the first to come is the one that others may know already. Lines of
// tasks that run are their records, and handed on. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/launch/arrival.h"
#include "millrace/launch/job.h"

namespace millrace {

class Gathering {
 public:
  using Connection = int;

  // Write this line to the connection.
  struct Tell {
    Connection to;
    std::string line;
  };
  // And close it, when all has been written.
  struct HangUp {
    Connection who;
  };
  // The task, numbered as in the plan, has told this about itself.
  struct Recorded {
    size_t task;
    std::string line;
  };
  // The task has come, and serves there; empty: it has gone away again, before all were there.
  struct Came {
    size_t task;
    std::string address;
    std::string machine = {};  // of Arrival, as the next
    int guests = 0;
  };
  // For people.
  struct Note {
    std::string text;
  };
  using Action = std::variant<Tell, HangUp, Recorded, Came, Note>;

  enum class Absent : uint8_t { hold, announce };

  // The job passes check().
  Gathering(const JobSpec& job, std::string token, Absent absent = Absent::hold);

  std::vector<Action> said(Connection from, std::string_view line);
  std::vector<Action> left(Connection who);
  // The task is being started, for the attempt-th time; `for_now`: only to hold its place. After
  // the start of all, this is how one of them may come again: at the address that the others know.
  enum class ForNow : uint8_t { runs, holds };
  std::vector<Action> begins(size_t task, int attempt, ForNow for_now = ForNow::runs);
  // One that holds its place is to run.
  std::vector<Action> wanted(size_t task);
  // Tells those who wait for whom.
  std::vector<Action> remind() const;

  bool complete() const { return num_there_ == places_.size(); }
  // The names of those who have not come, at most `most`, and how many there are besides.
  StillMissing missing(size_t most) const;

 private:
  struct Place {
    TaskName task;
    size_t role;
    Connection connection = -1;
    std::string address = {};
    int attempt = 1;
    bool may_come_again = false;
    bool is_absent = false;
    bool is_announced = false;  // it has said where it can be, and left
  };

  std::vector<Action> arrived(Connection from, const Arrival& arrival);
  std::vector<Action> came_again(Connection from, const Arrival& arrival, size_t task);
  std::vector<Action> start_all();
  bool is_taken(const std::string& address) const;
  // The cluster, or that it is to hold its place, to one that is there when all have been.
  Action told(const Place& place) const;
  // All addresses, and the environment of the place's role and its attempt.
  AllThere all_there(const Place& place) const;

  const JobSpec job_;
  const std::string token_;
  const Absent absent_;
  std::vector<Place> places_;  // roles in the order of the job, then by index
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<Connection, size_t> by_connection_;
  size_t num_there_ = 0;
  bool started_ = false;
};

}  // namespace millrace
