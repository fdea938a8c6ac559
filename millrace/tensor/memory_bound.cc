#include "millrace/tensor/memory_bound.h"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::optional<size_t> number(std::string_view text) {
  size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

void take(MemoryBound& bound, size_t bytes, std::string source) {
  if (bytes >= bound.bytes) return;
  bound = {bytes, std::move(source)};
}

void take_machine(MemoryBound& bound, const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string name, kilobytes, rest;
  while (file >> name >> kilobytes && std::getline(file, rest)) {
    if (name != "MemTotal:") continue;
    if (const auto total = number(kilobytes))
      take(bound, *total * 1024, "the machine's memory (MemTotal of /proc/meminfo)");
    return;
  }
}

// The limits of a group and of all that it is in. "max" is no number, and none.
void take_group(MemoryBound& bound, const fs::path& root, const fs::path& hierarchy, fs::path group,
                const char* limit) {
  group = group.relative_path();
  while (true) {
    const fs::path file = hierarchy / group / limit;
    std::string text;
    std::ifstream(root / file.relative_path()) >> text;
    if (const auto bytes = number(text))
      take(bound, *bytes, str_cat("its control group (", file.string(), ")"));
    if (group.empty()) return;
    group = group.parent_path();
  }
}

// Lines of /proc/self/cgroup: "<number>:<controllers>:<path>"; version 2 has no controllers.
void take_groups(MemoryBound& bound, const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      take_group(bound, root, "/sys/fs/cgroup", group, "memory.max");
    } else if (controllers.find(",memory,") != std::string::npos) {
      take_group(bound, root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
  }
}

}  // namespace

MemoryBound MemoryBound::read(const fs::path& root, size_t address_space) {
  MemoryBound bound;
  take_machine(bound, root);
  take_groups(bound, root);
  take(bound, address_space, "its limit of address space (ulimit -v)");
  return bound;
}

MemoryBound MemoryBound::of_process() {
  rlimit space{};
  const bool is_known = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  return read("/", is_known ? static_cast<size_t>(space.rlim_cur) : kNone);
}

}  // namespace millrace
