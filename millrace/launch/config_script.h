// Shell scripts that make a terminal into a task: sourced, one sets TF_CONFIG for the program that
// is started next. For trying out a cluster by hand, in as many terminals as it has tasks. Pure.
#pragma once

#include <string>

#include "millrace/cluster/cluster_spec.h"

namespace millrace {

// Two exports, for any POSIX shell: TF_CONFIG (JSON over many lines) and CUDA_VISIBLE_DEVICES=-1,
// so that tasks of one machine do not fight for its GPUs.
std::string config_script(const ClusterSpec& cluster, const TaskName& task);

// "config_map_0.sh"
std::string config_script_name(const TaskName& task);

}  // namespace millrace
