// What a program's command line is told about its task, for programs that read no TF_CONFIG:
//
//   train.py --ps_hosts={ps_hosts} --worker_hosts={worker_hosts} --job_name={job_name}
//            --task_index={task_index}
//
// {ROLE_hosts} are the addresses of a job of the cluster, in order, with commas between them. Any
// other text in braces stays as it is. Pure.
#pragma once

#include <string>
#include <vector>

#include "millrace/cluster/cluster_spec.h"

namespace millrace {

// The command with every placeholder replaced.
std::vector<std::string> with_placeholders(const std::vector<std::string>& command,
                                           const ClusterSpec& cluster, const TaskName& task);

}  // namespace millrace
