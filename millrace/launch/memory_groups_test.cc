// The files that limits are written to, in a folder that looks like the kernel's; that the kernel
// keeps them is seen by tests/launch/test_memory_limits.py.
#include "millrace/launch/memory_groups.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class Kernel {
 public:
  explicit Kernel(const std::string& own_groups) { put("proc/self/cgroup", own_groups); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  std::string text(const std::string& path) const {
    std::ifstream file(root() / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path root() const { return folder_.path(""); }

 private:
  testing::ScratchDirectory folder_;
};

TEST_CASE("a task's limit is that of a group below the launcher's, in version 1") {
  Kernel kernel("4:memory:/jobs/me\n1:cpu:/\n0::/\n");
  const std::string group = "sys/fs/cgroup/memory/jobs/me/millrace-7/map_1/";
  for (const char* file : {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"})
    kernel.put(group + file, "");
  auto groups = MemoryGroups::create(kernel.root(), 7);
  REQUIRE_MESSAGE(groups.ok(), groups.status().to_string());
  CHECK_FALSE(groups->has_killed("map_1"));
  CHECK(groups->make("map_1", 1000).value() == (kernel.root() / group / "cgroup.procs").string());
  CHECK(kernel.text(group + "memory.limit_in_bytes") == "1000");
  CHECK(kernel.text(group + "memory.memsw.limit_in_bytes") == "1000");

  kernel.put(group + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  CHECK(groups->has_killed("map_1"));
  CHECK_FALSE(groups->has_killed("map_1"));
}

TEST_CASE(
    "in version 2 the controller is given on, and a group that has too much ends as a whole") {
  Kernel kernel("0::/me\n");
  const std::string own = "sys/fs/cgroup/me/", group = own + "millrace-7/map_1/";
  kernel.put(own + "cgroup.controllers", "cpu memory pids");
  for (const std::string& file :
       {own + "cgroup.subtree_control", own + "millrace-7/cgroup.subtree_control",
        group + "memory.max", group + "memory.swap.max", group + "memory.oom.group"})
    kernel.put(file, "");
  auto groups = MemoryGroups::create(kernel.root(), 7);
  REQUIRE_MESSAGE(groups.ok(), groups.status().to_string());
  CHECK(kernel.text(own + "cgroup.subtree_control") == "+memory");
  REQUIRE(groups->make("map_1", 1000).ok());
  CHECK(kernel.text(group + "memory.max") == "1000");
  CHECK(kernel.text(group + "memory.swap.max") == "0");
  CHECK(kernel.text(group + "memory.oom.group") == "1");
  kernel.put(group + "memory.events", "low 0\noom 1\noom_kill 1\n");
  CHECK(groups->has_killed("map_1"));
}

TEST_CASE("what stands in the way is said") {
  Kernel none("");
  CHECK(MemoryGroups::create(none.root(), 7).status().message() ==
        "this system has no control groups");
  Kernel kept("0::/me\n");
  kept.put("sys/fs/cgroup/me/cgroup.controllers", "cpu pids");
  CHECK(MemoryGroups::create(kept.root(), 7)
            .status()
            .message()
            .ends_with("/me has no controller 'memory' to give away"));
  Kernel refused("4:memory:/gone\n");
  CHECK(MemoryGroups::create(refused.root(), 7)
            .status()
            .message()
            .ends_with("/gone/millrace-7: No such file or directory"));
}

}  // namespace
}  // namespace millrace
