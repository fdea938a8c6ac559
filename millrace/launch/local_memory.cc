#include "millrace/launch/local_memory.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace millrace {

TaskMemory::TaskMemory(const JobSpec& job, const LaunchPlan& plan, Where where) {
  for (const RoleSpec& role : job.roles)
    for (int i = 0; i < most_of(role); ++i)
      limits_.push_back({plan.tasks[limits_.size()].name, role.resources.memory});
  const bool any = std::ranges::any_of(limits_, [](const Limit& one) { return one.bytes > 0; });
  if (any && where == Where::here) {
    Result<MemoryGroups> groups = MemoryGroups::create();
    if (groups.ok()) {
      groups_.emplace(*std::move(groups));
    } else {
      why_not_ = groups.status().message();
    }
  }
  known_kills_ = count_out_of_memory_kills();
}

Result<std::string> TaskMemory::group_of(size_t task) {
  const auto& [name, bytes] = limits_[task];
  if (!groups_ || bytes == 0) return std::string();
  return groups_->make(name, bytes);
}

void TaskMemory::explain(size_t task, ExitFacts& facts) {
  const bool was_killed = facts.signal == SIGKILL || facts.code == 128 + SIGKILL;
  // Some count what groups lose among all that the machine does.
  if (groups_ && groups_->has_killed(limits_[task].task)) {
    facts.out_of_memory_kill = was_killed;
    known_kills_ = std::max(known_kills_, count_out_of_memory_kills());
  } else if (was_killed && count_out_of_memory_kills() > known_kills_) {
    ++known_kills_;
    facts.out_of_memory_kill = true;
  }
}

}  // namespace millrace
