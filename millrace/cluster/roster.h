// The roster of a job whose roles grow and shrink: which tasks of its cluster are not there now, as
// its launcher keeps it in a file that MILLRACE_ROSTER names (environment.h). A line for each:
//
//   map:2 127.0.0.1:40123
//
// With the address, so that a server whose cluster is another one does not take its tasks for
// those. A pure format; roster_members.h reads the file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace millrace {

using AbsentTasks = std::map<std::string, std::string>;  // "map:2" -> "127.0.0.1:40123"

std::string to_roster(const AbsentTasks& absent);
// Lines that make no sense say nothing.
AbsentTasks parse_roster(std::string_view text);

}  // namespace millrace
