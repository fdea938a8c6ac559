// Stays with a task's program on a machine that a launcher reached out for over a connection alone:
// no signal comes along it, and nothing else says that the launcher is gone. The end of the
// standard input is the word to end; a line of it may hand on a signal (signal_words.h). One
// thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"

namespace millrace {

// The first line of the standard input, and not a byte more. Errors: UNAVAILABLE if it ends before,
// or is too long.
Result<std::string> first_line_of_input();

struct LeashedRun {
  std::vector<std::string> command = {};
  std::string directory = {};  // where it runs; empty: here
  Clock::Duration grace = std::chrono::seconds(5);
  // Whose end is the word to end; -1: signals to this process alone are.
  int leash = 0;
};

// Runs the command until it ends: SIGTERM to its process group when the leash ends, or what signal
// comes to this process; SIGKILL to all that is left of it after the grace. When it has ended,
// nothing that it started is left. The exit code: the program's; 128 and its number for a signal;
// 126 or 127 if it can't be run.
int run_on_leash(const LeashedRun& run, const Clock& clock);

}  // namespace millrace
