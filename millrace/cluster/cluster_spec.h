// Who is in a cluster: job -> task index -> address.
//
//   ClusterSpec cluster;
//   MR_TRY(cluster.add_job("ps", {"10.0.0.7:2222"}));
//   MR_TRY(cluster.add_task("worker", 3, "10.0.0.8:2222"));   // sparse: 0-2 are somebody else's
//   concern
//
// A value: copy it freely; const from any thread. It says who there should be, not who is alive.
// What it holds is well formed by construction, whether it came from a program, TF_CONFIG, flags or
// the wire. Everything iterates by job name, then by task index.
//
// One entry may list several addresses, "a:2222,b:2222": these are the replicas 0, 1 … of that
// task. Several tasks may share a host. Nothing keeps two tasks from being given one address,
// because port 0 and addresses behind a name may do so rightly; see shared_addresses().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"

namespace millrace {

class ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;  // task index -> address, or addresses of replicas
  using Jobs = std::map<std::string, Tasks, std::less<>>;

  ClusterSpec() = default;

  // Errors: INVALID_ARGUMENT for a job name that is not [A-Za-z][A-Za-z0-9_]*, a negative index, an
  // address that HostPort::parse() refuses; ALREADY_EXISTS if the task has an address.
  Status add_task(std::string_view job, int task, std::string_view address);
  // Tasks 0, 1 … of one job; none at all makes a job without tasks. Errors as of add_task(), and
  // ALREADY_EXISTS if there is such a job. Adds all or nothing.
  Status add_job(std::string_view job, const std::vector<std::string>& addresses);
  // Gives a task that is in the cluster another address: what a server does that was told port 0.
  // Errors: NOT_FOUND; INVALID_ARGUMENT for the address.
  Status move_task(const TaskName& task, std::string_view address);

  bool empty() const { return jobs_.empty(); }
  const Jobs& jobs() const { return jobs_; }
  // Entries, replicas not counted.
  int num_tasks() const;
  int num_tasks(std::string_view job) const;
  bool has_job(std::string_view job) const { return jobs_.contains(job); }
  bool has_task(std::string_view job, int task) const;
  // The task indices of a job for a message, "0-3, 7"; "none" for a job without tasks.
  std::string task_indices(std::string_view job) const;

  // Where one replica of a task listens. Errors: NOT_FOUND that says what there is instead.
  Result<std::string> address(const TaskName& task) const;
  // Every task, each replica by itself.
  std::vector<TaskName> tasks() const;
  // One line "worker:0 and worker:1 are both at localhost:2222" per address that several tasks
  // have.
  std::vector<std::string> shared_addresses() const;

  // "{files -> {0 -> localhost:2222}, map -> {0 -> localhost:2223, 1 -> localhost:2224}}"
  std::string to_string() const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  Jobs jobs_;
};

// True for [A-Za-z][A-Za-z0-9_]*, the only names that jobs may have.
bool is_job_name(std::string_view text);

}  // namespace millrace
