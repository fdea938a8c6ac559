// Decides what happens to a job while its tasks run: who is ended when, and why. Pure: events in,
// actions out; no process, clock or signal. A launcher feeds it with what it sees and carries out
// what it is told.
//
//            all that decide have succeeded ──► SIGTERM to the rest ──► all have ended ──► finished
//   running ─ a task failed, interrupt, ─────►      │ after the grace time
//            time limit                          SIGKILL to the rest ─► kPatience later ─► finished
//
//   of one task:  waiting ─ started ─► running ─ ended ─► ended, for good
//                    ▲                                └─► resting, if its role's policy is to start
//                    it └──────── its pause is over ───────┘  again (restarts.h); lost, if that may
//                    be
//                    absent ─ its role grows ─► waiting;  whatever it is but ended ─ its role
//                    shrinks ─► SIGTERM, as at the end of the job, and when it is gone: absent
//
// A role that may be scaled has its tasks in order, and a number of them that are wanted: the
// first. The others are absent, which is neither success nor failure. A task that has ended by
// itself stays so.
//
// A task that ends well, or that ran out of input, ends nothing else, until a task whose success
// counts waits for it: a session that needs a task that has ended will never begin. To let such a
// task serve on, the launcher would have to know that its program is over before its process is.
// When several tasks failed, the report blames the one that looks like the cause: a task that a
// signal killed before one with an exit code, any of them before a task that only tells that a peer
// went away. A task that names a running one as its cause is not judged before that has ended too,
// or cause_within has passed: who is hit often ends before who did it.
//
// Single-threaded: whoever launches owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/job_report.h"
#include "millrace/launch/restarts.h"

namespace millrace {

struct SupervisedTask {
  std::string name;
  bool decides = false;  // its success counts towards the job's
  size_t role = 0;       // its place among the roles' rules
  // Not wanted at the start, in a role that begins with fewer tasks than it may have.
  bool is_absent = false;
  // That it had when its job ran before, and was begun again as a whole; numbers go on from there.
  int attempts_before = 0;
};

// Before the time limit, so that programs may save what they have.
struct TimeWarning {
  Clock::Duration before = {};
  int signal = 0;
  friend bool operator==(const TimeWarning&, const TimeWarning&) = default;
};

struct SupervisionLimits {
  Clock::Duration grace = std::chrono::seconds(5);  // from SIGTERM to SIGKILL
  std::optional<Clock::Duration> time_limit = std::nullopt;
  // Once, of all tasks that run then; not without a time limit.
  std::optional<TimeWarning> warning = std::nullopt;
  // How long a failed task that blames a running one waits for that one's end to be judged.
  Clock::Duration cause_within = std::chrono::seconds(2);
};

// How long a launcher waits for processes that SIGKILL does not end (they hang in the kernel).
inline constexpr Clock::Duration kPatience = std::chrono::seconds(10);

// A task that has ended for less may have been there when another one said that it waits for it.
inline constexpr Clock::Duration kStaleWaits = std::chrono::seconds(2);

struct TaskStarted {
  size_t task;
};
struct TaskEnded {
  size_t task;
  ExitFacts facts;
  std::optional<int64_t> peak_memory = std::nullopt;
};
// All ends that were seen at once, in no particular order.
struct TasksEnded {
  std::vector<TaskEnded> ends;
};
// A task says that it can't go on before others answer. Told again and again.
struct TaskWaits {
  size_t task;
  std::vector<std::string> others;  // "map:7"
};
// Somebody wants the role to have so many tasks, no fewer than one.
struct RoleScaled {
  size_t role;
  int count;
  std::string by;         // "process 4711 of anna"
  std::string wish = {};  // which of the wishes that a launcher hears (scaling.h); for its journal
};
// Somebody wants the job to end; the second time, at once.
struct Interrupted {
  std::string by;  // "SIGINT (signal 2), sent by process 4711 (sh)"
};
// The time that wake_at() named has come.
struct TimePassed {};
using SupervisionEvent =
    std::variant<TaskStarted, TasksEnded, TaskWaits, RoleScaled, Interrupted, TimePassed>;

// SIGTERM to all processes of the task.
struct Terminate {
  size_t task;
};
// SIGKILL to all processes of the task.
struct Kill {
  size_t task;
};
// This signal to the task's processes, which goes on.
struct Warn {
  size_t task;
  int signal;
};
// The task again, after what is left of its last attempt has gone; or one that was absent.
struct Restart {
  size_t task;
  int attempt;  // 2 for the first restart
};
// Not again, as was asked for before: it has not been started since.
struct CallOff {
  size_t task;
};
// For people, now.
struct Say {
  std::string text;
};
// Nothing is left to wait for; report() is complete.
struct Finish {};
using SupervisionAction = std::variant<Terminate, Kill, Warn, Restart, CallOff, Say, Finish>;

class Supervision {
 public:
  // `roles`: by SupervisedTask::role; a role without rules has no restarts. `random`, for pauses,
  // outlives this.
  Supervision(const std::vector<SupervisedTask>& tasks, std::vector<RoleRules> roles,
              SupervisionLimits limits, Clock::Time start, Random& random);

