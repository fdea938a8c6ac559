// Departures: which tasks of a cluster are known to have ended well, so that nobody waits for them.
//
// A task that ends well says so to the others (WorkerService::farewell), and who knows passes it on
// with each answer to GetStatus; a task that was killed says nothing and is waited for, as it may
// come back. Known is one life of a task: whoever answers in its place with another incarnation is
// there, and the departure forgotten. So a departure is a reason not to wait, none not to ask.
//
// One per server, held by its worker and its master. Bounded by the tasks of the cluster: others
// are not taken. Any thread.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/messages.h"
#include "millrace/cluster/task_watches.h"

namespace millrace {

class Departures {
 public:
  // Of these tasks.
  explicit Departures(std::vector<TaskName> cluster);

  // Errors: INVALID_ARGUMENT for a task that is not in the cluster.
  Status note(const EndedTask& ended);
  bool has(const TaskName& task) const;
  // That somebody answers as `task`. True if this is the life that is known to have ended: it is
  // just about to go.
  bool answers(const TaskName& task, uint64_t incarnation);
  // In order of names.
  std::vector<EndedTask> list() const;

  // Told of each departure that is new, on the thread that notes it.
  TaskWatch watch(std::function<void(const TaskName&)> on_departure) {
    return watches_.add(std::move(on_departure));
  }

 private:
  const std::vector<TaskName> tasks_;  // sorted
  TaskWatches watches_;
  mutable Mutex mutex_;
  std::map<TaskName, uint64_t> ended_ MR_GUARDED_BY(mutex_);  // incarnation of the life that ended
};

}  // namespace millrace
