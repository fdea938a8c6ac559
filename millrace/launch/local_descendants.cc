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

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return found;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(processes)) {
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + strlen(entry->d_name), pid);
    if (pid > 0 && parent_of(entry->d_name) == self) found.push_back(pid);
  }
  closedir(processes);
  return found;
}

}  // namespace

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
