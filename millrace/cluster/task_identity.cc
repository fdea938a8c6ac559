#include "millrace/cluster/task_identity.h"

#include "millrace/cluster/cluster_flags.h"
#include "millrace/cluster/run_config.h"
#include "millrace/cluster/tf_config.h"

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

Result<TaskIdentity> identify_task(const TaskSources& sources) {
  MR_ASSIGN(Told told, read_sources(sources));
  TfConfig& config = told.config;
  std::vector<TaskName> tasks = config.cluster.tasks();
  if (tasks.empty()) return no_cluster(told);
  if (config.task_type.empty()) {
    if (tasks.size() > 1)
      return invalid(
          "nothing says which task this is; pass --job_name and --task_index for one of ",
          config.cluster.to_string());
    config.task_type = tasks[0].job;
    if (!config.task_index) config.task_index = tasks[0].task;
  }
  if (!told.flags_name_task) MR_TRY(check_task(config).with(told.cluster_source));
  TaskName task = {config.task_type, 0, config.task_index.value_or(0)};
  if (Status found = config.cluster.address(task).status(); !found.ok())
    return invalid(found.message());
  return TaskIdentity{std::move(config.cluster), std::move(task), std::move(config.notes)};
}

}  // namespace millrace
