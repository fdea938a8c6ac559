// The folder that one task works in, from before its program begins until it has ended. It goes
// with the process that made it, however that ends: a small process beside it waits for that, and
// removes it. What even that could not (the machine was switched off) is removed by the next task
// of this user there, a minute later at the soonest. Blocks; from a process with one thread: it
// forks.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

class TaskFolder {
 public:
  // A new one below `tasks`, whose name begins so. Errors: UNAVAILABLE with what the system says.
  static Result<TaskFolder> make(const std::string& tasks, const std::string& name);

  // One that is there, and that somebody else removes.
  static TaskFolder lent(std::string path);

  TaskFolder(TaskFolder&& other) noexcept;
  TaskFolder& operator=(TaskFolder&&) = delete;
  ~TaskFolder();  // removes it, if it was made here

  const std::string& path() const { return path_; }

 private:
  TaskFolder(std::string path, Descriptor lock, Descriptor life)
      : path_(std::move(path)), lock_(std::move(lock)), life_(std::move(life)) {}

  std::string path_;  // empty: moved
  Descriptor lock_;   // not open: it is lent
  Descriptor life_;   // whose end the one beside sees
};

}  // namespace millrace
