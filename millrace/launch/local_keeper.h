// The keeper: a small process between the launcher and one task, so that nothing the task started
// outlives the launcher, however either of them ends.
//
//   launcher ──control──► keeper (session of its own, reaper of orphans) ── task ── its children …
//            ◄─reports──
//
// The keeper starts the task, tells how it ended, and does not end before every process below it
// has. It kills all of them when the task has ended, when it is told to, and when the control pipe
// closes (the task's own process first, if another one cleans up after it and is to be left time):
// which the kernel does when the launcher is gone, SIGKILL included. If the keeper itself is
// killed, the kernel kills the task.
//
// Both ends of the two pipes are described here; local_process.h is the launcher's side.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>

namespace millrace {

// Bytes of the control pipe.
inline constexpr char kTerminateTask = 'T';  // SIGTERM to the task's process group
inline constexpr char kKillTask = 'K';       // SIGKILL to everything below the keeper

// What comes back, written whole: it is smaller than PIPE_BUF.
struct KeeperReport {
  enum class Kind : int32_t {
    not_started,  // `value`: errno of `stage`
    ended,        // `value`: wait status
  };
  enum class Stage : int32_t { fork, group, directory, program };
  Kind kind;
  Stage stage;
  int32_t value;
  int32_t reserved;
  int64_t peak_memory;  // bytes; of the largest of the task's processes
};
static_assert(sizeof(KeeperReport) == 24);

// Everything the keeper needs; prepared before the fork, so that little is left to do after it.
struct KeeperDuty {
  int control;
  int reports;
  int out;
  int err;
  int records;        // where the task tells about itself
  int input;          // -1: the task reads nothing
  int listen;         // -1: the task gets no socket
  int left_alone;     // milliseconds: how long processes beside the task's own are, once that
                      // has ended or is killed
  const char* group;  // the file that puts a process into a group (memory_groups.h); empty: none
  const char* directory;  // empty: stay
  char* const* argv;
  char* const* environment;
  sigset_t task_signals;  // mask that the task starts with
  rlimit task_files;      // RLIMIT_NOFILE that the task starts with
};

// Runs in the forked process and ends it.
[[noreturn]] void keep_task(const KeeperDuty& duty);

}  // namespace millrace
