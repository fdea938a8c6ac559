#include "millrace/launch/local_oom.h"

#include <fstream>
#include <string>

namespace millrace {
namespace {

// "/sys/fs/cgroup/user.slice/…" of the unified hierarchy; empty without it.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  return "";
}

}  // namespace

std::optional<int64_t> memory_kills_in(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  int64_t count = 0;
  while (file >> name >> count)
    if (name == "oom_kill") return count;
  return {};
}

int64_t count_out_of_memory_kills() {
  std::string group = own_group();
  std::optional<int64_t> count;
  if (!group.empty()) count = memory_kills_in(group + "/memory.events");
  if (!count) count = memory_kills_in("/proc/vmstat");
  return count.value_or(0);
}

}  // namespace millrace
