#include "millrace/launch/yarn/application.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/hdfs_settings.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/secrets.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/yarn/container_end.h"
#include "millrace/launch/yarn/container_image.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kUsualMegabytes = 1024;  // of a task that asks for nothing
// The launcher itself, and for each task the errand and its keeper.
constexpr int64_t kMasterMegabytes = 256;
constexpr int64_t kErrandMegabytes = 32;
// Where no folder is shared: who serves the launcher's, and in each container who writes into it.
constexpr int64_t kServerMegabytes = 64;
constexpr int64_t kInsideMegabytes = 32;
// Who stays with a task's program, and brings its files and its outputs.
constexpr int64_t kStaysMegabytes = 32;
// The command stands in double quotes, in which a shell still sees these; and YARN puts values in
// for <NAME> and {{NAME}}.
constexpr const char* kNoWord = "\"'$`\\<>{}\n\r";

Status check_word(std::string_view what, std::string_view text, std::string_view advice) {
  if (text.find_first_of(kNoWord) == std::string_view::npos) return {};
  return invalid(what, ", '", text,
                 "': YARN takes no quotes, '$', '`', '\\', '<', '>', '{' or '}' in it; ", advice);
}

Status check_for_yarn(const JobSpec& job) {
  MR_TRY(check(job));
  if (!is_submitted_name(job.name)) return invalid("the job needs a name: ", kSubmittedNameRule);
  MR_TRY(check_images(job));
  MR_TRY(check_no_cluster_secrets(job, "on YARN"));
  for (const RoleSpec& role : job.roles) {
    if (role.nodes.size() > 1)
      return invalid("nodes: a machine of YARN has one label; role ", role.name, " asks for ",
                     role.nodes.size());
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) str_append(&text, text.empty() ? "" : ",", word);
  return text;
}

std::string master_command(const JobSpec& job, const YarnLaunch& launch) {
  if (!job.staging.empty())
    // What the launcher writes is in YARN's own folder for logs, which outlives it.
    return str_cat(kStagedPath,
                   " && exec 1>'<LOG_DIR>/launcher.log' 2>&1 && ln -s '<LOG_DIR>/launcher.log' "
                   "'<LOG_DIR>/journal' job && ln -s '<LOG_DIR>' job/logs && exec millrace run "
                   "--on yarn-am --folder job job/job.yaml");
  const std::string& folder = launch.folder;
  return str_cat("exec 1>'", launcher_log_in(folder), "' 2>&1 && cd '", launch.directory,
                 "' && exec millrace run --on yarn-am --folder '", folder, "' '",
                 job_file_in(folder), "'");
}

int64_t launcher_megabytes(const JobSpec& job) {
  return kMasterMegabytes + (job.staging.empty() ? 0 : kServerMegabytes) +
         kErrandMegabytes * static_cast<int64_t>(count_planned(job));
}

ordered_json environment_json(const YarnLaunch& launch) {
  ordered_json entries = ordered_json::array();
  for (const auto& [name, value] : launch.environment)
    entries.push_back({{"key", name}, {"value", value}});
  entries.push_back({{"key", kSchedulersVariable}, {"value", joined(launch.schedulers)}});
  return {{"entry", std::move(entries)}};
}

ordered_json resources_json(const std::vector<LocalResource>& resources) {
  ordered_json entries = ordered_json::array();
  for (const LocalResource& it : resources)
    entries.push_back({{"key", it.name},
                       {"value",
                        {{"resource", it.url},
                         {"type", it.is_archive ? "ARCHIVE" : "FILE"},
                         {"visibility", "APPLICATION"},
                         {"size", it.size},
                         {"timestamp", it.millis}}}});
  return {{"entry", std::move(entries)}};
}

ordered_json tokens_json(const HadoopToken& token) {
  ordered_json entry = {{"key", token.service}, {"value", remote::hdfs_token_text(token)}};
  return {{"entry", ordered_json::array({std::move(entry)})}};
}

}  // namespace

Result<ordered_json> yarn_application(const JobSpec& job, const YarnLaunch& launch) {
  MR_TRY(check_for_yarn(job));
  if (!job.staging.empty()) MR_TRY(check_staged(job));
  if (job.staging.empty() && has_task_folders(job)) MR_TRY(check_placed(job));
  MR_TRY(check_word("the folder of the job", launch.folder, "choose another with MILLRACE_JOBS"));
  MR_TRY(check_word("the directory", launch.directory, "submit from another"));
  for (const auto& [name, value] : launch.environment)
    MR_TRY(check_word(name, value, "set it to something else"));
  ordered_json application;
  application["application-id"] = launch.application;
  application["application-name"] = job.name;
  application["application-type"] = "MILLRACE";
  if (!job.queue.empty()) application["queue"] = job.queue;
  if (job.yarn.priority) application["priority"] = *job.yarn.priority;
  if (!job.yarn.tags.empty()) application["application-tags"]["tag"] = job.yarn.tags;
  // Tasks are not started again, and so neither is the launcher.
  application["max-app-attempts"] = 1;
  application["am-container-spec"]["commands"]["command"] = master_command(job, launch);
  if (!launch.resources.empty())
    application["am-container-spec"]["local-resources"] = resources_json(launch.resources);
  if (launch.token)
    application["am-container-spec"]["credentials"]["tokens"] = tokens_json(*launch.token);
  application["am-container-spec"]["environment"] = environment_json(launch);
  application["resource"] = {{"memory", launcher_megabytes(job)}, {"vCores", 1}};
  return application;
}

