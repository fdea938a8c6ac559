#include "millrace/launch/local_descendants.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

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

}  // namespace

void kill_children() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  pid_t self = getpid();
  while (const dirent* entry = readdir(processes)) {
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + strlen(entry->d_name), pid);
    if (pid > 0 && parent_of(entry->d_name) == self) kill(pid, SIGKILL);
  }
  closedir(processes);
}

}  // namespace millrace
