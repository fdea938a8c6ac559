// MemoryGroups: limits for what tasks of this machine may have in memory, kept by the kernel's
// control groups (version 1 or 2) as far as this process may make some below its own.
//
//   <group of the launcher>/millrace-<its pid>/map_1    a task and all that it starts
//
// A group that takes more than it may loses a process to the kernel; of version 2 it loses all. The
// files are those of the kernel's documentation (admin-guide/cgroup-v1/memory, cgroup-v2). In
// version 2 a group with processes of its own can't limit those below it: the launcher goes into a
// group of its own then, `launcher`, beside those of the tasks. Single-threaded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "millrace/base/result.h"

namespace millrace {

class MemoryGroups {
 public:
  // `root`: where /proc and /sys are; `launcher`: the process that has them. Errors:
  // FAILED_PRECONDITION with what stands in the way.
  static Result<MemoryGroups> create(const std::string& root = "", pid_t launcher = 0);

  MemoryGroups(MemoryGroups&& other) noexcept;
  MemoryGroups& operator=(MemoryGroups&&) = delete;
  // Removes the groups in which nobody is any more.
  ~MemoryGroups();

  // The group of that name, in which all processes together may have so many bytes; what it had
  // before stays. The result is the file to which a process writes "0" to be in it. Errors: of the
  // system, with the file.
  Result<std::string> make(const std::string& name, int64_t bytes);
  // Whether the kernel has killed one of the group's processes for want of memory since this was
  // asked last. False for a group that was not made.
  bool has_killed(const std::string& name);

 private:
  enum class Version : uint8_t { one, two };
  MemoryGroups(Version version, std::string folder)
      : version_(version), folder_(std::move(folder)) {}
  static Result<MemoryGroups> create_of_two(const std::string& own, pid_t launcher);

  Version version_;
  std::string folder_;                    // empty: moved from
  std::map<std::string, int64_t> kills_;  // by the names of groups: how many are known
};

}  // namespace millrace