namespace {

// What comes back of tasks, for people.
std::string describe_outputs(const JobSpec& job) {
  std::string text;
  const std::string directory = job.output_dir.empty() ? kOutputs : job.output_dir;
  for (const RoleSpec& role : job.roles)
    for (const std::string& pattern : outputs_of(job, role))
      str_append(&text, "# comes back of ", role.name, ": ", pattern, " to ", directory, "/",
                 role.name, "_INDEX",
                 job.staging.empty() ? "\n" : ", when the job has ended, where it was submitted\n");
  return text;
}

// What goes along to a task's folder by the launcher, where a folder is shared, for people.
std::string describe_shipped(const JobSpec& job) {
  std::string text;
  for (const std::string& file : launcher_ships(job).files) {
    const PlacedFile placed = placed_as(file);
    str_append(&text, "# goes along: ", file, placed.is_archive ? ", unpacked as " : " as ",
               placed.name, placed.is_archive ? "/\n" : "\n");
  }
  return text;
}

// What is asked for later, by the launcher: the containers of each role, for people.
std::string describe_containers(const JobSpec& job) {
  std::string text;
  for (const RoleSpec& role : job.roles) {
    const ContainerWish wish = container_wish(job, role, 0);
    str_append(&text, "# ", role.name, ": ", most_of(role),
               most_of(role) == 1 ? " container of " : " containers of ", wish.megabytes, " MiB, ",
               wish.cores, wish.cores == 1 ? " core" : " cores");
    if (wish.gpus > 0) str_append(&text, ", ", wish.gpus, " ", kGpuResource);
    if (!wish.label.empty()) str_append(&text, ", on a machine labelled ", wish.label);
    text += "\n";
    if (const std::string secrets = secrets_text(job, role); !secrets.empty())
      str_append(&text, "#   secrets, not shown: ", secrets, "\n");
    std::string mounts = mounts_of(job);
    if (job.staging.empty()) mounts = with_folder(with_folder(mounts, "FOLDER"), "DIRECTORY");
    for (const auto& [name, value] : environment_of_image(container_image_of(job, role), mounts))
      str_append(&text, "#   ", name, "=", value, "\n");
  }
  return text;
}

// What every task's container begins with, for people.
std::string describe_files(const JobSpec& job, const std::string& folder) {
  std::string text =
      str_cat("# No folder is shared: a task works in its container's own, where it finds\n",
              "#   programs/  millrace and the job's programs, before all others on the PATH\n");
  size_t number = 0;
  for (const std::string& file : job.files) {
    const LocalResource resource =
        is_by_submitter(job) ? numbered_file(folder, file, number++) : staged_file(folder, file);
    str_append(&text, "#   ", resource.name, resource.is_archive ? "/" : "", "  of ", file,
               ", through ", resource.url, resource.is_archive ? ", unpacked\n" : "\n");
  }
  if (is_by_submitter(job))
    str_append(&text,
               "# The launcher has all of it from where it is submitted, and gives it to the ",
               "others' machines.\n");
  return text;
}

// Of a job without HDFS, as far as it is known before its files are looked at.
std::vector<LocalResource> sent_resources(const JobSpec& job, const std::string& folder) {
  std::vector<LocalResource> resources;
  for (const std::string& file : job.files)
    resources.push_back(numbered_file(folder, file, resources.size()));
  resources.push_back(staged_programs(folder));
  return resources;
}

}  // namespace

Result<std::string> describe_yarn_application(const JobSpec& job) {
  const bool is_staged = !job.staging.empty();
  const std::string folder = is_staged ? staged_folder_of(job, "APPLICATION") : "FOLDER";
  YarnLaunch launch{.application = "APPLICATION",
                    .folder = folder,
                    .directory = "DIRECTORY",
                    .schedulers = {"RESOURCEMANAGER:8030"}};
  if (is_staged) launch.resources = staged_for_launcher(folder);
  if (is_by_submitter(job)) {
    const std::vector<LocalResource> passed = passed_on(sent_resources(job, folder));
    launch.resources.insert(launch.resources.end(), passed.begin(), passed.end());
  }
  MR_ASSIGN(const ordered_json application, yarn_application(job, launch));
  return str_cat(describe_containers(job),
                 is_staged ? describe_files(job, folder) : describe_shipped(job),
                 describe_outputs(job), application.dump(2), "\n");
}

JobSpec launcher_ships(JobSpec job) {
  if (!job.staging.empty()) job.files.clear();
  return job;
}

