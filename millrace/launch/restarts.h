// Decides whether a task that has ended is started again, and when, by the policy of its role
// (restart_policy.h) and by what became of its role's tasks before. Pure: time and randomness are
// arguments; nothing is started here. Part of supervision.h.
//
//   pause:    first, doubled after each attempt that lived for less than the longest pause, never
//             more than that; a random part of it, at most a quarter, is left out
//   budget:   of the role; a restart counts for as long as the window, then no longer
//
// Single-threaded.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/restart_policy.h"

namespace millrace {

struct RoleRules {
  RestartPolicy restart = {};
  int may_lose = 0;  // tasks
};

class Restarts {
 public:
  // `roles`: of each task, its place in `rules`. Rules that are not given forbid restarts and
  // losses. `random` outlives this.
  Restarts(std::vector<RoleRules> rules, std::vector<size_t> roles, Random& random);

  // The task is to be started again after the pause.
  struct Again {
    Clock::Duration pause;
    std::string count;  // for people: "attempt 2, restart 1 of 10 in 5 min 0 s"
  };
  // It is not.
  struct No {
    std::string limit;  // for people, which limit it has reached, or what else forbids it; empty if
                        // nothing does
  };
  // How the task's last attempt ended, which was started then. Counts a restart if it is one.
  std::variant<Again, No> decide(size_t task, const ExitReason& reason, const ExitFacts& facts,
                                 Clock::Time started, Clock::Time now);

  // The restart that was decided last will not be: the job ends during the pause.
  void take_back(size_t task);

  // The task was taken away, and is to be there again: another attempt, which counts as no restart
  // and begins with the first pause.
  void begin_anew(size_t task);
  // It will not be after all.
  void call_off(size_t task) { --tasks_.at(task).attempt; }

  // A task that failed for good: true if its role may lose it.
  bool may_lose(size_t task);

  // The task had so many attempts in an earlier life of its job, which count only as numbers.
  void count_on(size_t task, int attempts);

  // 1 before the first restart.
  int attempt(size_t task) const { return tasks_.at(task).attempt; }
  int num_restarts() const { return num_restarts_; }

 private:
  struct Role {
    RoleRules rules;
    std::deque<Clock::Time> restarts = {};  // within the window, the oldest first
    int lost = 0;
  };
  struct Task {
    size_t role;
    int attempt = 1;
    int before = 0;      // attempts until it was taken away last
    int quick_ends = 0;  // one after the other
  };

  std::string limit_reached(Role& role, const Task& task, Clock::Time now) const;
  Clock::Duration next_pause(const RestartPolicy& policy, Task& task, Clock::Duration lived);
  std::string count_text(const Role& role, const Task& task) const;

  std::vector<Role> roles_;
  std::vector<Task> tasks_;
  Random& random_;
  int num_restarts_ = 0;
};

}  // namespace millrace
