// A task's configuration as the flags of countless training scripts write it:
//
//   --ps_hosts=a:2222,b:2222 --worker_hosts=c:2222 --job_name=worker --task_index=0
//
// Any job name goes: `--map_hosts` makes a job "map". The commas separate tasks, so flags can't say
// that a task has replicas. Pure; another way to the value that tf_config.h reads from JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/cluster/tf_config.h"

namespace millrace {

// `flags` as on a command line, "--name=value" or "--name" "value", "--ps-hosts" or "--ps_hosts".
// `others`, "--bind, --cluster-file", are the program's own flags, for messages that list what is
// allowed.
// Errors: INVALID_ARGUMENT for a flag that is none of these, a value that is missing or bad, a flag
// given twice. Whether the task is in the cluster is RunConfig's to check.
Result<TfConfig> read_cluster_flags(std::span<const std::string> flags,
                                    std::string_view others = "");

}  // namespace millrace
