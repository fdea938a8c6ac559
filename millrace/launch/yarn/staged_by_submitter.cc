// Part of staged_launches.h: jobs without HDFS, whose files are served from here until the launcher
// has them, and whose launcher is asked for what it leaves while it stays for that.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/program_bundle.h"
#include "millrace/launch/yarn/application.h"
#include "millrace/launch/yarn/folder_server.h"
#include "millrace/launch/yarn/staged_copy.h"
#include "millrace/launch/yarn/staged_launches.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kSentForOwner = 0700;
// From the journal's end on, for a launcher to pack what it leaves.
constexpr std::chrono::seconds kToBePacked{600};

std::string sent_in(const std::string& folder) { return str_cat(folder, "/", kSentFolder); }
std::string brought_in(const std::string& folder) { return str_cat(folder, "/", kBroughtFile); }

// The path is served under the name.
Status link_as(const std::string& path, const std::string& name) {
  std::error_code fault;
  fs::create_symlink(fs::absolute(path, fault), name, fault);
  return fault ? unavailable("can't write '", name, "': ", fault.message()) : Status();
}

}  // namespace

Result<StagedLaunch> StagedLaunches::serve(const KeptJob& job) {
  if (options_.host.empty())
    return failed_precondition(
        "staging: by which address the cluster's machines reach this one can't be found; set "
        "MILLRACE_HOST to it");
  const std::string sent = sent_in(job.folder);
  if (mkdir(sent.c_str(), kSentForOwner) != 0 ||
      mkdir((sent + "/files").c_str(), kSentForOwner) != 0)
    return unavailable("can't make the folder '", sent, "': ", std::strerror(errno));
  const std::string door = new_secret(random_);
  // Nobody asks here by the token, so nobody has this one.
  MR_ASSIGN(FolderServer server,
            FolderServer::listen(
                {.folder = sent, .token = new_secret(random_), .door = door, .sent = sent}));
  const std::string address = HostPort{options_.host, server.port()}.to_string();
  StagedLaunch launch{
      .job = {.folder = str_cat("http://", address, "/", door), .token = new_secret(random_)}};
  MR_TRY(link_sent(job, launch));
  MR_ASSIGN(server_, server.serve_beside());
  return launch;
}

Status StagedLaunches::link_sent(const KeptJob& job, StagedLaunch& launch) {
  const std::string sent = sent_in(job.folder);
  const std::string& url = launch.job.folder;
  auto name_of = [&](const LocalResource& it) { return str_cat(sent, it.url.substr(url.size())); };
  BundleOptions bundle{.programs = {options_.program},
                       .libraries = loaded_curl(),
                       .archive = sent + "/programs.tar"};
  for (const std::string& file : job.job.files) {
    MR_ASSIGN(const std::string path, find_file(file, options_.directory, options_.search));
    if (is_program(path)) {
      bundle.programs.push_back(path);
      continue;
    }
    launch.job.resources.push_back(numbered_file(url, path, launch.job.resources.size()));
    MR_TRY(link_as(path, name_of(launch.job.resources.back())));
  }
  MR_TRY(make_program_bundle(bundle, clock_));
  launch.job.resources.push_back(staged_programs(url));
  // With this, it is one whose machines share no folder.
  MR_TRY(write_whole_text(staged_in(job.folder), to_text(launch.job)));
  launch.resources = staged_for_launcher(url);
  std::error_code none;
  if (fs::exists(secrets_in(job.folder), none))
    launch.resources.push_back(
        {.name = str_cat("job/", kSecretsFile), .url = str_cat(url, "/", kSecretsFile)});
  for (const LocalResource& it : launch.resources) {
    const std::string name = name_of(it);
    if (fs::exists(name, none)) continue;
    const std::string path = str_cat(job.folder, it.url.substr(url.size()));
    // Of racks there are none, where nobody needs them.
    MR_TRY(fs::exists(path, none) ? link_as(path, name) : write_whole_text(name, ""));
  }
  const std::vector<LocalResource> passed = passed_on(launch.job.resources);
  launch.resources.insert(launch.resources.end(), passed.begin(), passed.end());
  return {};
}

void StagedLaunches::stop_serving() {
  if (server_ <= 0) return;
  kill(server_, SIGKILL);
  while (waitpid(server_, nullptr, 0) < 0 && errno == EINTR) continue;
  server_ = 0;
}

void StagedLaunches::forget_sent(const KeptJob& job) {
  stop_serving();
  std::error_code ignored;
  fs::remove_all(sent_in(job.folder), ignored);
  remove_secrets(job.folder);
}

Status StagedLaunches::take(const KeptJob& job, const StagedJob& staged, const std::string& at) {
  std::error_code none;
  if (!read_journal(job).is_over() || fs::exists(brought_in(job.folder), none)) return {};
  const FolderClient::Server server{at, staged.token};
  const Clock::Time until = clock_.now() + kToBePacked;
  for (;; pause(kBetweenLooks)) {
    const Status taken = take_all(job, server);
    if (taken.code() != Code::not_found || clock_.now() >= until) return taken;
  }
}

Status StagedLaunches::take_all(const KeptJob& job, const FolderClient::Server& server) {
  MR_ASSIGN(const std::string left, client_.read(server, kLeftFile));
  std::vector<std::string> names;
  std::istringstream lines(left);
  // No name leads elsewhere; packs are for later.
  for (std::string name; std::getline(lines, name);)
    if (may_read(name) && !name.starts_with(kPacksFolder)) names.push_back(name);
  names.emplace_back(kPacksList);
  MR_TRY(client_.bring(server, job.folder, names));
  MR_ASSIGN(const std::string list, text_in(str_cat(job.folder, "/", kPacksList)));
  MR_ASSIGN(const std::vector<PackedOutputs> packed, parse_packed(list));
  MR_TRY(put_outputs(job, packed, [&](const std::string& name) {
    return client_.bring(server, job.folder, {name});
  }));
  const bool has_outputs = has_task_folders(launcher_ships(job.job));
  MR_TRY(write_whole_text(brought_in(job.folder),
                          has_outputs ? outputs_text(job.job, packed.size()) : ""));
  // One that does not hear it goes a little later.
  (void)client_.taken(server);
  return {};
}

Result<std::string> StagedLaunches::taken_outputs(const KeptJob& job) {
  std::error_code none;
  const std::string brought = brought_in(job.folder);
  const bool has_outputs = has_task_folders(launcher_ships(job.job));
  if (!fs::exists(brought, none)) {
    if (!has_outputs) return std::string();
    return error(Code::data_loss,
                 "outputs: its launcher has ended before they were had from it; `millrace wait ",
                 job.job.name, " --on yarn` has to run when a job without HDFS ends");
  }
  MR_ASSIGN(std::string text, text_in(brought));
  if (!text.empty()) MR_TRY(write_whole_text(brought, ""));
  return text;
}

bool StagedLaunches::is_lost(const std::string& folder) {
  const Result<StagedJob> staged = read_staged(folder);
  std::error_code none;
  return staged.ok() && !door_of(*staged).empty() && !fs::exists(brought_in(folder), none);
}

}  // namespace millrace
