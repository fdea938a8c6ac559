// One task as a process of this machine: the launcher's side of a keeper (local_keeper.h).
//
// Holds the pipes; owns no thread and does not wait. Whoever runs the poll loop reads the
// descriptors when they are ready. Destroying a task that runs kills it and all below it.
// Single-threaded.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/task_records.h"

namespace millrace {

// How a task ended, as the system tells it.
struct ProcessEnd {
  std::string start_error;  // "no program 'trian.py' on the PATH"; otherwise empty
  int wait_status = 0;
  int64_t peak_memory = 0;  // bytes
  bool lost = false;        // the keeper was killed, and the task with it
};

class TaskProcess {
 public:
  struct Options {
    std::string directory = {};  // empty: the launcher's
    std::string group = {};      // empty: the launcher's; of MemoryGroups::make()
    PortHandling ports = PortHandling::inherited;
    rlimit files = {};  // RLIMIT_NOFILE of the task
    // Of what it leaves behind, before that is killed: it cleans up.
    std::chrono::milliseconds left_alone{0};
  };

  // Takes over the port, if there is one: afterwards only the task holds it, or nobody. A program
  // that can't be run is reported by read_end(), not here. Errors: RESOURCE_EXHAUSTED if there are
  // no more processes or descriptors.
  static Result<TaskProcess> start(const TaskPlan& plan, std::optional<HeldPort> port,
                                   const Options& options);

  TaskProcess(TaskProcess&&) = default;
  TaskProcess& operator=(TaskProcess&&) = delete;
  ~TaskProcess();

  // SIGTERM to the task's process group; one whose input was kept open sees its end instead, and
  // knows what to do (local_leash.h).
  void terminate();
  // The signal to the task's program, by whoever reads the input that was kept open; without one,
  // nothing.
  void pass_on(int signal);
  void kill();  // SIGKILL to every process below the keeper, to those left alone later

  // For poll(), all non-blocking; -1 once closed.
  int reports() const { return pipes_.reports.number(); }
  int out() const { return pipes_.out.number(); }
  int err() const { return pipes_.err.number(); }
  int records() const { return pipes_.records.number(); }
  void close_out() { pipes_.out.close(); }
  void close_err() { pipes_.err.close(); }

  // Feeds what the task has told about itself since, without waiting; closes records() at its end.
  void read_records(TaskRecords& records);

  // What reports() has to tell, read without waiting: nothing yet, or how the task ended. Answers
  // once. When the reports end, every process of the task is gone and reports() is -1.
  std::optional<ProcessEnd> read_end();

  // Lets go of the keeper, which then kills what is left, and reaps it. Waits for a keeper that has
  // closed its reports, for no other.
  void reap();
  // True when it could be reaped: what it kept and did not end has become the launcher's.
  bool keeper_has_ended() const;
  pid_t keeper() const { return keeper_; }

 private:
  // The launcher's ends.
  struct Pipes {
    Descriptor control;
    Descriptor reports;
    Descriptor out;
    Descriptor err;
    Descriptor records;
    Descriptor input;  // not open: the task has none
  };
  TaskProcess(std::string program, std::string directory, pid_t keeper, Pipes pipes);

  std::string program_;
  std::string directory_;
  pid_t keeper_;  // 0 once reaped
  Pipes pipes_;
  bool end_read_ = false;
};

}  // namespace millrace
