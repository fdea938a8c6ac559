// Why a task ended, told so that a normal end and a failure can't be mistaken for each other.
//
//   completed                                    it ended with code 0
//   input exhausted                              a queue that it read was closed and is empty
//   exit code 3 / killed by SIGKILL (signal 9)   it failed
//   out of memory                                the system or its own allocator said so
//   could not start: no such file 'trian.py'
//   lost: its keeper was killed ...              nobody saw how it ended
//   stopped: job finished                        the launcher ended it: no failure
//   stopped: map:1 failed / interrupted / stopped: time limit of 90 s
//
// What a task says of its end itself (cluster/task_record.h) counts; only of programs that say
// nothing the lines that they wrote are looked through for marks of errors. The exit code always
// has the last word on whether there was one.
//
// Pure: from what the launcher saw to what people read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/cluster/task_record.h"

namespace millrace {

// What was seen of a task's end.
struct ExitFacts {
  std::optional<int> code = std::nullopt;  // exactly one of code, signal and start_error is set
  std::optional<int> signal = std::nullopt;
  std::string start_error = {};
  // Why the manager of its machine took the task away, beside its code: "evicted: …". Empty: it did
  // not.
  std::string taken_away = {};
  // Somebody took it away by hand, maybe with the whole job.
  bool by_hand = false;
  // Nothing can be started any more where it was: its machine is lost to the job.
  bool place_is_gone = false;
  // The system killed some process for want of memory while this task ran.
  bool out_of_memory_kill = false;
  // What watched over it is gone, and took it along: `signal` is what that does to it.
  bool lost = false;
  std::string first_error_line = {};
  std::string last_error_line = {};
  bool ends_with_error = false;  // the last error line is the last line, but for notes
  // What it said itself, if it keeps a record; the lines are then not looked at.
  std::optional<TaskEnds> told = std::nullopt;
};

// The strongest signal that the launcher had sent before.
enum class SentSignal { none, terminate, kill };

enum class ExitKind {
  completed,
  input_exhausted,
  failed,  // exit code
  killed,  // signal that the launcher did not send
  out_of_memory,
  not_started,
  lost,     // what watched over it is gone
  stopped,  // by the launcher
};

struct ExitReason {
  ExitKind kind = ExitKind::completed;
  std::string text = {};  // "exit code 3"; for `stopped`, how it went: "" or "SIGKILL after 5 s"
  // Empty unless it failed. A task that was stopped has them if it ended with a code of its own or
  // an error was its last word: it may have failed before it heard of that.
  std::string first_error_line = {};
  std::string last_error_line = {};
  // If the task said so itself: whether its error tells of another one, and of which task ("ps:0").
  std::optional<bool> is_consequence = std::nullopt;
  std::string by = {};
};

// Ends by the task's own doing are told from those by the launcher's signal: a task that was
// asked to stop and then crashes has crashed.
ExitReason classify(const ExitFacts& facts, SentSignal sent);

// The task did what it was there for: nothing else has to end because of it.
bool is_success(ExitKind kind);
// The job can't succeed because of it.
bool is_failure(ExitKind kind);
// True if the error tells of another one (a peer that went away, a cancelled step).
bool looks_like_consequence(const ExitReason& reason);

// "SIGKILL (signal 9)"; "signal 63" for one without a name.
std::string signal_text(int signal);

}  // namespace millrace
