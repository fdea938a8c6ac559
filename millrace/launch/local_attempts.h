// One task of a run on this machine, through all its attempts: the process of the last one, what
// that writes and tells, and the port that all of them serve on. Part of local_run, whose poll loop
// calls it. Single-threaded.
//
//   start() ──► process runs ──► take_end() ──► ask_restart(): start() when is_gone()
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/local_console.h"
#include "millrace/launch/local_output.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/local_process.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/task_records.h"

namespace millrace {

class TaskAttempts {
 public:
  // `port`: which its attempts serve on, if that is chosen here; `allowed`: whether there may be
  // more than one. `plan` and `console` outlive this.
  enum class Allowed : uint8_t { one, several };
  TaskAttempts(size_t index, const TaskPlan& plan, std::optional<HeldPort> port, Allowed allowed,
               Console& console);

  // Of one that is reached out for, before it starts.
  void hear(const Reach& reach);

  // Keeps what the attempts write: <directory>/map_1.log, map_1.2.log, ... Errors: UNAVAILABLE with
  // what the system says, for the first; others are told on the console.
  Status keep_logs(const std::string& directory);

  // There were so many attempts in earlier lives of the job, before keep_logs().
  void count_on(int attempts) { attempt_ = attempts; }

  // The next attempt. Errors: as of TaskProcess::start(); of a port that can't be shared.
  Status start(const TaskProcess::Options& options);

  // Which attempt the last start() was, from 1.
  int attempt() const { return attempt_; }

  // What the last start() was will be started once more.
  void forget_attempt() { --attempt_; }

  // Asked to start again, as soon as is_gone().
  void ask_restart(Clock::Time now) { restart_asked_ = now; }
  void give_up_restart() { restart_asked_.reset(); }
  std::optional<Clock::Time> restart_asked() const { return restart_asked_; }
  // True when nothing is left of the last attempt: two processes must not have one identity.
  bool is_gone() const {
    return !process_ || (process_->reports() < 0 && process_->keeper_has_ended());
  }

  void terminate() { process_->terminate(); }
  // As of TaskProcess::pass_on().
  void pass_on(int signal) { process_->pass_on(signal); }
  void kill();
  void reap();

  void add_descriptors(std::vector<pollfd>& events) const;
  // Reads what there is of lines and records.
  void read();
  // A line of its record that came another way.
  void take_record(const std::string& line) { records_.feed(line + "\n"); }
  // Whom it said that it waits for, since the last call.
  std::optional<std::vector<std::string>> take_waits();
  // How the process ended, once; all that it wrote before has been read then.
  std::optional<ProcessEnd> take_end();
  ExitFacts facts_of(const ProcessEnd& end) const;
  // The last lines may lack their ends: nothing more comes.
  void finish_output() { output_->finish(); }

  pid_t keeper() const { return process_ ? process_->keeper() : 0; }
  bool has_keeper() const { return process_ && process_->reports() >= 0; }
  bool has_open_pipes() const;

 private:
  std::string log_path(int attempt) const;
  void begin_attempt();
  // What is heard of the last attempt counts for it alone.
  void listen_to_output();

  const size_t index_;
  const TaskPlan& plan_;
  Console& console_;
  const Allowed allowed_;
  std::optional<HeldPort> port_;  // with one attempt, until the process has it
  std::string log_directory_;     // empty: no logs
  int attempt_ = 0;
  std::optional<Clock::Time> restart_asked_;
  std::optional<TaskOutput> output_;  // of the last attempt, as are the following
  TaskRecords records_;
  std::function<bool(std::string_view line, ExitFacts& facts)> hear_;  // not set: all is the task's
  ExitFacts heard_;
  std::optional<int> heard_with_;  // the exit code that it counts for; not set: every one
  std::optional<TaskProcess> process_;
};

}  // namespace millrace
