#include "millrace/launch/yarn/staged_launches.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "millrace/base/str_cat.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/shipping/packed_outputs.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/program_bundle.h"
#include "millrace/launch/yarn/application.h"

namespace millrace {
namespace {

// What HDFS is asked by, in the launcher's container as here; it is loaded by its name.
constexpr const char* kCurlLibrary = "/libcurl";

// Held while the copy of a launcher's folder is continued: others may look at the job, too.
class CopyLock {
 public:
  explicit CopyLock(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    while (file_.is_open() && flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) continue;
  }

 private:
  Descriptor file_;
};

// In the job's folder here: its outputs have been brought.
constexpr const char* kBroughtFile = "outputs.brought";

std::string staged_in(const std::string& folder) { return str_cat(folder, "/", kStagedFile); }

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) return unavailable("can't read '", path, "'");
  return text.str();
}

Result<StagedJob> read_staged(const std::string& folder) {
  MR_ASSIGN(const std::string text, text_of(staged_in(folder)));
  return parse_staged_job(text);
}

// That of this process, which has asked HDFS by now.
std::vector<std::string> loaded_curl() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(kCurlLibrary) != std::string::npos) {
      const std::string file = line.substr(path);
      return {file.substr(0, file.find(" (deleted)"))};
    }
  }
  return {};
}

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
  // The journal first: what it says was written is there.
  std::vector<std::string> names = {"journal", "launcher.log"};
  const auto& logs = wanted_[job.folder];
  names.insert(names.end(), logs.begin(), logs.end());
  if (launcher == Launcher::over) return bring_kept(staged, job.folder, names);
  return client_.bring({at, staged.token}, job.folder, names);
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
  if (!is_staged(job.folder) || !has_task_folders(launcher_ships(job.job))) return std::string();
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
  MR_ASSIGN(const std::string text, text_of(list));
  MR_ASSIGN(const std::vector<PackedOutputs> packed, parse_packed(text));
  std::filesystem::create_directories(str_cat(job.folder, "/", kPacksFolder), ignored);
  for (const PackedOutputs& one : packed) {
    const std::string name = str_cat(kPacksFolder, "/", one.name);
    const std::string path = str_cat(job.folder, "/", name);
    MR_TRY(bring_kept(staged, job.folder, {name}).with("outputs"));
    const Status there = unpack_outputs(path, one, job.job.output_dir);
    std::filesystem::remove(path, ignored);
    MR_TRY(there.with("outputs"));
  }
  MR_TRY(write_whole_text(done, ""));
  return str_cat("outputs of ", packed.size(), packed.size() == 1 ? " task" : " tasks", " are in ",
                 job.job.output_dir);
}

std::optional<KeptJob> StagedLaunches::want(const std::string& log) {
  const std::filesystem::path path(log);
  KeptJob job{.folder = path.parent_path().parent_path().string()};
  const Result<StagedJob> staged = read_staged(job.folder);
  if (!staged.ok()) return {};
  wanted_[job.folder].insert(str_cat("logs/", path.filename().string()));
  job.submission.number = std::filesystem::path(staged->folder).filename().string();
  return job;
}

Status StagedLaunches::wish(const KeptJob& job, std::string_view line, const std::string& at) {
  MR_ASSIGN(const StagedJob staged, read_staged(job.folder));
  const Status said = client_.wish({at, staged.token}, line);
  if (said.code() != Code::not_found) return said;
  return failed_precondition(
      "its launcher heeds no wishes: no role of the job has min or max, or it has just begun");
}

Status StagedLaunches::remove(const KeptJob& job) {
  if (!is_staged(job.folder)) return {};
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
