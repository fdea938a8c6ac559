// What a line of a foreign program tells about another task of its job: of one that keeps no record
// of itself (cluster/task_record.h), a program of TensorFlow say. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// The task, "map:7", that a session waits for, if the line says so as TensorFlow's masters do every
// ten seconds: "CreateSession still waiting for response from worker: /job:map/replica:0/task:7 …".
std::optional<std::string> waited_for(std::string_view line);

// The line has the full name of the task: "/job:map/replica:0/task:7" for "map:7".
bool names_task(std::string_view line, std::string_view task);

}  // namespace millrace
