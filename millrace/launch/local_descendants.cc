#include "millrace/launch/local_descendants.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace millrace {
namespace {

// The parent, from "pid (any name) S ppid …"; 0 if the process is gone.
pid_t parent_of(const char* pid) {
  std::ifstream file(std::string("/proc/") + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= line.size()) return 0;
  pid_t parent = 0;
  std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
  return parent;
}

// Every process, with its parent.
std::vector<std::pair<pid_t, pid_t>> processes() {
  std::vector<std::pair<pid_t, pid_t>> found;
  DIR* entries = opendir("/proc");
  if (entries == nullptr) return found;
  while (const dirent* entry = readdir(entries)) {
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + strlen(entry->d_name), pid);
    if (pid > 0) found.emplace_back(pid, parent_of(entry->d_name));
  }
  closedir(entries);
  return found;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const pid_t self = getpid();
  for (const auto& [pid, parent] : processes())
    if (parent == self) found.push_back(pid);
  return found;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t ancestor) {
  const auto all = processes();
  std::vector<pid_t> found = {ancestor};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : all)
      if (parent == found[i] && std::ranges::find(found, pid) == found.end()) found.push_back(pid);
  }
  found.erase(found.begin());
  return found;
}

void kill_children() {
  for (pid_t child : children()) kill(child, SIGKILL);
}

size_t end_children_except(const std::vector<pid_t>& kept) {
  size_t ended = 0;
  for (pid_t child : children()) {
    if (std::ranges::find(kept, child) != kept.end()) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, WNOHANG);
    ++ended;
  }
  return ended;
}

}  // namespace millrace
