// TaskMemory: what the tasks of a job may have in memory on this machine, and whether one was
// killed because there was no more. Where no control groups can be made (memory_groups.h) nobody is
// limited. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/job.h"
#include "millrace/launch/local_oom.h"
#include "millrace/launch/memory_groups.h"
#include "millrace/launch/plan.h"

namespace millrace {

class TaskMemory {
 public:
  // Where tasks run that a launcher starts: as processes of its machine, or elsewhere, where others
  // see to it.
  enum class Where : uint8_t { here, elsewhere };
  // `plan` has the tasks of all roles of the job, in their order.
  TaskMemory(const JobSpec& job, const LaunchPlan& plan, Where where);

  // Why no task is limited though roles say how much they may have; empty: all is well.
  const std::string& why_not() const { return why_not_; }
  // The file that puts a process into the task's group; empty: it is in none. Errors: the group
  // can't be made.
  Result<std::string> group_of(size_t task);
  // Notes in the facts of a task that has ended if it was killed for want of memory.
  void explain(size_t task, ExitFacts& facts);

 private:
  struct Limit {
    std::string task;
    int64_t bytes;  // 0: none
  };
  std::vector<Limit> limits_;  // by task
  std::optional<MemoryGroups> groups_;
  std::string why_not_;
  int64_t known_kills_ = 0;
};

}  // namespace millrace
