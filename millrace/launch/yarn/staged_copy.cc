#include "millrace/launch/yarn/staged_copy.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/curl_library.h"

namespace millrace {
namespace {

// What a launcher is asked by, and HDFS; it is loaded by its name.
constexpr const char* kCurlLibrary = "/libcurl";

}  // namespace

CopyLock::CopyLock(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  while (file_.is_open() && flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) continue;
}

std::string staged_in(const std::string& folder) { return str_cat(folder, "/", kStagedFile); }

Result<std::string> text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad()) return unavailable("can't read '", path, "'");
  return text.str();
}

Result<StagedJob> read_staged(const std::string& folder) {
  MR_ASSIGN(const std::string text, text_in(staged_in(folder)));
  return parse_staged_job(text);
}

std::vector<std::string> loaded_curl() {
  (void)remote::curl_library();
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

std::string outputs_text(const JobSpec& job, size_t num_tasks) {
  return str_cat("outputs of ", num_tasks, num_tasks == 1 ? " task" : " tasks", " are in ",
                 job.output_dir);
}

}  // namespace millrace
