#include "millrace/tensor/memory_bound.h"

#include <fstream>

#include <doctest/doctest.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNone = MemoryBound::kNone;

// A machine of 2 MiB, and files that tests put beside that.
struct Machine {
  fs::path root;
  Machine() {
    std::string name = (fs::temp_directory_path() / "machine-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
    file("proc/meminfo", "MemTotal:        2048 kB\nMemFree:          100 kB\n");
  }
  ~Machine() { fs::remove_all(root); }
  void file(const fs::path& path, std::string_view text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  MemoryBound bound(size_t address_space = kNone) { return MemoryBound::read(root, address_space); }
};

TEST_CASE("a process without limits may have the machine's memory") {
  Machine machine;
  CHECK(machine.bound().bytes == 2048 * 1024);
  CHECK(machine.bound().source == "the machine's memory (MemTotal of /proc/meminfo)");
}

TEST_CASE("the smallest limit of the groups that a process is in counts, and is named") {
  Machine machine;
  machine.file("proc/self/cgroup", "0::/pod/app\n");
  machine.file("sys/fs/cgroup/pod/app/memory.max", "max\n");
  CHECK(machine.bound().bytes == 2048 * 1024);
  machine.file("sys/fs/cgroup/pod/memory.max", "4096\n");
  machine.file("sys/fs/cgroup/memory.max", "8192\n");
  CHECK(machine.bound().bytes == 4096);
  CHECK(machine.bound().source == "its control group (/sys/fs/cgroup/pod/memory.max)");
}

TEST_CASE(
    "groups of version 1 are known by their controller, and seen from inside of a container") {
  Machine machine;
  machine.file("proc/self/cgroup", "5:cpu,memory:/docker/abc\n4:pids:/\n");
  machine.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
  CHECK(machine.bound().bytes == 9000);
  machine.file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.bound().bytes == 9000);
}

TEST_CASE("a limit of address space counts if it is the smallest") {
  Machine machine;
  CHECK(machine.bound(5000).bytes == 5000);
  CHECK(machine.bound(5000).source == "its limit of address space (ulimit -v)");
  CHECK(machine.bound(size_t{1} << 40).bytes == 2048 * 1024);
}

TEST_CASE("what can't be read bounds nothing") {
  CHECK(MemoryBound::read("/no/such/folder", kNone).bytes == kNone);
  Machine machine;
  machine.file("proc/self/cgroup", "nonsense\n0:\n:::\n0::relative\n");
  machine.file("proc/meminfo", "MemTotal: many kB\n");
  CHECK(machine.bound().bytes == kNone);
}

TEST_CASE("this process has a bound") { CHECK(MemoryBound::of_process().bytes < kNone); }

}  // namespace
}  // namespace millrace
