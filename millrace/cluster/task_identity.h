// Which task of which cluster a process is, from all that it may have been told: flags, a cluster
// file, TF_CONFIG. Pure: whoever starts the program reads the environment and the file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/tf_config.h"

namespace millrace {

struct ClusterFile {
  std::string name;  // for messages
  std::string text;
};

// The cluster comes from the first of these that is there: flags (--<job>_hosts), file, TF_CONFIG.
// Task and index come from --job_name and --task_index, else from where the cluster came from.
struct TaskSources {
  const char* tf_config = nullptr;  // the variable's value; null if it is not set
  std::optional<ClusterFile> file = std::nullopt;
  std::span<const std::string> flags = {};  // see cluster_flags.h
  std::string_view other_flags = {};        // the program's own, for messages: "--bind, --verbose"
};

// Who somebody says that this process is; what it does not say is left out.
struct TaskClaim {
  std::string job = {};
  std::optional<int> index = std::nullopt;
};

// The one answer to "which task of this cluster am I": what `told` says; where it says nothing, the
// only choice that the cluster leaves (its only job, the job's only task); where there are several,
// what `otherwise` says. A task that is told with both parts is not looked up. Errors:
// INVALID_ARGUMENT that names the part that nobody says (`job_name` or `task_index`) and what there
// is, or a job that is not there.
Result<TaskName> which_task(const ClusterSpec& cluster, const TaskClaim& told,
                            const TaskClaim& otherwise = {});

// What TF_CONFIG, a file or flags say of the task: an index that goes without saying is 0.
TaskClaim claim_of(const TfConfig& config);

struct TaskIdentity {
  ClusterSpec cluster;
  TaskName task;
  std::vector<std::string> notes;  // see TfConfig::notes
};

// A cluster of one task needs no task to be named (which_task). Errors: INVALID_ARGUMENT if a
// source can't be read, if none names a cluster, if two do by flags and file, or if the task is not
// in the cluster; for what JSON says, with the path in it.
Result<TaskIdentity> identify_task(const TaskSources& sources);

}  // namespace millrace
