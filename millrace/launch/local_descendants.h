// Finds and ends processes below this one, by /proc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace millrace {

// The processes below one, nearer ones first. Some of them may be gone by now.
std::vector<pid_t> descendants_of(pid_t ancestor);

// Sends SIGKILL to every child of this process, those included that it inherited as a reaper of
// orphans. Their children become children of this process, so calling it until there are none left
// ends the whole tree. Children are not reaped: their numbers can't be reused meanwhile.
void kill_children();

// Sends SIGKILL to every child that is not one of these, and reaps those of them that have ended.
// How many there were: when there were none, none is left of what they have started.
size_t end_children_except(const std::vector<pid_t>& kept);

}  // namespace millrace
