// How a launcher gets at the place where a task is to run, when that is not its own machine: the
// words before the command. A task is then a child of the launcher all the same, which sees what it
// writes and how it ends; where it serves, it tells itself (gathering.h).
//
// A value; pure. `srun` in an allocation of Slurm (slurm/), an errand for a container (yarn/),
// `ssh` to a machine.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/launch/exit_reason.h"
#include "millrace/launch/job.h"
#include "millrace/launch/plan.h"

namespace millrace {

struct Reach {
  // "slurm"; how people call the place.
  std::string name = {};
  // It is the launcher's own machine, whose tasks it may limit as if they were its processes.
  bool is_here = false;
  // Where the launcher listens for tasks, and the name by which they find it.
  std::string listen_host = {};
  std::string known_as = {};
  // The whole command of a task that `command`, which joins, is to be run for, as the number-th of
  // all tasks.
  std::function<std::vector<std::string>(const RoleSpec& role, size_t number,
                                         const std::vector<std::string>& command)>
      command_at = {};
  // Whether a line of a task's standard error is none of the task's, but of what reached out for
  // it; adds to the facts of the task's end what that tells of it. Not set: all lines are tasks'.
  std::function<bool(std::string_view line, ExitFacts& facts)> hear = {};
  // Its exit code when it failed itself; what was heard counts for no other. Not set: for each.
  std::optional<int> own_failure = std::nullopt;
  // In which variable a task there finds what its manager calls its machine, by which it is then
  // known; empty: in none.
  std::string machine_variable = {};
  // A task that is started again is on the machine that it was on, so that it can serve where the
  // others look for it.
  bool comes_back = false;
  // Room for all tasks that the job may have is held from the start, so that those that are absent
  // can come then, and hold their places.
  bool holds_places = false;
  // Or room is had when it is needed: those that are absent come once, say where they can be, and
  // leave; when they are wanted they come back.
  bool announces_places = false;
  // The whole command that brings a task that comes back there, made of the one of its first
  // attempt and of what its machine is called. Not set: that one does.
  std::function<std::vector<std::string>(std::vector<std::string> first,
                                         const std::string& machine)>
      back_at = {};
  // The task's end is told to it by the end of its input, since no signal goes that far; the input
  // begins with the token, which is not to be seen in any list of processes.
  bool has_leash = false;
  // What `millrace join` is told besides, before "--".
  std::vector<std::string> join_words = {};
  // What reaches out and is killed has a process beside it that ends what it started elsewhere: so
  // long that one is left alone. Zero: there is none.
  std::chrono::milliseconds cleans_up_within{0};
};

// This machine, for tasks that are to run as they would elsewhere, each in a folder of its own: a
// task is `program`, which is `millrace`, and joins as it would there.
Reach own_reach(const JobSpec& job, const std::string& program);

// Who gets what when addresses are late: the tasks of plan_launch() without addresses, environment
// but for the token, or ports; their command reaches out and joins at `supervisor` ("host:port").
LaunchPlan plan_elsewhere(const JobSpec& job, const Reach& reach, const std::string& supervisor,
                          const std::string& token);

// Carries the token to `millrace join`.
inline constexpr const char* kTokenVariable = "MILLRACE_JOB_TOKEN";
// And how many lives of the task have failed before, where a manager starts them.
inline constexpr const char* kFailuresVariable = "MILLRACE_FAILURES";

}  // namespace millrace
