#include "millrace/launch/config_script.h"

#include "millrace/base/str_cat.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/plan.h"

namespace millrace {

std::string config_script(const ClusterSpec& cluster, const TaskName& task) {
  TfConfig config;
  config.cluster = cluster;
  config.task_type = task.job;
  config.task_index = task.task;
  return str_cat("export TF_CONFIG=", shell_quoted(to_json(config, JsonLayout::indented)), "\n",
                 "export CUDA_VISIBLE_DEVICES=-1\n");
}

std::string config_script_name(const TaskName& task) {
  return str_cat("config_", task.job, "_", task.task, ".sh");
}

}  // namespace millrace
