#include "millrace/cluster/task_identity.h"

#include "millrace/cluster/cluster_flags.h"
#include "millrace/cluster/tf_config.h"

namespace millrace {
namespace {

Result<TfConfig> read_sources(const TaskSources& sources) {
  MR_ASSIGN(TfConfig flags, read_cluster_flags(sources.flags));
  if (!flags.cluster.empty()) {
    if (sources.file)
      return invalid("the cluster is given twice, by --<job>_hosts flags and by the file '",
                     sources.file->name, "'; keep one of them");
    return flags;
  }
  MR_ASSIGN(TfConfig config,
            sources.file ? TfConfig::parse_cluster_file(sources.file->text, sources.file->name)
                         : TfConfig::from_environment(sources.tf_config));
  if (!flags.task_type.empty()) {
    config.task_type = flags.task_type;
    config.task_index.reset();
  }
  if (flags.task_index) config.task_index = flags.task_index;
  return config;
}

}  // namespace

Result<TaskIdentity> identify_task(const TaskSources& sources) {
  MR_ASSIGN(TfConfig config, read_sources(sources));
  std::vector<TaskName> tasks = config.cluster.tasks();
  if (tasks.empty())
    return invalid(
        "nothing says which cluster this task is in: set TF_CONFIG, name a cluster file, ",
        "or pass --<job>_hosts=host:port,… with --job_name and --task_index");
  if (config.task_type.empty()) {
    if (tasks.size() > 1)
      return invalid(
          "nothing says which task this is; pass --job_name and --task_index for one of ",
          config.cluster.to_string());
    config.task_type = tasks[0].job;
    if (!config.task_index) config.task_index = tasks[0].task;
  }
  TaskName task = {config.task_type, 0, config.task_index.value_or(0)};
  if (Status found = config.cluster.address(task).status(); !found.ok())
    return invalid(found.message());
  return TaskIdentity{std::move(config.cluster), std::move(task), std::move(config.notes)};
}

}  // namespace millrace
