#include "millrace/cluster/run_config.h"

#include "millrace/cluster/json_text.h"

namespace millrace {
namespace {

bool is_outside_evaluator(const TfConfig& config) {
  return config.task_type == "evaluator" && !config.cluster.has_job("evaluator");
}

std::string example_task(const std::string& job, int index) {
  return str_cat("\"task\": {\"type\": ", json_quoted(job), ", \"index\": ", index, "}");
}

Status check_type(const TfConfig& config) {
  const ClusterSpec& cluster = config.cluster;
  if (cluster.has_job(config.task_type)) return {};
  std::string jobs;
  std::string example = "worker";
  for (const auto& [job, tasks] : cluster.jobs()) {
    str_append(&jobs, jobs.empty() ? "" : ", ", job);
    if (!tasks.empty()) example = job;
  }
  return invalid("$.task.type: found ", json_quoted(config.task_type.substr(0, 80)),
                 ", which is no job of the cluster; allowed: ", jobs,
                 "; for example: ", example_task(example, 0));
}

Status check_index(const TfConfig& config, int index) {
  const ClusterSpec& cluster = config.cluster;
  if (cluster.has_task(config.task_type, index)) return {};
  const ClusterSpec::Tasks& tasks = cluster.jobs().find(config.task_type)->second;
  if (tasks.empty())
    return invalid("$.task: found ", config.task_type, ":", index, ", but $.cluster.",
                   config.task_type,
                   " has no tasks; allowed: a task of the cluster; for example: \"",
                   config.task_type, "\": [\"localhost:2222\"]");
  return invalid("$.task.index: found ", index,
                 "; allowed: ", cluster.task_indices(config.task_type),
                 "; for example: ", example_task(config.task_type, tasks.begin()->first));
}

bool is_chief(const TfConfig& config, int index) {
  if (index != 0) return false;
  if (config.task_type.empty()) return true;
  if (config.environment == "cloud") return config.task_type == "master";
  return config.task_type == (config.cluster.has_job("chief") ? "chief" : "worker");
}

std::string default_master(const TfConfig& config, int index) {
  if (config.task_type.empty() || config.cluster.num_tasks() <= 1) return "";
  auto address = config.cluster.address({config.task_type, 0, index});
  return address.ok() ? str_cat("grpc://", *address) : "";
}

}  // namespace

Status check_task(const TfConfig& config) {
  MR_TRY(check_type(config));
  return check_index(config, config.task_index.value_or(0));
}

Result<RunConfig> RunConfig::create(const TfConfig& config, const RunConfigOptions& options) {
  RunConfig run;
  run.cluster = config.cluster;
  run.task_type = config.task_type;
  run.task_index = config.task_index.value_or(0);
  run.environment = config.environment;
  bool names_task = !config.task_type.empty() && !config.cluster.empty();
  if (names_task && !is_outside_evaluator(config)) MR_TRY(check_task(config).with("TF_CONFIG"));
  run.master = config.master.empty() ? default_master(config, run.task_index) : config.master;
  if (options.master) run.master = *options.master;

  run.model_dir = options.model_dir.value_or(config.model_dir);
  if (!config.model_dir.empty() && run.model_dir != config.model_dir)
    return invalid("TF_CONFIG: $.model_dir: found ", json_quoted(config.model_dir),
                   ", but the program says ", json_quoted(run.model_dir),
                   "; allowed: the same in both, or one of them");
  run.is_chief = millrace::is_chief(config, run.task_index);
  run.num_ps_replicas = run.cluster.num_tasks("ps");
  for (const char* job : {"worker", "chief", "master"})
    run.num_worker_replicas += run.cluster.num_tasks(job);
  return run;
}

}  // namespace millrace
