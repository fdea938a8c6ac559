#include "millrace/cluster/departures.h"

#include <algorithm>
#include <utility>

namespace millrace {

Departures::Departures(std::vector<TaskName> cluster)
    : tasks_([&] {
        std::sort(cluster.begin(), cluster.end());
        return std::move(cluster);
      }()) {}

Status Departures::note(const EndedTask& ended) {
  if (!std::binary_search(tasks_.begin(), tasks_.end(), ended.task))
    return invalid(ended.task.to_string(), ", which is said to have ended, is not in the cluster");
  {
    MutexLock lock(mutex_);
    const auto [known, is_new] = ended_.try_emplace(ended.task, ended.incarnation);
    if (!is_new && known->second == ended.incarnation) return {};
    known->second = ended.incarnation;
  }
  watches_.tell(ended.task);
  return {};
}

bool Departures::has(const TaskName& task) const {
  MutexLock lock(mutex_);
  return ended_.contains(task);
}

bool Departures::answers(const TaskName& task, uint64_t incarnation) {
  MutexLock lock(mutex_);
  const auto known = ended_.find(task);
  if (known == ended_.end()) return false;
  if (known->second == incarnation) return true;
  ended_.erase(known);
  return false;
}

std::vector<EndedTask> Departures::list() const {
  MutexLock lock(mutex_);
  std::vector<EndedTask> all;
  for (const auto& [task, incarnation] : ended_) all.push_back({task, incarnation});
  return all;
}

}  // namespace millrace
