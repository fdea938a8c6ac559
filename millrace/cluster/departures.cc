#include "millrace/cluster/departures.h"

#include <algorithm>

namespace millrace {

Departures::Departures(const ClusterSpec& cluster)
    : tasks_([&] {
        std::vector<TaskName> tasks = cluster.tasks();
        std::sort(tasks.begin(), tasks.end());
        return tasks;
      }()) {}

Status Departures::note(const EndedTask& ended) {
  if (!std::binary_search(tasks_.begin(), tasks_.end(), ended.task))
    return invalid(ended.task.to_string(), ", which is said to have ended, is not in the cluster");
  std::vector<Watch> told;
  {
    MutexLock lock(mutex_);
    const auto [known, is_new] = ended_.try_emplace(ended.task, ended.incarnation);
    if (!is_new && known->second == ended.incarnation) return {};
    known->second = ended.incarnation;
    std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
    for (const auto& watch : watches_)
      if (Watch held = watch.lock()) told.push_back(std::move(held));
  }
  for (const Watch& watch : told) (*watch)(ended.task);
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

Departures::Watch Departures::watch(std::function<void(const TaskName&)> on_departure) {
  auto watch =
      std::make_shared<const std::function<void(const TaskName&)>>(std::move(on_departure));
  MutexLock lock(mutex_);
  watches_.emplace_back(watch);
  return watch;
}

}  // namespace millrace
