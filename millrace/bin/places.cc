#include "millrace/bin/places.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "millrace/bin/shipping_here.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/folder_place.h"
#include "millrace/launch/follow_job.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/kubernetes/kubernetes_place.h"
#include "millrace/launch/local_company.h"
#include "millrace/launch/local_detached.h"
#include "millrace/launch/shipping/scratch.h"
#include "millrace/launch/slurm/slurm_place.h"
#include "millrace/launch/yarn/own_address.h"
#include "millrace/launch/yarn/yarn_place.h"

namespace millrace {
namespace {

using MadePlace = Result<std::unique_ptr<JobPlace>>;

// The folder of one place's jobs.
Result<JobFolders> folders_of(const std::string& place) {
  std::filesystem::path root = variable(kJobsVariable);
  if (root.empty() && !variable("XDG_STATE_HOME").empty())
    root = std::filesystem::path(variable("XDG_STATE_HOME")) / "millrace";
  if (root.empty() && !variable("HOME").empty())
    root = std::filesystem::path(variable("HOME")) / ".local" / "state" / "millrace";
  if (root.empty())
    return failed_precondition("nothing says where jobs are kept: set ", kJobsVariable,
                               " to a folder");
  std::error_code fault;
  root = std::filesystem::absolute(root, fault);
  if (fault) return failed_precondition(kJobsVariable, ": ", fault.message());
  return JobFolders((root.lexically_normal() / place).string());
}

MadePlace make_kubernetes(const PlaceFlags& flags, Random& random, const Clock& clock) {
  MR_ASSIGN(const std::string program, own_program());
  return std::unique_ptr<JobPlace>(std::make_unique<KubernetesPlace>(
      KubernetesOptions{
          .context = flags.context,
          .name_space = flags.name_space,
          .program = program,
          .ship = shipment_here,
          .note = [](const std::string& text) { std::cerr << "millrace: " << text << std::endl; }},
      random, clock));
}

MadePlace make_slurm(const PlaceFlags&, Random&, const Clock& clock) {
  MR_ASSIGN(JobFolders folders, folders_of("slurm"));
  SlurmOptions options{.user = std::to_string(getuid()), .configuration = variable("SLURM_CONF")};
  return std::unique_ptr<JobPlace>(std::make_unique<FolderPlace>(
      std::move(folders), std::make_unique<SlurmHost>(std::move(options), clock), clock));
}

// What Hadoop's files on this machine say, as its own commands read them.
Result<YarnAddresses> known_yarn() {
  const std::string folder =
      variable("YARN_CONF_DIR").empty() ? variable("HADOOP_CONF_DIR") : variable("YARN_CONF_DIR");
  if (folder.empty())
    return failed_precondition(
        "nothing says where YARN is: set HADOOP_CONF_DIR to the folder with its yarn-site.xml");
  HadoopConf conf;
  for (const char* name : {"core-site.xml", "yarn-site.xml"}) {
    std::ifstream file(std::filesystem::path(folder) / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    for (auto& [property, setting] : parse_hadoop_conf(text.str()))
      conf[property] = std::move(setting);
  }
  Result<YarnAddresses> addresses = yarn_addresses(conf);
  return std::move(addresses).with(folder);
}

std::string yarn_user() {
  if (!variable("HADOOP_USER_NAME").empty()) return variable("HADOOP_USER_NAME");
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? std::to_string(getuid()) : entry->pw_name;
}

// What a job takes along to machines that share no folder, from here.
Result<StagedLaunchesOptions> staged_options(const std::string& directory) {
  MR_ASSIGN(const std::string program, own_program());
  auto environment = [](const char* name) -> std::optional<std::string> {
    // As YARN, so HDFS knows who asks.
    if (name == std::string_view("HADOOP_USER_NAME")) return yarn_user();
    const char* value = std::getenv(name);
    return value == nullptr ? std::optional<std::string>() : value;
  };
  return StagedLaunchesOptions{.directory = directory,
                               .search = variable("PATH"),
                               .program = program,
                               .environment = environment};
}

MadePlace make_yarn(const PlaceFlags&, Random& random, const Clock& clock) {
  MR_ASSIGN(JobFolders folders, folders_of("yarn"));
  YarnOptions options;
  MR_ASSIGN(options.addresses, known_yarn());
  options.user = yarn_user();
  std::error_code fault;
  options.directory = std::filesystem::current_path(fault).string();
  if (fault) return failed_precondition("this directory: ", fault.message());
  MR_ASSIGN(options.staged, staged_options(options.directory));
  options.staged.host = variable("MILLRACE_HOST").empty()
                            ? address_towards(options.addresses.web[0])
                            : variable("MILLRACE_HOST");
  options.progress = [](const std::string& words) {
    std::cerr << "millrace: its files are given out here until its launcher has them; " << words
              << std::endl;
  };
  if (options.addresses.has_kerberos)
    options.staged.tokens = {.renewer = options.addresses.principal,
                             .name_numbers = options.addresses.tokens_name_numbers};
  for (const char* name : kPassedOn)
    if (!variable(name).empty()) options.environment.emplace_back(name, variable(name));
  return std::unique_ptr<JobPlace>(std::make_unique<FolderPlace>(
      std::move(folders), std::make_unique<YarnHost>(std::move(options), clock, random), clock));
}

// This very program runs the job.
MadePlace make_local(const PlaceFlags&, Random&, const Clock& clock) {
  MR_ASSIGN(JobFolders folders, folders_of("local"));
  MR_ASSIGN(const std::string program, own_program());
  const std::vector<std::string> launch = {program, "run", "--folder"};
  return std::unique_ptr<JobPlace>(std::make_unique<FolderPlace>(
      std::move(folders), std::make_unique<DetachedHost>(launch, clock), clock));
}

struct KnownPlace {
  std::string_view name;
  MadePlace (*make)(const PlaceFlags& flags, Random& random, const Clock& clock);
};
constexpr KnownPlace kJobPlaces[] = {
    {"k8s", make_kubernetes},
    {"slurm", make_slurm},
    {"yarn", make_yarn},
    {"local", make_local},
};

// This very program looks at it.
std::vector<std::string> words_of_company(const std::string& name, const PlaceFlags& flags) {
  std::vector<std::string> words = {"/proc/self/exe", "wait", name, "--on", flags.where};
  if (!flags.context.empty()) words.insert(words.end(), {"--context", flags.context});
  if (!flags.name_space.empty()) words.insert(words.end(), {"--namespace", flags.name_space});
  return words;
}

Result<FollowedJob> submit_and_follow(JobPlace& place, const JobSpec& job,
                                      const FollowOptions& options) {
  MR_TRY(place.submit(job));
  std::cerr << "millrace: submitted as '" << job.name << "'" << std::endl;
  return follow_job(place, job.name, options, Clock::real());
}

}  // namespace

void leave_company(const JobPlace& place, const std::string& name, const PlaceFlags& flags) {
  std::vector<std::string> words = words_of_company(name, flags);
  if (place.wants_company(name)) {
    const Result<pid_t> company = start_detached(words);
    if (company.ok())
      std::cerr << "millrace: process " << *company
                << " stays here to have the logs and the outputs of '" << name << "' at its end\n";
    else
      std::cerr << "millrace: " << company.status().message() << "; millrace wait " << name
                << " --on " << flags.where << " has to run when it ends, to have its logs\n";
  }
  const std::optional<std::string> why = place.wants_looks(name);
  if (!why) return;
  words.emplace_back("--running");
  const Result<pid_t> company = start_detached(words);
  if (why->empty() && company.ok()) return;
  std::cerr << "millrace: '" << name << "' has not begun yet";
  if (!why->empty()) std::cerr << ": " << *why;
  if (company.ok())
    std::cerr << "; process " << *company << " stays here until it has";
  else
    std::cerr << "; " << company.status().message();
  std::cerr << "; whoever asks about jobs there lets it begin, too\n";
}

void add_place_details(CLI::App& verb, PlaceFlags& flags) {
  verb.add_option("--context", flags.context,
                  "Kubernetes: which of kubectl's contexts (the current)")
      ->type_name("NAME");
  verb.add_option("--namespace", flags.name_space, "Kubernetes: which namespace (the context's)")
      ->type_name("NAME");
}

void add_place_flags(CLI::App& verb, PlaceFlags& flags) {
  verb.add_option("--on", flags.where, str_cat("Where the job is: ", place_names()))
      ->type_name("PLACE");
  add_place_details(verb, flags);
}

void add_submit_flags(CLI::App& verb, SubmitFlags& flags) {
  verb.add_option("--name", flags.name, "With --on: what the job is called (the file's name)")
      ->type_name("NAME");
  verb.add_option("--image", flags.image, "With --on k8s: the container's image")
      ->type_name("IMAGE");
  verb.add_option(
          "--patience", flags.patience,
          "With --on: how long tasks may be unable to start, in a way that waiting does not "
          "help, before the job is given up (1m)")
      ->type_name("DURATION");
  add_place_details(verb, flags.place);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string scratch_base() {
  if (!variable(kScratchVariable).empty()) return variable(kScratchVariable);
  // In a container of YARN: folders of the application's, which go with it.
  if (!variable("CONTAINER_ID").empty() && !variable("LOCAL_DIRS").empty())
    return variable("LOCAL_DIRS").substr(0, variable("LOCAL_DIRS").find(','));
  if (!variable("TMPDIR").empty()) return variable("TMPDIR");
  return "/tmp";
}

Result<std::string> own_program() {
  std::error_code fault;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault) return failed_precondition("where this program lies can't be read: ", fault.message());
  return program.string();
}

bool is_place(std::string_view name) {
  return std::ranges::find(kJobPlaces, name, &KnownPlace::name) != std::end(kJobPlaces);
}

std::string place_names() {
  std::string names;
  for (const KnownPlace& place : kJobPlaces)
    str_append(&names, names.empty() ? "" : ", ", place.name);
  return names;
}

Result<std::unique_ptr<JobPlace>> place_of(const PlaceFlags& flags, Random& random,
                                           const Clock& clock) {
  for (const KnownPlace& place : kJobPlaces)
    if (place.name == flags.where) return place.make(flags, random, clock);
  if (flags.where.empty()) return invalid("say where the job is: --on ", place_names());
  return invalid("--on ", flags.where, ": jobs are kept by ", place_names());
}

Result<TaskSight> running_task(const JobSight& job, const std::string& name) {
  const auto task = std::ranges::find(job.tasks, name, &TaskSight::name);
  if (task == job.tasks.end()) {
    std::string names;
    for (const TaskSight& known : job.tasks)
      if (names.size() < 200) str_append(&names, names.empty() ? "" : ", ", known.name);
    return not_found("job '", job.name, "' has no task '", name.substr(0, 80),
                     "'; there are: ", names);
  }
  if (task->stage == TaskStage::running) return *task;
  return failed_precondition(name,
                             task->stage == TaskStage::ended ? " has ended" : " does not run yet",
                             task->text.empty() ? "" : ": ", task->text);
}

JobSpec submitted_job(JobSpec job, const SubmitFlags& flags, Random& random) {
  if (!flags.name.empty()) job.name = flags.name;
  if (!flags.image.empty()) job.image = flags.image;
  if (job.name.empty()) job.name = str_cat("job-", random.next() % 1'000'000);
  // Where it is submitted, also when it is run once more from elsewhere.
  std::error_code ignored;
  if (has_task_folders(job))
    job.output_dir =
        std::filesystem::absolute(job.output_dir.empty() ? kOutputs : job.output_dir, ignored);
  return job;
}

int run_there(const JobSpec& job, const PlaceFlags& where, const SubmitFlags& flags,
              const std::string& log_directory) {
  const auto random = make_random();
  const auto place = place_of(where, *random, Clock::real());
  if (!place.ok()) return complain("run", place.status());
  const auto patience = parse_duration(flags.patience);
  if (!patience.ok()) return complain("run", patience.status().with("--patience"));
  const Result<FollowedJob> followed = submit_and_follow(
      **place, submitted_job(job, flags, *random),
      {.log_directory = log_directory, .part = FollowOptions::Part::owner, .patience = *patience});
  if (!followed.ok()) return complain("run", followed.status());
  std::cout << render(followed->sight.report) << std::flush;
  return code_with_outputs("run", **place, *followed);
}

int code_with_outputs(std::string_view verb, JobPlace& place, const FollowedJob& followed) {
  const int code = exit_code(followed.sight);
  if (followed.why != FollowedJob::Why::over) return code;
  const Result<std::string> brought = place.bring_outputs(followed.sight.name);
  // One that could not come to run is gone already.
  if (brought.status().code() == Code::not_found) return code;
  if (brought.ok() && !brought->empty()) std::cerr << "millrace: " << *brought << std::endl;
  if (brought.ok() || code != kDone) {
    if (!brought.ok()) complain(verb, brought.status());
    return code;
  }
  return complain(verb, brought.status());
}

}  // namespace millrace
