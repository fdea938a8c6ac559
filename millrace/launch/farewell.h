// What the tasks of a job say to each other when one has ended, where nobody supervises all of
// them: parameter servers and queues end when the workers have, and all end when one has failed.
//
//   {"millrace_farewell": 1, "token": "…", "task": "map:1", "end": "succeeded"}
//
// Where tasks are started again, a later life of one asks the others which ends they have heard of
// ("end": "asks"), and is answered with those, a line each: so it does not wait for who has ended
// before it began. And a role may lose tasks ("end": "lost"), which ends the others only when there
// are too many.
//
// One line over a connection of its own, from the attendant of a task (local_attendant.h) to those
// of the others. Pure: lines in, decisions out; no socket, no clock. What a task tells before it is
// killed with its whole machine is nothing: then whoever watches the job ends the rest.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/host_port.h"

namespace millrace {

// At which attendants listen if nothing else is said: beside the port that tasks serve at.
inline constexpr int kFarewellPort = kConventionalPort + 1;

// No farewell is longer.
inline constexpr size_t kLongestFarewell = 1024;

enum class FarewellEnd { succeeded, failed, lost, asks };

struct Farewell {
  std::string token = {};
  std::string task = {};  // "map:1"
  FarewellEnd end = FarewellEnd::succeeded;
};

// One line, with its end.
std::string to_line(const Farewell& farewell);
// Nothing for a line that is none.
std::optional<Farewell> parse_farewell(std::string_view line);

// Words of a task's end that the launcher brought about, in the file of its record:
//
//   {"millrace_stop": 1, "why": "job finished"}
std::string stop_line(std::string_view why);
std::optional<std::string> parse_stop_line(std::string_view line);

// Why tasks end that others wait no longer for.
inline constexpr std::string_view kJobFinished = "job finished";
// Why one ends whose role is to have fewer tasks.
inline constexpr std::string_view kScaledDown = "scaled down";
// And of a signal from elsewhere, as of a machine that goes down: it may come again.
inline constexpr std::string_view kAskedToEnd = "asked to end";

// The exit code of a task that ended because its job has no use for it any more, where another one
// would be a failure that it is started again after.
inline constexpr int kEndedForGood = 250;

// And of one whose program ended well, but whose role is always started again: to Kubernetes a task
// that ends with 0 is done.
inline constexpr int kStartsAgain = 251;

struct FarewellRules {
  std::vector<std::string> until = {};       // the roles whose success is the job's
  std::map<std::string, int> may_lose = {};  // of roles: so many tasks may fail for good
  bool are_restarted = false;                // tasks of the job may be
};

// What one task makes of the ends of the others. Single-threaded.
class Farewells {
 public:
  Farewells(const ClusterSpec& cluster, const TaskName& self, FarewellRules rules,
            std::string token);

  // Who has to hear how this task ended. Those whose success counts go on when others succeed;
  // where tasks are restarted they hear of it too, so that one that comes back can ask them.
  std::vector<TaskName> to_tell(FarewellEnd end) const;
  // Of those, the ones that are there until the others are done.
  std::vector<TaskName> helpers_to_tell() const;
  Farewell own(FarewellEnd end) const;
  // How this task has failed for good: its role may lose it, or not.
  FarewellEnd own_failure() const;
  // What a task that asks is answered: the lines of all ends that were heard of. Nothing if the
  // line is of none of the others, or does not ask.
  std::optional<std::string> answer(std::string_view line) const;

  // Why this task is to end now, if it is: "job finished", "map:1 failed". Lines of strangers, and
  // of tasks that the job has not, change nothing.
  std::optional<std::string> heard(std::string_view line);

  // Who is not there now: "map:3", whose success nobody waits for. A list that is late may have one
  // that comes just now, so that whoever ends by it looks again after a while.
  void set_absent(std::set<std::string, std::less<>> absent) { absent_ = std::move(absent); }
  // True if this task's work is done as far as that is known: it is there for others, and all of
  // those that decide have succeeded or are absent.
  bool seems_finished() const;

 private:
  bool decides(const std::string& role) const;
  bool has_lost_too_many(const std::string& task) const;

  const TaskName self_;
  const FarewellRules rules_;
  const std::string token_;
  std::vector<TaskName> others_;
  std::set<std::string, std::less<>> names_;    // of the others
  std::set<std::string, std::less<>> awaited_;  // whose success has not been heard of
  std::set<std::string, std::less<>> absent_;
  std::map<std::string, FarewellEnd, std::less<>> ended_;  // what was heard of
};

}  // namespace millrace
