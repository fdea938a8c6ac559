// What people ask a task that runs: who it is, and what it waits for. Of Millrace alone:
// TensorFlow's tasks have no such question.
//
// `millrace status` asks it over the task's port, SIGUSR1 puts it into the log of `millrace serve`
// and of Python programs that serve.
#pragma once

#include <string>
#include <vector>

#include "millrace/cluster/messages.h"

namespace millrace {

struct TaskDescription {
  std::string task = {};  // "/job:map/replica:0/task:1"
  // A line each, the longest wait first; masters' before steps'.
  std::vector<std::string> waits = {};
  std::vector<EndedTask> ended = {};  // whom it knows to have ended well
};

// A task that can be asked. Any thread; cheap enough to ask while it works.
class Inspected {
 public:
  virtual ~Inspected() = default;
  virtual TaskDescription describe() const = 0;
};

// What people read, without the end of the last line: "map:1: waits for nothing", or a line per
// wait below the name.
std::string to_text(const TaskDescription& description);

}  // namespace millrace
