// A thread that may be refused: under a limit of processes or of memory the system says no, and
// std::thread throws. Whoever starts threads does it here and gets a status instead.
//
// With the first one, a process whose address space is limited makes malloc keep to one arena,
// unless it had more before: each further one would take 64 MB of it.
#pragma once

#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"

#include "millrace/base/result.h"

namespace millrace {

// Runs `body` on a thread of its own. `name` shows in debuggers, 15 bytes at most.
// Errors: RESOURCE_EXHAUSTED, naming the thread and what to look at.
Result<std::thread> start_thread(std::string name, absl::AnyInvocable<void()> body);

}  // namespace millrace