  std::vector<SupervisionAction> on(const SupervisionEvent& event, Clock::Time now);
  // When to call on(TimePassed), if nothing happens before.
  std::optional<Clock::Time> wake_at() const;

  // True from the first cause to end the job: nothing more is to be started.
  bool stopping() const { return stop_.has_value(); }
  bool finished() const { return finished_; }
  size_t num_running() const;
  size_t num_resting() const;  // in the pause before a restart
  bool is_resting(size_t task) const { return tasks_.at(task).phase == Phase::resting; }
  size_t num_ended() const;
  bool is_absent(size_t task) const { return tasks_.at(task).phase == Phase::absent; }
  JobReport report() const;

 private:
  enum class Phase : uint8_t { waiting, running, resting, ended, absent };
  struct Task {
    std::string name;
    bool decides;
    size_t role;
    Phase phase = Phase::waiting;
    SentSignal sent = SentSignal::none;
    ExitReason reason = {};
    Clock::Time started = {};
    Clock::Time ended = {};
    std::optional<int64_t> peak_memory = std::nullopt;
    Clock::Time restart_at = {};               // resting
    std::vector<EarlierAttempt> earlier = {};  // the last few of them
    std::string limit = {};                    // which one kept it from being started again
    bool is_lost = false;                      // failed, and its role may lose it
    int starts = 0;
    // Running, and no longer wanted: when it is to be killed, or given up if that has been done.
    std::optional<Clock::Time> leaves_by = {};
    bool comes_back = false;   // leaving, and wanted again
    bool begins_anew = false;  // waiting, after it was away: not a restart
  };
  enum class Wanted : uint8_t { no, yes };
  struct Changed {
    int more = 0;
    int fewer = 0;
  };
  enum class StopCause { finished, failed, waits, interrupted, time_limit };
  using Actions = std::vector<SupervisionAction>;

  void started(const TaskStarted& event, Clock::Time now);
  void ended(const TasksEnded& event, Clock::Time now, Actions& actions);
  // Ends the job for what has failed, as soon as nobody's end could be the cause of it.
  void judge(Clock::Time now, Actions& actions);
  bool blames_running(const Task& task) const;
  void note_end(const TaskEnded& end, Clock::Time now);
  // What follows of it: a pause, a loss that may be, or nothing; true if the job fails of it.
  bool fails_job(const TaskEnded& end, Clock::Time now, Actions& actions);
  void restart_due(Clock::Time now, Actions& actions);
  void waits(const TaskWaits& event, Clock::Time now, Actions& actions);
  void scaled(const RoleScaled& event, Clock::Time now, Actions& actions);
  // True if that changes something.
  bool want(size_t task, Wanted wanted, Clock::Time now, Actions& actions);
  bool bring(size_t task, Actions& actions);
  bool take_away(size_t task, Clock::Time now, Actions& actions);
  void leave(size_t task, Actions& actions);
  static std::string scaled_text(const Task& task);
  static void remember(Task& task, EarlierAttempt attempt);
  void end_leaving(Clock::Time now, Actions& actions);
  std::optional<Clock::Time> next_leave() const;
  void interrupted(const Interrupted& event, Clock::Time now, Actions& actions);
  void time_passed(Clock::Time now, Actions& actions);
  // When the warning is due; nothing if there is none, or it was given.
  std::optional<Clock::Time> warning_at() const;
  void warn_due(Clock::Time now, Actions& actions);
  void stop(StopCause cause, std::string why, Clock::Time now, Actions& actions);
  void kill_all(Clock::Time now, Actions& actions);
  void finish_if_done(Clock::Time now, Actions& actions);
  bool has_succeeded() const;
  size_t num_in(Phase phase) const;
  std::optional<Clock::Time> next_restart() const;
  const Task* culprit() const;
  std::string cause_of_failure() const;
  std::string why_stopped() const;
  TaskSummary report(const Task& task) const;

  const SupervisionLimits limits_;
  const Clock::Time start_;
  std::vector<Task> tasks_;
  Restarts restarts_;
  std::optional<Clock::Time> judge_by_;  // a task has failed the job, and the rest runs still
  std::optional<StopCause> stop_;
  std::string stop_reason_;  // for people; who interrupted, who waits, which limit
  std::optional<Clock::Time> kill_at_;
  std::optional<Clock::Time> give_up_at_;
  bool is_warned_ = false;
  bool finished_ = false;
  Clock::Time finish_time_ = {};
};

}  // namespace millrace
