#include "millrace/launch/job_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestWords = 400;
constexpr std::streamoff kTail = 4096;

std::string submission_in(const std::string& folder) { return folder + "/submission"; }

std::optional<std::string> whole_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) return {};
  return text.str();
}

Submission parse_submission(const std::string& text) {
  Submission submission;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return submission;
  if (json.contains("submitted") && json["submitted"].is_number_integer())
    submission.micros = json["submitted"].get<int64_t>();
  if (json.contains("number") && json["number"].is_string())
    submission.number = json["number"].get<std::string>();
  return submission;
}

}  // namespace

Status write_whole_text(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0)
    return unavailable("can't write '", path, "': ", strerror(errno));
  return {};
}

std::string journal_in(const std::string& folder, int life) {
  return str_cat(folder, "/journal", life > 1 ? str_cat(".", life) : std::string());
}
std::string wishes_in(const std::string& folder) { return folder + "/wishes"; }
std::string roster_in(const std::string& folder) { return folder + "/roster"; }
std::string logs_in(const std::string& folder) { return folder + "/logs"; }
std::string job_file_in(const std::string& folder) { return folder + "/job.yaml"; }
std::string launcher_log_in(const std::string& folder) { return folder + "/launcher.log"; }

std::string JobFolders::folder_of(const std::string& name) const { return path_ + "/" + name; }

Result<KeptJob> JobFolders::make(const JobSpec& job, int64_t now_micros) const {
  std::error_code fault;
  std::filesystem::create_directories(path_, fault);
  if (fault) return unavailable("can't make the folder '", path_, "': ", fault.message());
  KeptJob kept{.folder = folder_of(job.name), .job = job, .submission = {.micros = now_micros}};
  // Its tasks' environment may hold what others should not read.
  if (mkdir(kept.folder.c_str(), 0700) != 0) {
    if (errno == EEXIST)
      return error(Code::already_exists, "there is a job '", job.name,
                   "' already: choose another name, or remove that with millrace stop ", job.name,
                   " (its folder is ", kept.folder, ")");
    return unavailable("can't make the folder '", kept.folder, "': ", strerror(errno));
  }
  // Others find the job by its file, and then tell its age.
  Status written = write_submission(kept);
  if (written.ok()) written = write_whole_text(job_file_in(kept.folder), to_job_file(job));
  if (written.ok()) return kept;
  (void)remove_folder(kept.folder);
  return written;
}

Result<KeptJob> JobFolders::find(const std::string& name) const {
  KeptJob kept{.folder = folder_of(name)};
  std::error_code ignored;
  if (!is_submitted_name(name) || !std::filesystem::is_directory(kept.folder, ignored))
    return not_found("there is no job '", name, "'; millrace list shows those that there are");
  const std::string path = job_file_in(kept.folder);
  const std::optional<std::string> text = whole_text(path);
  if (!text)
    return error(Code::data_loss, "job '", name, "' can't be read: there is no '", path,
                 "'; its submission may have been cut off: remove the folder");
  MR_ASSIGN(kept.job, parse_job_file(*text, path));
  kept.job.name = name;
  if (const auto submission = whole_text(submission_in(kept.folder)))
    kept.submission = parse_submission(*submission);
  return kept;
}

Result<std::vector<std::string>> JobFolders::names() const {
  std::vector<std::string> names;
  std::error_code fault;
  if (!std::filesystem::exists(path_, fault)) return names;
  for (auto it = std::filesystem::directory_iterator(path_, fault);
       !fault && it != std::filesystem::directory_iterator(); it.increment(fault)) {
    const std::string name = it->path().filename().string();
    if (is_submitted_name(name)) names.push_back(name);
  }
  if (fault) return unavailable("can't read the folder '", path_, "': ", fault.message());
  std::ranges::sort(names);
  return names;
}

Status write_submission(const KeptJob& job) {
  Json json = {{"submitted", job.submission.micros}};
  if (!job.submission.number.empty()) json["number"] = job.submission.number;
  return write_whole_text(submission_in(job.folder), json.dump() + "\n");
}

Journal read_journal(const KeptJob& job) {
  Journal last;
  for (int life = 1;; ++life) {
    const std::optional<std::string> text = whole_text(journal_in(job.folder, life));
    if (!text) return last;
    Journal journal = parse_journal(*text, supervised_tasks(job.job).size());
    // One that is just being made tells nothing yet.
    if (!journal.start) return last;
    last = std::move(journal);
  }
}

int64_t size_of_journals(const std::string& folder) {
  int64_t size = 0;
  for (int life = 1;; ++life) {
    // To open it asks for what other machines have written.
    std::ifstream file(journal_in(folder, life), std::ios::binary | std::ios::ate);
    if (!file.is_open()) return size;
    size += file.tellg();
  }
}

std::string last_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file.is_open()) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string last_words(const KeptJob& job) {
  std::istringstream text(last_text(launcher_log_in(job.folder)));
  std::string last;
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) last = line;
  return last.substr(0, kLongestWords);
}

Status remove_folder(const std::string& folder) {
  std::error_code fault;
  std::filesystem::remove_all(folder, fault);
  if (fault) return unavailable("can't remove '", folder, "': ", fault.message());
  return {};
}

}  // namespace millrace
