// Whether the system has killed processes for want of memory.
//
// Reads the kernel's counters: the one of this process's control group if there is one, else the
// machine's. They don't say whom: together with a task that SIGKILL ended they are good evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace {

// The number behind "oom_kill" in a file of the kernel's that has names and numbers: of a control
// group, or of the machine. Not set: there is none.
std::optional<int64_t> memory_kills_in(const std::string& path);

// Kills so far; 0 if the system does not tell.
int64_t count_out_of_memory_kills();

}  // namespace millrace
