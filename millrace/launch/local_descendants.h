// Finds and ends processes below this one, by /proc.
#pragma once

namespace millrace {

// Sends SIGKILL to every child of this process, those included that it inherited as a reaper of
// orphans. Their children become children of this process, so calling it until there are none left
// ends the whole tree. Children are not reaped: their numbers can't be reused meanwhile.
void kill_children();

}  // namespace millrace
