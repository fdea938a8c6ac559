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

struct TaskIdentity {
  ClusterSpec cluster;
  TaskName task;
  std::vector<std::string> notes;  // see TfConfig::notes
};

// A cluster of one task needs no task to be named. Errors: INVALID_ARGUMENT if a source can't be
// read, if none names a cluster, if two do by flags and file, or if the task is not in the cluster;
// for what JSON says, with the path in it.
Result<TaskIdentity> identify_task(const TaskSources& sources);

}  // namespace millrace
