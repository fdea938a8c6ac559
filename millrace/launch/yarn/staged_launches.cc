#include "millrace/launch/yarn/staged_launches.h"

#include <filesystem>
#include <fstream>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/shipping/packed_outputs.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/program_bundle.h"
#include "millrace/launch/yarn/application.h"
#include "millrace/launch/yarn/staged_copy.h"

namespace millrace {
namespace {

// The names of what was had of YARN, a line each.
std::string had_elsewhere_in(const std::string& folder) { return folder + "/had_of_yarn"; }

}  // namespace

bool StagedLaunches::is_staged(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(staged_in(folder), ignored);
}

Result<HdfsStaging*> StagedLaunches::staging() {
  if (staging_ == nullptr) {
    MR_ASSIGN(staging_, HdfsStaging::create(options_.environment, clock_, random_));
  }
  return staging_.get();
}

Result<StagedLaunch> StagedLaunches::send(const KeptJob& job) {
  if (is_by_submitter(job.job)) return serve(job);
  const std::string folder = staged_folder_of(job.job, job.submission.number);
  MR_ASSIGN(HdfsStaging * hdfs, staging());
  MR_TRY(hdfs->make_folder(folder).with("staging"));
  Result<StagedLaunch> launch = send_to(job, folder);
  if (launch.ok()) return launch;
  cancel_token(folder);
  const Status removed = hdfs->remove_folder(folder);
  if (removed.ok()) return launch;
  return launch.status().then(str_cat("; ", folder, " could not be removed: ", removed.message()));
}

Result<StagedLaunch> StagedLaunches::send_to(const KeptJob& job, const std::string& folder) {
  std::optional<HadoopToken> token;
  if (options_.tokens) {
    MR_ASSIGN(token, staging_->get_token(folder, *options_.tokens).with("staging"));
    if (token) tokens_[folder] = *token;
  }
  StagedLaunch launch{.job = {.folder = folder, .token = str_cat(random_.next(), random_.next())}};
  BundleOptions bundle{.programs = {options_.program},
                       .libraries = loaded_curl(),
                       .archive = job.folder + "/programs.tar"};
  for (const std::string& file : job.job.files) {
    MR_ASSIGN(const std::string path, find_file(file, options_.directory, options_.search));
    if (is_program(path)) {
      bundle.programs.push_back(path);
      continue;
    }
    LocalResource resource = staged_file(folder, path);
    MR_TRY(staging_->put(path, resource));
    launch.job.resources.push_back(std::move(resource));
  }
  MR_TRY(make_program_bundle(bundle, clock_));
  LocalResource programs = staged_programs(folder);
  const Status put = staging_->put(bundle.archive, programs);
  std::error_code ignored;
  std::filesystem::remove(bundle.archive, ignored);
  MR_TRY(put);
  launch.job.resources.push_back(std::move(programs));
  launch.token = std::move(token);
  // With this, it is one whose machines share no folder.
  MR_TRY(write_whole_text(staged_in(job.folder), to_text(launch.job)));
  launch.resources = staged_for_launcher(folder);
  launch.resources[0] = launch.job.resources.back();
  for (LocalResource& resource : launch.resources) {
    if (resource.size > 0) continue;
    const std::string name = resource.url.substr(folder.size() + 1);
    // Of racks there are none, where nobody needs them.
    const std::string path = str_cat(job.folder, "/", name);
    std::error_code none;
    MR_TRY(std::filesystem::exists(path, none) ? staging_->put(path, resource)
                                               : staging_->put_text("", resource));
  }
  const std::string secrets = secrets_in(job.folder);
  std::error_code none;
  if (!std::filesystem::exists(secrets, none)) return launch;
  launch.resources.push_back(
      {.name = str_cat("job/", kSecretsFile), .url = str_cat(folder, "/", kSecretsFile)});
  MR_TRY(staging_->put(secrets, launch.resources.back()));
  remove_secrets(job.folder);
  return launch;
}

Status StagedLaunches::bring(const KeptJob& job, Launcher launcher, const std::string& at) {
  if (!is_staged(job.folder) || launcher == Launcher::pending) return {};
  MR_ASSIGN(const StagedJob staged, read_staged(job.folder));
  const CopyLock lock(staged_in(job.folder));
  const std::vector<std::string> names = names_of(job);
  const bool has_hdfs = door_of(staged).empty();
  if (launcher == Launcher::over)
    return has_hdfs ? bring_kept(staged, job.folder, names) : Status();
  MR_TRY(client_.bring({at, staged.token}, job.folder, names));
  return has_hdfs ? Status() : take(job, staged, at);
}

std::vector<std::string> StagedLaunches::names_of(const KeptJob& job) const {
  std::vector<std::string> names = {"journal", "launcher.log"};
  const auto logs = wanted_.find(job.folder);
  if (logs != wanted_.end()) names.insert(names.end(), logs->second.begin(), logs->second.end());
  return names;
}

std::vector<std::string> StagedLaunches::missing(const KeptJob& job) const {
  const bool has_left_all =
      is_by_submitter(job.job) ? !is_lost(job.folder) : read_journal(job).is_over();
  if (!is_staged(job.folder) || has_left_all) return {};
  std::set<std::string> had;
  std::ifstream lines(had_elsewhere_in(job.folder));
  for (std::string name; std::getline(lines, name);) had.insert(name);
  std::vector<std::string> names = names_of(job);
  std::erase_if(names, [&](const std::string& name) { return had.contains(name); });
  return names;
}

void StagedLaunches::had_elsewhere(const KeptJob& job,
                                   const std::vector<std::string>& names) const {
  std::ofstream lines(had_elsewhere_in(job.folder), std::ios::app);
  for (const std::string& name : names) lines << name << "\n";
}

Result<Files*> StagedLaunches::files_at(const std::string& path) {
  if (path.starts_with("/")) return &local_;
  for (const std::string_view scheme : {"hdfs://", "webhdfs://", "swebhdfs://"})
    if (path.starts_with(scheme)) {
      MR_ASSIGN(HdfsStaging * hdfs, staging());
      return &hdfs->files();
    }
  return error(Code::unimplemented, "'", path, "' is in no file system that is known");
}

Status StagedLaunches::bring_kept(const StagedJob& staged, const std::string& folder,
                                  const std::vector<std::string>& names) {
  MR_ASSIGN(HdfsStaging * hdfs, staging());
  std::error_code ignored;
  std::filesystem::create_directories(logs_in(folder), ignored);
  for (const std::string& name : names) {
    const Status had = hdfs->fetch(str_cat(staged.folder, "/", kKeptFolder, "/", name),
                                   str_cat(folder, "/", name));
    // A launcher that was killed has left nothing there.
    if (!had.ok() && had.code() != Code::not_found) return had;
  }
  return {};
}

Result<std::string> StagedLaunches::bring_outputs(const KeptJob& job) {
  if (!is_staged(job.folder)) return std::string();
  if (is_by_submitter(job.job)) return taken_outputs(job);
  if (!has_task_folders(launcher_ships(job.job))) return std::string();
  MR_ASSIGN(const StagedJob staged, read_staged(job.folder));
  const CopyLock lock(staged_in(job.folder));
  std::error_code ignored;
  const std::string done = str_cat(job.folder, "/", kBroughtFile);
  if (std::filesystem::exists(done, ignored)) return std::string();
  const std::string list = str_cat(job.folder, "/", kPacksList);
  MR_TRY(bring_kept(staged, job.folder, {kPacksList}));
  if (!std::filesystem::exists(list, ignored))
    return error(Code::data_loss,
                 "outputs: its launcher has left none, as one that is killed; launcher.log in ",
                 job.folder, " may tell more");
  MR_ASSIGN(const std::string text, text_in(list));
  MR_ASSIGN(const std::vector<PackedOutputs> packed, parse_packed(text));
  MR_TRY(put_outputs(job, packed, [&](const std::string& name) {
    return bring_kept(staged, job.folder, {name});
  }));
  MR_TRY(write_whole_text(done, ""));
  return outputs_text(job.job, packed.size());
}

Status StagedLaunches::put_outputs(
    const KeptJob& job, const std::vector<PackedOutputs>& packed,
    const std::function<Status(const std::string& name)>& bring_pack) {
  std::error_code ignored;
  std::filesystem::create_directories(str_cat(job.folder, "/", kPacksFolder), ignored);
  for (const PackedOutputs& one : packed) {
    const std::string name = str_cat(kPacksFolder, "/", one.name);
    const std::string path = str_cat(job.folder, "/", name);
    MR_TRY(bring_pack(name).with("outputs"));
    const Status there = unpack_outputs(path, one, job.job.output_dir);
    std::filesystem::remove(path, ignored);
    MR_TRY(there.with("outputs"));
  }
  return {};
}

std::optional<KeptJob> StagedLaunches::want(const std::string& log) {
  const std::filesystem::path path(log);
  const std::filesystem::path folder = path.parent_path().parent_path();
  const JobFolders folders(folder.parent_path().string());
  Result<KeptJob> job = folders.find(folder.filename().string());
  if (!job.ok() || !is_staged(job->folder)) return {};
  wanted_[job->folder].insert(str_cat("logs/", path.filename().string()));
  return *std::move(job);
}

Status StagedLaunches::wish(const KeptJob& job, std::string_view line, const std::string& at) {
  MR_ASSIGN(const StagedJob staged, read_staged(job.folder));
  const Status said = client_.wish({at, staged.token}, line);
  if (said.code() != Code::not_found) return said;
  return failed_precondition(
      "its launcher heeds no wishes: no role of the job has min or max, or it has just begun");
}

Status StagedLaunches::remove(const KeptJob& job) {
  if (is_by_submitter(job.job)) stop_serving();
  if (!is_staged(job.folder) || is_by_submitter(job.job)) return {};
  MR_ASSIGN(const StagedJob staged, read_staged(job.folder));
  MR_ASSIGN(HdfsStaging * hdfs, staging());
  cancel_token(staged.folder);
  return hdfs->remove_folder(staged.folder);
}

void StagedLaunches::cancel_token(const std::string& folder) {
  const auto token = tokens_.find(folder);
  if (token == tokens_.end()) return;
  (void)staging_->cancel_token(folder, token->second);
  tokens_.erase(token);
}

}  // namespace millrace
