#include "millrace/launch/yarn/container_image.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// What separates the parts of mounts.
constexpr const char* kNoMount = ":,";

bool is_mountable(std::string_view path) {
  return path.starts_with("/") && path.find_first_of(kNoMount) == std::string_view::npos;
}

// Hadoop's container-executor says it there, and Docker through it; no program does.
constexpr std::string_view kExecutorSays = "Shell error output: ";
constexpr std::string_view kExecutorSaysNoMore = "\nShell output:";
constexpr std::string_view kDockerFails = "docker: ";
constexpr std::string_view kNotMade = "Error constructing docker command";
constexpr std::string_view kNotThere = "Unable to find image";
constexpr std::string_view kNotTrusted = " is not trusted.";

// The first line that has the words in it.
std::string_view line_with(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return "";
  const size_t begin = text.rfind('\n', at) + 1;  // 0 if it is the first
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

const std::string& container_image_of(const JobSpec& job, const RoleSpec& role) {
  return role.image.empty() ? job.image : role.image;
}

std::string mounts_of(const JobSpec& job) {
  std::string mounts;
  for (const auto& [where, which] : job.volumes)
    str_append(&mounts, mounts.empty() ? "" : ",", which, ":", where, ":rw");
  return mounts;
}

std::string with_folder(std::string mounts, std::string_view folder) {
  const std::string mount = str_cat(folder, ":", folder, ":rw");
  if (str_cat(",", mounts, ",").find(str_cat(",", mount, ",")) != std::string::npos) return mounts;
  str_append(&mounts, mounts.empty() ? "" : ",", mount);
  return mounts;
}

Status check_images(const JobSpec& job) {
  if (job.volumes.empty()) return {};
  for (const RoleSpec& role : job.roles)
    if (container_image_of(job, role).empty())
      return invalid("volumes: on YARN they appear in containers that have an image; a task of ",
                     role.name,
                     " has none, and sees the file systems of its machine: leave them "
                     "out, or say which image");
  for (const auto& [where, which] : job.volumes)
    if (!is_mountable(where) || !is_mountable(which))
      return invalid("volumes: '", where, ": ", which,
                     "': write the absolute path where it appears, and that of a folder of the "
                     "machines, without ':' and ','");
  return {};
}

std::string image_fault(std::string_view diagnostics) {
  const size_t begin = diagnostics.find(kExecutorSays);
  if (begin == std::string_view::npos) return "";
  std::string_view said = diagnostics.substr(begin + kExecutorSays.size());
  said = said.substr(0, said.find(kExecutorSaysNoMore));
  if (said.find(kNotMade) != std::string_view::npos) {
    const std::string_view first = said.substr(0, said.find('\n'));
    return str_cat("YARN's container-executor.cfg does not allow it: ", first);
  }
  const std::string whole = str_cat("\n", said);
  const size_t fails = whole.find(str_cat("\n", kDockerFails));
  if (fails == std::string::npos) return "";
  std::string_view why = std::string_view(whole).substr(fails + 1);
  why = why.substr(0, why.find('\n'));
  why.remove_prefix(kDockerFails.size());
  std::string words(line_with(said, kNotThere));
  str_append(&words, words.empty() ? "" : "; ", why);
  if (line_with(said, kNotTrusted).empty()) return words;
  return str_cat(words,
                 "; nor is it of docker.trusted.registries, which may see the job's folders");
}

std::vector<EnvironmentEntry> environment_of_image(const std::string& image,
                                                   const std::string& mounts) {
  if (image.empty()) return {};
  std::vector<EnvironmentEntry> environment = {{"YARN_CONTAINER_RUNTIME_TYPE", "docker"},
                                               {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", image}};
  if (!mounts.empty()) environment.emplace_back("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", mounts);
  return environment;
}

}  // namespace millrace
