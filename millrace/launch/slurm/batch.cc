#include "millrace/launch/slurm/batch.h"

#include <algorithm>

#include "millrace/launch/job_file.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/secrets.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/slurm/srun.h"

namespace millrace {
namespace {

using std::chrono::ceil;
using std::chrono::minutes;
using std::chrono::seconds;

// Before the signal's time, as sbatch's manual has it: so coarse is Slurm's clock.
constexpr seconds kSignalComesEarly{60};
constexpr const char* kNoWord = " \t\n\v\f\r\"'";       // ends a directive's word
constexpr const char* kNoPath = " \t\n\v\f\r\"'%\\,#";  // or stands for something else in one

// No line of a job file is this: its lines begin with keys, blanks or dashes.
constexpr std::string_view kEnd = "END_OF_JOB";

std::string constraint_of(const JobSpec& job, const RoleSpec& role) {
  std::string features = job.slurm.constraint;
  // What says "or" is one part of what is asked for.
  if (!role.nodes.empty() && features.find('|') != std::string::npos && !features.starts_with('['))
    features = str_cat("(", features, ")");
  for (const auto& [label, value] : role.nodes)
    str_append(&features, features.empty() ? "" : "&", value.empty() ? label : value);
  return features;
}

void append_directive(std::string& text, std::string_view directive) {
  str_append(&text, "#SBATCH ", directive, "\n");
}

bool may_lose_tasks(const JobSpec& job) {
  return std::ranges::any_of(job.roles,
                             [](const RoleSpec& role) { return role.may_lose.of(role.count) > 0; });
}

// Of the machines of one component.
void append_component(std::string& text, const JobSpec& job, const RoleSpec& role, int tasks) {
  const bool requeue = job.slurm.requeue;
  append_directive(text, requeue ? "--requeue" : "--no-requeue");
  if (!requeue || may_lose_tasks(job)) append_directive(text, "--no-kill");
  if (!job.queue.empty()) append_directive(text, str_cat("--partition=", job.queue));
  const SlurmWishes& wishes = job.slurm;
  if (!wishes.account.empty()) append_directive(text, str_cat("--account=", wishes.account));
  if (!wishes.qos.empty()) append_directive(text, str_cat("--qos=", wishes.qos));
  if (!wishes.reservation.empty())
    append_directive(text, str_cat("--reservation=", wishes.reservation));
  if (wishes.exclusive) append_directive(text, "--exclusive");
  append_directive(text, str_cat("--ntasks=", tasks));
  for (const std::string& words : slurm_resources(role.resources)) append_directive(text, words);
  if (const std::string features = constraint_of(job, role); !features.empty())
    append_directive(text, str_cat("--constraint=", features));
}

// What is held for tasks that may come, since an allocation never grows.
void append_cost_of_scaling(std::string& text, const JobSpec& job) {
  for (const RoleSpec& role : job.roles) {
    const int idle = most_of(role) - role.count;
    if (idle == 0) continue;
    const int64_t cores = whole_cores(role.resources);
    str_append(&text, "# ", role.name, " begins with ", role.count, " of ", most_of(role),
               " tasks. All are asked for here: ", idle * cores,
               idle * cores == 1 ? " core" : " cores");
    if (role.resources.gpus > 0) str_append(&text, ", ", idle * role.resources.gpus, " GPUs");
    text += " and their memory are held idle until `millrace scale` uses them.\n";
  }
}

// "roles 'files' and 'map'", of a job that has some.
std::string differing_roles(const JobSpec& job) {
  const auto other = std::ranges::find_if(job.roles, [&](const RoleSpec& role) {
    return role.resources != job.roles[0].resources || role.nodes != job.roles[0].nodes;
  });
  return str_cat("roles '", job.roles[0].name, "' and '",
                 other == job.roles.end() ? job.roles[0].name : other->name, "'");
}

Status check_for_slurm(const JobSpec& job) {
  MR_TRY(check(job));
  if (!is_submitted_name(job.name)) return invalid("the job needs a name: ", kSubmittedNameRule);
  const bool has_image =
      !job.image.empty() ||
      std::ranges::any_of(job.roles, [](const RoleSpec& role) { return !role.image.empty(); });
  if (has_image)
    return invalid(
        "image: Slurm runs programs as they are on its machines; leave the image out, or "
        "let the command start the container");
  if (has_task_folders(job)) MR_TRY(check_placed(job));
  if (!job.volumes.empty())
    return invalid("volumes: a task on Slurm sees the file systems of its machine; leave them out");
  MR_TRY(check_no_cluster_secrets(job, "on Slurm"));
  for (const RoleSpec& role : job.roles) {
    for (const auto& [label, value] : role.nodes) {
      const std::string& feature = value.empty() ? label : value;
      if (feature.find_first_of(kNoWord) == std::string::npos) continue;
      return invalid("nodes: '", feature, "' is no feature of machines");
    }
  }
  if (job.slurm.runs > 1 && !asks_the_same(job))
    return invalid(
        "slurm.runs: ", differing_roles(job),
        " ask for different machines (cpus, memory, gpus, nodes), which Slurm gives in a "
        "heterogeneous job, and it has no arrays of those; let all roles ask for the "
        "same, or leave runs out");
  if (job.time_limit && job.slurm.warn >= *job.time_limit)
    return invalid("slurm.warn: ", duration_text_of(job.slurm.warn), " before a time limit of ",
                   duration_text_of(*job.time_limit), " is before the job begins; say less");
  if (job.queue.find_first_of(kNoWord) != std::string::npos)
    return invalid("queue: '", job.queue, "' is no partition");
  return {};
}

Status check_folder(const std::string& folder) {
  if (folder.find_first_of(kNoPath) == std::string::npos) return {};
  return invalid(
      "the folder of the job, '", folder,
      "': sbatch takes no blanks, quotes, commas, '#', '%' or '\\' in it; choose another "
      "with MILLRACE_JOBS");
}

}  // namespace

Result<std::string> slurm_batch_script(const JobSpec& job) { return slurm_batch_script(job, ""); }

Result<std::string> slurm_batch_script(const JobSpec& job, const std::string& folder) {
  MR_TRY(check_for_slurm(job));
  MR_TRY(check_folder(folder));
  std::string text = "#!/bin/bash\n";
  append_directive(text, str_cat("--job-name=", job.name));
  if (folder.empty()) {
    append_directive(text,
                     str_cat("--output=", job.name, job.slurm.runs > 1 ? "-%A.log" : "-%j.log"));
  } else {
    append_directive(text, str_cat("--output=", launcher_log_in(folder)));
    append_directive(text, str_cat("--comment=", folder));
  }
  if (job.slurm.runs > 1) append_directive(text, str_cat("--array=1-", job.slurm.runs, "%1"));
  if (job.slurm.requeue || job.slurm.runs > 1) append_directive(text, "--open-mode=append");
  // What Slurm ends, for its time or for somebody with more priority, is asked before. The job's
  // own limit comes before either.
  const seconds notice = ceil<seconds>(time_to_end(job)) + seconds(5);
  if (job.time_limit) {
    const auto most = *job.time_limit + notice + kSignalComesEarly;
    append_directive(text, str_cat("--time=", ceil<minutes>(most).count()));
  }
  append_directive(text, str_cat("--signal=B:TERM@", notice.count()));
  append_cost_of_scaling(text, job);
  if (asks_the_same(job)) {
    int tasks = 0;
    for (const RoleSpec& role : job.roles) tasks += most_of(role);
    append_component(text, job, job.roles[0], tasks);
  } else {
    for (size_t i = 0; i < job.roles.size(); ++i) {
      if (i > 0) append_directive(text, "hetjob");
      append_component(text, job, job.roles[i], most_of(job.roles[i]));
    }
  }
  const std::string kept = folder.empty() ? "" : str_cat("--folder ", shell_quoted(folder), " ");
  str_append(&text, "\nexec millrace run --on srun ", kept, "/dev/stdin <<'", kEnd, "'\n",
             to_job_file(job), kEnd, "\n");
  return text;
}

}  // namespace millrace
