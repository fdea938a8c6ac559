#include "millrace/mapreduce/result_queue.h"

#include <vector>

#include "millrace/api/ops/state.h"
#include "millrace/base/str_cat.h"
#include "millrace/mapreduce/roles.h"
#include "millrace/op/device_name.h"

namespace millrace::mapreduce {

std::string ResultQueue::shown() const {
  return str_cat("the queue '", name, "' of ", task.empty() ? target : task);
}

millrace::Output ResultQueue::build(const Scope& scope) const {
  const std::vector<DType> types(static_cast<size_t>(num_components()), DType::string);
  const std::vector<PartialShape> shapes(types.size(), PartialShape::scalar());
  return ops::fifo_queue_v2(task.empty() ? scope : scope.device(task), types,
                            {.shapes = shapes, .capacity = capacity, .shared_name = name});
}

Status ResultQueue::check() const {
  if (name.empty()) return invalid("the queue of results has no name, by which others find it");
  if (task.empty() == target.empty())
    return invalid("the queue '", name,
                   "' needs one of `task` (of the cluster, such as "
                   "/job:read/task:0) and `target` (a server, without a cluster)");
  if (capacity < 1 && capacity != -1)
    return invalid("capacity is ", capacity, "; it must be at least 1, or -1 for any number");
  if (task.empty()) return {};
  MR_ASSIGN(const DeviceName device, DeviceName::parse(task).with(shown()));
  return device.job && device.task ? Status()
                                   : invalid(shown(), ": say one task, such as /job:read/task:0");
}

Status ResultQueue::check_place(const ClusterSpec& cluster) const {
  if (cluster.empty() && target.empty())
    return invalid(shown(),
                   " is on a task of a cluster, and this process is in none: say `target`");
  if (cluster.empty()) return {};
  if (task.empty())
    return invalid(shown(), ": on a cluster say `task`, one of it that reads, not `target`");
  MR_ASSIGN(const DeviceName device, DeviceName::parse(task));
  if (*device.job == kOwnerJob || !kinds_taken(*device.job).empty())
    return invalid(shown(), " would end with the job: put it on the task that reads");
  const auto job = cluster.jobs().find(*device.job);
  if (job == cluster.jobs().end() || !job->second.contains(*device.task))
    return invalid(shown(), ": the cluster has no such task");
  return {};
}

}  // namespace millrace::mapreduce
