#include "millrace/launch/memory_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_oom.h"

namespace millrace {
namespace {

Status system_error(std::string_view what, const std::string& path) {
  return failed_precondition(what, " ", path, ": ", strerror(errno));
}

Status make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return system_error("can't make", path);
}

// Files of control groups take a value whole or not at all.
Status put(const std::string& path, const std::string& value) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error("can't open", path);
  if (write(file.number(), value.data(), value.size()) == static_cast<ssize_t>(value.size()))
    return {};
  return system_error("can't write to", path);
}

// Of this process: in the hierarchy that has the controller `memory`, and in the unified one.
struct Own {
  std::optional<std::string> of_memory, unified;
};
Own own_groups(const std::string& root) {
  Own own;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find(",memory,") != std::string::npos) own.of_memory = line.substr(second + 1);
    if (line.starts_with("0::")) own.unified = line.substr(second + 1);
  }
  return own;
}

bool has_word(const std::string& path, std::string_view wanted) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (word == wanted) return true;
  return false;
}

}  // namespace

Result<MemoryGroups> MemoryGroups::create(const std::string& root, pid_t launcher) {
  if (launcher == 0) launcher = getpid();
  const Own own = own_groups(root);
  if (own.of_memory) {
    const std::string folder =
        str_cat(root, "/sys/fs/cgroup/memory", *own.of_memory == "/" ? "" : *own.of_memory,
                "/millrace-", launcher);
    MR_TRY(make_folder(folder));
    return MemoryGroups(Version::one, folder);
  }
  if (!own.unified) return failed_precondition("this system has no control groups");
  return create_of_two(str_cat(root, "/sys/fs/cgroup", *own.unified == "/" ? "" : *own.unified),
                       launcher);
}

Result<MemoryGroups> MemoryGroups::create_of_two(const std::string& own, pid_t launcher) {
  if (!has_word(own + "/cgroup.controllers", "memory"))
    return failed_precondition(own, " has no controller 'memory' to give away");
  MemoryGroups made(Version::two, str_cat(own, "/millrace-", launcher));
  MR_TRY(make_folder(made.folder_));
  const std::string begin = own + "/cgroup.subtree_control";
  Status given = has_word(begin, "memory") ? Status() : put(begin, "+memory");
  if (!given.ok()) {
    // Processes are in it: this one, and nobody else if all is well.
    const std::string beside = own + "/launcher";
    MR_TRY(make_folder(beside));
    MR_TRY(put(beside + "/cgroup.procs", std::to_string(launcher)));
    given = put(begin, "+memory");
    if (!given.ok()) {
      if (put(own + "/cgroup.procs", std::to_string(launcher)).ok()) rmdir(beside.c_str());
      return given;
    }
  }
  MR_TRY(put(made.folder_ + "/cgroup.subtree_control", "+memory"));
  return made;
}

MemoryGroups::MemoryGroups(MemoryGroups&& other) noexcept
    : version_(other.version_),
      folder_(std::exchange(other.folder_, {})),
      kills_(std::move(other.kills_)) {}

MemoryGroups::~MemoryGroups() {
  if (folder_.empty()) return;
  for (const auto& [name, kills] : kills_) rmdir(str_cat(folder_, "/", name).c_str());
  rmdir(folder_.c_str());
}

Result<std::string> MemoryGroups::make(const std::string& name, int64_t bytes) {
  const std::string group = str_cat(folder_, "/", name);
  MR_TRY(make_folder(group));
  kills_.try_emplace(name);
  const std::string limit = std::to_string(bytes);
  if (version_ == Version::one) {
    MR_TRY(put(group + "/memory.limit_in_bytes", limit));
    // What is swapped out counts as well, where the kernel keeps count of it.
    static_cast<void>(put(group + "/memory.memsw.limit_in_bytes", limit));
  } else {
    MR_TRY(put(group + "/memory.max", limit));
    static_cast<void>(put(group + "/memory.swap.max", "0"));
    static_cast<void>(put(group + "/memory.oom.group", "1"));
  }
  return group + "/cgroup.procs";
}

bool MemoryGroups::has_killed(const std::string& name) {
  const auto known = kills_.find(name);
  if (known == kills_.end()) return false;
  const char* const file = version_ == Version::one ? "memory.oom_control" : "memory.events";
  const int64_t now = memory_kills_in(str_cat(folder_, "/", name, "/", file)).value_or(0);
  return std::exchange(known->second, now) < now;
}

}  // namespace millrace
