// Stays with a task's program on a machine that a launcher reached out for over a connection alone:
// no signal comes along it, and nothing else says that the launcher is gone. The end of the
// standard input is the word to end; a line of it may hand on a signal (signal_words.h). One
// thread.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"

namespace millrace {

// The first line of the standard input, and not a byte more. Errors: UNAVAILABLE if it ends before,
// or is too long.
Result<std::string> first_line_of_input();

// Runs the command, in the directory if there is one, until it ends: SIGTERM to its process group
// when the input ends, SIGKILL to all that is left of it after the grace. When it has ended,
// nothing that it started is left. The exit code: the program's; 128 and its number for a signal;
// 126 or 127 if it can't be run.
int run_on_leash(const std::vector<std::string>& command, const std::string& directory,
                 Clock::Duration grace, const Clock& clock);

}  // namespace millrace
