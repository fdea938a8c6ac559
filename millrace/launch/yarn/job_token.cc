#include "millrace/launch/yarn/job_token.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "millrace/base/str_cat.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

constexpr const char* kTokenFile = "token";
constexpr mode_t kTokenForOwner = 0600;

Result<std::string> text_of_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open() && errno == EACCES)
    return error(Code::permission_denied, "'", path, "' is somebody else's, who submitted the job");
  if (!file.is_open()) return not_found("there is no '", path, "'");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Result<std::string> make_token_of_job(const std::string& folder, Random& random) {
  std::string token = new_secret(random);
  const std::string path = str_cat(folder, "/", kTokenFile);
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kTokenForOwner));
  if (file.is_open() &&
      write(file.number(), token.data(), token.size()) == static_cast<ssize_t>(token.size()))
    return token;
  return unavailable("can't write '", path, "': ", std::strerror(errno));
}

Result<std::string> token_of_job(const std::string& folder) {
  Result<std::string> own = text_of_token_file(str_cat(folder, "/", kTokenFile));
  if (own.ok() || own.status().code() != Code::not_found) return own;
  const Result<std::string> staged = text_of_token_file(str_cat(folder, "/", kStagedFile));
  if (!staged.ok()) return own;
  MR_ASSIGN(StagedJob job, parse_staged_job(*staged));
  return std::move(job.token);
}

}  // namespace millrace
