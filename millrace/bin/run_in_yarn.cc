#include "millrace/bin/run_in_yarn.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "millrace/base/random.h"
#include "millrace/bin/places.h"
#include "millrace/bin/shipping_here.h"
#include "millrace/bin/verbs.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/shipping/packed_outputs.h"
#include "millrace/launch/yarn/answers.h"
#include "millrace/launch/yarn/application.h"
#include "millrace/launch/yarn/folder_server.h"
#include "millrace/launch/yarn/hadoop_conf.h"
#include "millrace/launch/yarn/hdfs_staging.h"
#include "millrace/launch/yarn/local_master.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

// A launcher whose folder has no other place stays so long, beside the job's grace, for whoever
// takes what it leaves, from the last time on that somebody has asked for it.
constexpr std::chrono::seconds kStay{30};
constexpr std::chrono::minutes kMostStay{30};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What the tasks have made, as files that go on from here. Their names.
Result<std::vector<std::string>> packed_outputs(const std::string& folder) {
  const std::string packs = str_cat(folder, "/", kPacksFolder);
  MR_ASSIGN(const auto packed, pack_outputs(str_cat(folder, "/", kOutputs), packs));
  MR_TRY(write_whole_text(str_cat(folder, "/", kPacksList), to_text(packed)));
  std::vector<std::string> names;
  for (const PackedOutputs& one : packed) names.push_back(str_cat(kPacksFolder, "/", one.name));
  // What it says is there is there.
  names.emplace_back(kPacksList);
  return names;
}

// What else there is to look at afterwards.
std::vector<std::string> names_of_logs(const std::string& folder) {
  std::vector<std::string> names = {"journal", "launcher.log"};
  std::error_code fault;
  for (const auto& log : std::filesystem::directory_iterator(logs_in(folder), fault)) {
    // YARN has its own files there, too, and the launcher's.
    const std::string name = log.path().filename().string();
    if (name.ends_with(".log") && name != "launcher.log") names.push_back("logs/" + name);
  }
  return names;
}

// Where what the launcher has written is had when it has ended: nobody else sees its folder.
Status leave_in_hdfs(const std::string& folder, const StagedJob& staged,
                     const std::vector<std::string>& outputs, Random& random) {
  auto environment = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::optional<std::string>() : value;
  };
  MR_ASSIGN(const auto hdfs, HdfsStaging::create(environment, Clock::real(), random));
  const std::string kept = staged.folder + "/" + kKeptFolder;
  MR_TRY(hdfs->put_all(folder, names_of_logs(folder), kept).with("leaving the logs"));
  if (outputs.empty()) return {};
  return hdfs->put_all(folder, outputs, kept).with("leaving the outputs");
}

// Without HDFS it is had from here, by whoever comes in time.
Status leave_to_submitter(const JobSpec& job, const std::string& folder,
                          const std::vector<std::string>& outputs) {
  std::string left;
  for (const std::string& name : names_of_logs(folder)) str_append(&left, name, "\n");
  for (const std::string& name : outputs) str_append(&left, name, "\n");
  if (outputs.empty())
    MR_TRY(
        write_whole_text(str_cat(folder, "/", kPacksList), to_text(std::vector<PackedOutputs>())));
  MR_TRY(write_whole_text(str_cat(folder, "/", kLeftFile), left));
  const Clock& clock = Clock::real();
  const Clock::Time most = clock.now() + kMostStay;
  const std::chrono::milliseconds patience = job.grace + kStay;
  std::filesystem::file_time_type seen = {};
  Clock::Time until = clock.now() + patience;
  while (clock.now() < std::min(until, most)) {
    std::error_code none;
    if (std::filesystem::exists(str_cat(folder, "/", kTakenFile), none)) return {};
    const auto taking = std::filesystem::last_write_time(str_cat(folder, "/", kTakingFile), none);
    if (!none && taking != seen) {
      seen = taking;
      until = clock.now() + patience;
    }
    pause(kBetweenLooks);
  }
  return error(Code::deadline_exceeded, "nobody has taken the job's logs",
               outputs.empty() ? "" : " and outputs", " where it was submitted in the ",
               duration_text(patience), " that its launcher stays for that");
}

// The launcher's last act, where nobody else sees its folder.
Status leave(const JobSpec& job, const std::string& folder, const StagedJob& staged,
             Random& random) {
  Status fault;
  std::vector<std::string> outputs;
  if (has_task_folders(launcher_ships(job))) {
    auto packed = packed_outputs(folder);
    fault = packed.status().with("packing the outputs");
    if (packed.ok()) outputs = *std::move(packed);
  }
  const Status left = is_by_submitter(job) ? leave_to_submitter(job, folder, outputs)
                                           : leave_in_hdfs(folder, staged, outputs, random);
  return fault.ok() ? left : fault;
}

