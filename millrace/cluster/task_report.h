// TaskReport: where this process tells how it is (task_record.h): a descriptor that a launcher has
// opened, or a file.
//
//   MILLRACE_REPORT_FD=4                             a pipe's end: the local launcher
//   MILLRACE_REPORT_FILE=/dev/termination-log        Kubernetes; a path in the job's folder for
//   Slurm
//
// One per process, made where the program begins. A process that is forked off tells nothing.
// Telling never waits and never fails: a line that the other side does not take is lost, as are
// the lines of a task that nobody asked. Any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/cluster/task_record.h"

namespace millrace {

class TaskReport {
 public:
  // From the values of the two variables (null or empty: not set); null if neither is. Of both, the
  // descriptor is taken. The descriptor is closed in programs that this one starts. Errors:
  // INVALID_ARGUMENT for a descriptor that is none, not open or a standard stream, NOT_FOUND for a
  // file that can't be opened.
  static Result<std::shared_ptr<TaskReport>> open(const char* descriptor, const char* file);
  // Takes the descriptor over.
  explicit TaskReport(int descriptor);
  ~TaskReport();

  TaskReport(const TaskReport&) = delete;
  TaskReport& operator=(const TaskReport&) = delete;

  // "map:1": which task the further lines are of.
  void set_task(const TaskName& task);
  void tell(const TaskEvent& event);
  // The same, unless an end has been told already: the first one is how it was.
  void tell_end(const TaskEnds& end);

 private:
  void write(const TaskEvent& event) MR_REQUIRES(mutex_);

  const int descriptor_;
  const pid_t owner_;
  Mutex mutex_;
  std::string task_ MR_GUARDED_BY(mutex_);
  bool has_ended_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
