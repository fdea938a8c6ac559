#include "millrace/cluster/late_members.h"

#include "millrace/cluster/host_port.h"

namespace millrace {

Result<std::shared_ptr<LateMembers>> LateMembers::create(
    const std::vector<std::pair<std::string, int>>& jobs) {
  std::map<TaskName, Known> known;
  for (const auto& [job, count] : jobs) {
    if (!is_job_name(job))
      return invalid("a job is to be called '", job,
                     "'; write a letter, then letters, digits and _");
    if (count < 1) return invalid("job '", job, "' is to have ", count, " tasks; it needs one");
    if (known.contains({job, 0, 0}))
      return error(Code::already_exists, "job '", job, "' is named twice");
    for (int task = 0; task < count; ++task) known.try_emplace({job, 0, task});
  }
  if (known.empty()) return invalid("a cluster needs a job with a task");
  return std::shared_ptr<LateMembers>(new LateMembers(std::move(known)));
}

std::shared_ptr<LateMembers> LateMembers::of(const ClusterSpec& cluster) {
  std::map<TaskName, Known> known;
  for (const TaskName& task : cluster.tasks())
    known.try_emplace(task, Known{.address = cluster.address(task).value()});
  return std::shared_ptr<LateMembers>(new LateMembers(std::move(known)));
}

Status LateMembers::set_address(const TaskName& task, std::string_view address) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(address).with(task.to_string()));
  if (parsed.port == 0)
    return invalid(task.to_string(), " is said to be at ", address,
                   ", but nobody listens on port 0");
  return set(task, {.address = parsed.to_string()});
}

Status LateMembers::lose_address(const TaskName& task, std::string_view why) {
  return set(task, {.why_not = str_cat("no longer known: ", why)});
}

Status LateMembers::end(const TaskName& task) {
  return set(task, {.why_not = "gone: the task has ended", .has_ended = true});
}

Status LateMembers::set(const TaskName& task, Known known) {
  {
    MutexLock lock(mutex_);
    const auto found = known_.find(task);
    if (found == known_.end()) return no_such_task(task);
    if (found->second == known) return {};
    found->second = std::move(known);
    generation_.fetch_add(1, std::memory_order_release);
  }
  watches_.tell(task);
  return {};
}

std::vector<Member> LateMembers::list() const {
  MutexLock lock(mutex_);
  std::vector<Member> all;
  for (const auto& [task, known] : known_) all.push_back({task, known.address});
  return all;
}

Result<std::string> LateMembers::address(const TaskName& task) const {
  MutexLock lock(mutex_);
  const auto found = known_.find(task);
  if (found == known_.end()) return no_such_task(task);
  const Known& known = found->second;
  if (!known.address.empty()) return known.address;
  return unavailable("the address of ", task.to_string(), " is ", known.why_not);
}

bool LateMembers::has_ended(const TaskName& task) const {
  MutexLock lock(mutex_);
  const auto found = known_.find(task);
  return found != known_.end() && found->second.has_ended;
}

Status LateMembers::no_such_task(const TaskName& task) const {
  std::map<std::string, int> jobs;
  for (const auto& [name, known] : known_) ++jobs[name.job];
  std::string text;
  for (const auto& [job, count] : jobs)
    str_append(&text, text.empty() ? "" : ", ", job, " with ", count,
               count == 1 ? " task" : " tasks");
  return not_found(task.to_string(), " is not in the cluster, which has ", text);
}

}  // namespace millrace
