#include "millrace/cluster/task_identity.h"

#include "millrace/cluster/cluster_flags.h"
#include "millrace/cluster/run_config.h"

namespace millrace {
namespace {

bool is_told(const char* variable) {
  return variable != nullptr &&
         std::string_view(variable).find_first_not_of(" \t\r\n") != std::string_view::npos;
}

// What the sources say together.
struct Told {
  TfConfig config;
  std::string cluster_source;  // "TF_CONFIG" or a file that was there; empty: flags, or nothing
  bool flags_name_task = false;
};

Result<Told> read_sources(const TaskSources& sources) {
  MR_ASSIGN(TfConfig flags, read_cluster_flags(sources.flags, sources.other_flags));
  if (!flags.cluster.empty()) {
    if (sources.file)
      return invalid("the cluster is given twice, by --<job>_hosts flags and by the file '",
                     sources.file->name, "'; keep one of them");
    return Told{.config = std::move(flags), .cluster_source = "", .flags_name_task = true};
  }
  Told told;
  if (sources.file) {
    told.cluster_source = sources.file->name;
    MR_ASSIGN(told.config, TfConfig::parse_cluster_file(sources.file->text, sources.file->name));
  } else {
    if (is_told(sources.tf_config)) told.cluster_source = "TF_CONFIG";
    MR_ASSIGN(told.config, TfConfig::from_environment(sources.tf_config));
  }
  told.flags_name_task = !flags.task_type.empty() || flags.task_index;
  if (!flags.task_type.empty()) {
    told.config.task_type = flags.task_type;
    told.config.task_index.reset();
  }
  if (flags.task_index) told.config.task_index = flags.task_index;
  return told;
}

// The job that has all tasks of the cluster; empty if there are several.
std::string only_job(const ClusterSpec& cluster) {
  std::string only;
  for (const auto& [job, tasks] : cluster.jobs()) {
    if (tasks.empty()) continue;
    if (!only.empty()) return "";
    only = job;
  }
  return only;
}

Status no_cluster(const Told& told) {
  constexpr std::string_view kHow =
      "pass --<job>_hosts=host:port,… with --job_name and --task_index";
  const ClusterSpec& cluster = told.config.cluster;
  if (told.cluster_source.empty() && !cluster.empty())
    return invalid("--", cluster.jobs().begin()->first, "_hosts names no host; ", kHow);
  if (told.cluster_source.empty())
    return invalid("nothing says which cluster this task is in: set TF_CONFIG, ",
                   "name a cluster file, or ", kHow);
  std::string notes;
  for (const std::string& note : told.config.notes) str_append(&notes, " (", note, ")");
  return invalid(told.cluster_source, ": $.cluster: found no task", notes,
                 "; allowed: an object {job: [addresses]}; for example: ",
                 R"("cluster": {"ps": ["localhost:2222"]}; or )", kHow);
}

}  // namespace

Result<TaskName> which_task(const ClusterSpec& cluster, const TaskClaim& told,
                            const TaskClaim& otherwise) {
  constexpr std::string_view kNobody = "nothing says which task this is: ";
  std::string job = told.job.empty() ? only_job(cluster) : told.job;
  if (job.empty()) job = otherwise.job;
  if (job.empty()) {
    return invalid(kNobody, "must specify an explicit `job_name`; the cluster is ",
                   cluster.to_string());
  }
  if (told.index) return TaskName{job, 0, *told.index};
  const auto found = cluster.jobs().find(job);
  if (found == cluster.jobs().end())
    return invalid(cluster.address({job, 0, 0}).status().message());
  if (found->second.size() == 1) return TaskName{job, 0, found->second.begin()->first};
  if (otherwise.index && otherwise.job == job) return TaskName{job, 0, *otherwise.index};
  return invalid(kNobody, "must specify an explicit `task_index`; job '", job, "' has the tasks ",
                 cluster.task_indices(job));
}

TaskClaim claim_of(const TfConfig& config) {
  TaskClaim claim{config.task_type, config.task_index};
  if (!claim.job.empty() && !claim.index) claim.index = 0;
  return claim;
}

Result<TaskIdentity> identify_task(const TaskSources& sources) {
  MR_ASSIGN(Told told, read_sources(sources));
  TfConfig& config = told.config;
  if (config.cluster.tasks().empty()) return no_cluster(told);
  const bool has_source = !told.flags_name_task;
  if (has_source && !config.task_type.empty()) MR_TRY(check_task(config).with(told.cluster_source));
  Result<TaskName> found =
      which_task(config.cluster, {config.task_type, config.task_index}, claim_of(config));
  if (!found.ok())
    return found.status().then("; pass --job_name and --task_index, or name it in TF_CONFIG");
  TaskName task = std::move(*found);
  config.task_type = task.job;
  config.task_index = task.task;
  if (has_source) MR_TRY(check_task(config).with(told.cluster_source));
  if (Status there = config.cluster.address(task).status(); !there.ok())
    return invalid(there.message());
  return TaskIdentity{std::move(config.cluster), std::move(task), std::move(config.notes)};
}

}  // namespace millrace