ContainerWish container_wish(const JobSpec& job, const RoleSpec& role, int priority) {
  const Resources& asked = role.resources;
  ContainerWish wish{
      .priority = priority,
      .megabytes = asked.memory > 0 ? (asked.memory + kMegabyte - 1) / kMegabyte : kUsualMegabytes,
      .cores = std::max(1, static_cast<int>(std::ceil(asked.cpus))),
      .gpus = asked.gpus};
  if (!job.staging.empty()) wish.megabytes += kInsideMegabytes;
  if (has_task_folders(launcher_ships(job))) wish.megabytes += kStaysMegabytes;
  for (const auto& [label, value] : role.nodes) wish.label = value.empty() ? label : value;
  return wish;
}

Status check_fits(const JobSpec& job, const YarnLimits& most) {
  for (const RoleSpec& role : job.roles) {
    const ContainerWish wish = container_wish(job, role, 0);
    if (wish.megabytes > most.megabytes)
      return invalid("the cluster has no machines for this job: a task of ", role.name,
                     " asks for ", wish.megabytes, " MiB of memory, and YARN gives ",
                     most.megabytes, " at most; ask for less");
    if (wish.cores > most.cores)
      return invalid("the cluster has no machines for this job: a task of ", role.name,
                     " asks for ", wish.cores, " cores, and YARN gives ", most.cores,
                     " at most; ask for less");
    if (wish.gpus > 0 && !most.gpus)
      return invalid("gpus: a task of ", role.name, " asks for ", wish.gpus,
                     ", and this YARN was never told of any (it knows no resource ", kGpuResource,
                     "); ask whoever runs the cluster, or choose its machines by a label, with "
                     "nodes");
    if (wish.gpus > most.gpus.value_or(0))
      return invalid("the cluster has no machines for this job: a task of ", role.name,
                     " asks for ", wish.gpus, " GPUs, and YARN gives ", *most.gpus,
                     " at most; ask for less");
  }
  if (const int64_t megabytes = launcher_megabytes(job); megabytes > most.megabytes)
    return invalid("the cluster has no machines for this job: its launcher asks for ", megabytes,
                   " MiB of memory for ", count_planned(job), " tasks, and YARN gives ",
                   most.megabytes, " at most; ask for fewer tasks");
  return {};
}

std::string racks_in(const std::string& folder) { return folder + "/racks"; }

namespace {

// Of a machine of which nobody has said another.
constexpr const char* kDefaultRack = "/default-rack";

// Of the task's number at the end of its files' name is its priority made: what is asked for with
// one is all alike, and no other is to be on that machine.
std::vector<std::string> errand_back_at(std::vector<std::string> words, const std::string& machine,
                                        const std::string& rack, int first_priority) {
  const auto value_of = [&](std::string_view flag) { return std::ranges::find(words, flag) + 1; };
  const std::string& files = *value_of("--files");
  const int number = std::stoi(files.substr(files.rfind('_') + 1));
  *value_of("--priority") = std::to_string(first_priority + number);
  words.insert(words.begin() + 2, {"--node", machine, "--rack", rack});
  return words;
}

}  // namespace

Reach yarn_reach(const JobSpec& job, const YarnReach& known) {
  return {.name = "yarn",
          .listen_host = "0.0.0.0",
          .known_as = known.known_as,
          .command_at =
              [&job, known](const RoleSpec& role, size_t number,
                            const std::vector<std::string>& command) {
                const auto place = std::ranges::find(job.roles, role.name, &RoleSpec::name);
                // The first container has priority 0.
                const ContainerWish wish =
                    container_wish(job, role, 1 + static_cast<int>(place - job.roles.begin()));
                std::vector<std::string> words = {
                    "millrace",   "yarn-task",
                    "--master",   known.master,
                    "--files",    str_cat(known.folder, "/container_", number),
                    "--priority", std::to_string(wish.priority),
                    "--memory",   std::to_string(wish.megabytes),
                    "--cores",    std::to_string(wish.cores)};
                if (wish.gpus > 0) words.insert(words.end(), {"--gpus", std::to_string(wish.gpus)});
                if (!wish.label.empty()) words.insert(words.end(), {"--label", wish.label});
                if (const std::string& image = container_image_of(job, role); !image.empty())
                  words.insert(words.end(), {"--image", image, "--mounts", mounts_of(job)});
                if (!known.served_at.empty())
                  words.insert(words.end(), {"--served-at", known.served_at});
                words.push_back("--");
                words.insert(words.end(), command.begin(), command.end());
                return words;
              },
          .hear = hear_yarn,
          .own_failure = kErrandFailed,
          .machine_variable = "NM_HOST",
          .comes_back = true,
          .announces_places = true,
          .back_at =
              [first = 1 + static_cast<int>(job.roles.size()), racks = known.racks](
                  std::vector<std::string> words, const std::string& machine) {
                const auto rack = racks.find(machine);
                return errand_back_at(std::move(words), machine,
                                      rack == racks.end() ? kDefaultRack : rack->second, first);
              }};
}

}  // namespace millrace
