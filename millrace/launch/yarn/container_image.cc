#include "millrace/launch/yarn/container_image.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// What separates the parts of mounts.
constexpr const char* kNoMount = ":,";

bool is_mountable(std::string_view path) {
  return path.starts_with("/") && path.find_first_of(kNoMount) == std::string_view::npos;
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

std::vector<EnvironmentEntry> environment_of_image(const std::string& image,
                                                   const std::string& mounts) {
  if (image.empty()) return {};
  std::vector<EnvironmentEntry> environment = {{"YARN_CONTAINER_RUNTIME_TYPE", "docker"},
                                               {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", image}};
  if (!mounts.empty()) environment.emplace_back("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", mounts);
  return environment;
}

}  // namespace millrace
