// What a line that a task wrote tells about another task of its job. Pure.
#pragma once

#include <string_view>

namespace millrace {

// The line says that a session can't begin before some task answers, as TensorFlow's and Millrace's
// masters do every ten seconds: "CreateSession still waiting for response from worker:
// /job:map/replica:0/task:7 …".
bool tells_of_waiting(std::string_view line);

// The line has the full name of the task: "/job:map/replica:0/task:7" for "map:7".
bool names_task(std::string_view line, std::string_view task);

}  // namespace millrace