// Beside the launcher, where machines share no folder: who serves its folder.
struct YarnCompany {
  StagedJob staged = {};
  int port = -1;               // -1: nobody
  std::string served_at = {};  // "n1:40123"
};

Result<YarnCompany> serve_staged(const JobSpec& job, const std::string& folder,
                                 const std::string& known_as) {
  // Of who submitted it; then that one can have commands run beside tasks.
  const std::string token = variable(kTokenVariable);
  YarnCompany company{.staged = {.token = token.empty() ? new_secret(*make_random()) : token}};
  if (job.staging.empty()) return company;
  MR_ASSIGN(company.staged, parse_staged_job(text_of(folder + "/" + kStagedFile)));
  MR_ASSIGN(FolderServer server, FolderServer::listen({.folder = folder,
                                                       .token = company.staged.token,
                                                       .door = door_of(company.staged),
                                                       .sent = str_cat(folder, "/", kSentFolder)}));
  MR_TRY(server.serve_beside().status());
  company.port = server.port();
  company.served_at = HostPort{known_as, company.port}.to_string();
  // Who submitted it gives out nothing from now on.
  if (is_by_submitter(job)) company.staged.resources = served_by(company.staged, company.served_at);
  return company;
}

// What tasks get of the launcher, and bring it: where machines share no folder, YARN has filled
// theirs, and what they have made is collected in the launcher's.
Result<std::unique_ptr<FileServer>> ship_in_yarn(const JobSpec& job, const YarnReach& known,
                                                 const std::string& token, Reach& reach) {
  JobSpec shipped = launcher_ships(job);
  if (!job.staging.empty()) shipped.output_dir = str_cat(known.folder, "/", kOutputs);
  MR_ASSIGN(auto files, ship_along(shipped, token, reach));
  if (files != nullptr && !job.staging.empty()) reach.join_words.emplace_back("--in-place");
  return files;
}

// The launcher itself, below the application master.
LauncherEnd launch_in_yarn(const InYarn& flags, const JobSpec& job, const YarnReach& known,
                           const StagedJob& staged) {
  Reach reach = yarn_reach(job, known);
  const auto random = make_random();
  auto files = ship_in_yarn(job, known, staged.token, reach);
  if (!variable(kTokenVariable).empty()) reach.join_words.emplace_back("--guests");
  const Result<JobReport> report = files.ok()
                                       ? run_locally(job, {.log_directory = flags.log_directory,
                                                           .folder = known.folder,
                                                           .reach = &reach,
                                                           .token = staged.token,
                                                           .guest = files->get(),
                                                           .clock = Clock::real(),
                                                           .random = *random})
                                       : files.status();
  LauncherEnd end;
  if (report.ok()) {
    end = {.code = exit_code(*report), .sentence = sentence(*report)};
  } else {
    end = {.code = complain("run", report.status()), .sentence = report.status().message()};
  }
  if (job.staging.empty()) return end;
  const Status left = leave(job, known.folder, staged, *random);
  if (left.ok()) return end;
  complain("run", left);
  // Tasks whose outputs are lost have not succeeded.
  if (end.code == kDone && has_task_folders(launcher_ships(job)))
    end = {.code = 1, .sentence = left.message()};
  return end;
}

}  // namespace

int run_in_yarn(const JobSpec& job, const InYarn& flags) {
  if (flags.folder.empty())
    return complain("run", invalid("--on yarn-am: it goes with --folder, as submit has it done"));
  // By which the cluster knows this machine.
  const std::string node = variable("NM_HOST");
  const std::string known_as = node.empty() ? host_name() : node;
  const std::string folder = std::filesystem::absolute(flags.folder).string();
  Result<YarnCompany> company = serve_staged(job, folder, known_as);
  if (!company.ok()) return complain("run", company.status());
  auto launch = [&](const std::string& master) {
    return launch_in_yarn(flags, job,
                          {.folder = folder,
                           .master = master,
                           .known_as = known_as,
                           .racks = parse_racks(text_of(racks_in(folder))),
                           .served_at = company->served_at},
                          company->staged);
  };
  const auto random = make_random();
  const Result<int> code =
      run_application_master({.credentials_file = variable("HADOOP_TOKEN_FILE_LOCATION"),
                              .schedulers = parse_hadoop_list(variable(kSchedulersVariable)),
                              .host = known_as,
                              .port = company->port,
                              .resources = company->staged.resources,
                              .launch = launch,
                              .clock = Clock::real(),
                              .random = *random});
  return code.ok() ? *code : complain("run", code.status());
}

}  // namespace millrace
