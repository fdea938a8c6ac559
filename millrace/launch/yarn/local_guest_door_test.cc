// A door and its guests, over real sockets and with real processes: the task is a in_shell.
#include "millrace/launch/yarn/local_guest_door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_descendants.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/yarn/local_guest_visit.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kDoorTask = R"({"cluster":{"map":["a:1"]},"task":{"type":"map","index":0}})";

bool soon_so(const std::function<bool()>& is_so) {
  const Clock& clock = Clock::real();
  for (const Clock::Time until = clock.now() + seconds(20); clock.now() < until;
       pause(milliseconds(10)))
    if (is_so()) return true;
  return false;
}

bool process_lives(pid_t process) { return kill(process, 0) == 0; }

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The task map:0, which is `sh -c SCRIPT` in a folder of its own, with a door that was opened for
// the token "t".
class DoorTask {
 public:
  explicit DoorTask(const std::string& script) {
    std::array<char, 32> name = {"/tmp/guest-door-XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name.data();
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    process = fork();
    if (process == 0) become(script, ends[1]);
    close(ends[1]);
    REQUIRE(read(ends[0], &port, sizeof port) == sizeof port);
    close(ends[0]);
  }
  ~DoorTask() {
    end();
    std::filesystem::remove_all(folder);
  }
  DoorTask(const DoorTask&) = delete;
  DoorTask& operator=(const DoorTask&) = delete;

  void end() {
    if (process == 0) return;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    process = 0;
  }

  std::string folder;
  pid_t process = 0;
  int port = 0;

 private:
  [[noreturn]] void become(const std::string& script, int told_at) const {
    setenv("TF_CONFIG", kDoorTask, 1);
    setenv("COLOUR", "blue", 1);
    const auto random = make_random();
    Result<GuestDoor> door = GuestDoor::open();
    if (!door.ok() || chdir(folder.c_str()) != 0) _exit(1);
    const int port = door->port();
    if (!door->leave_behind(
                 {.token = "t", .task = "map:0", .clock = Clock::real(), .random = *random})
             .ok())
      _exit(1);
    if (write(told_at, &port, sizeof port) != sizeof port) _exit(1);
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(1);
  }
};

// Who visits, in a process of its own, as `millrace exec` is.
class DoorVisitor {
 public:
  DoorVisitor(const DoorTask& task, std::vector<std::string> command, const std::string& input = "",
              const std::string& token = "t", const std::string& name = "map:0")
      : folder_(task.folder) {
    std::ofstream(folder_ + "/in") << input;
    process = fork();
    if (process != 0) return;
    const auto put = [&](const char* file, int flags, int number) {
      dup2(open(str_cat(folder_, "/", file).c_str(), flags, 0600), number);
    };
    put("in", O_RDONLY, STDIN_FILENO);
    put("out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    put("err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    const auto random = make_random();
    const Result<int> code = visit({.at = str_cat("127.0.0.1:", task.port),
                                    .token = token,
                                    .task = name,
                                    .command = std::move(command),
                                    .clock = Clock::real(),
                                    .random = *random});
    if (!code.ok()) dprintf(STDERR_FILENO, "%s", code.status().message().c_str());
    _exit(code.ok() ? *code : kFailed);
  }
  DoorVisitor(const DoorVisitor&) = delete;
  DoorVisitor& operator=(const DoorVisitor&) = delete;

  int code() const {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string out() const { return text_of_file(folder_ + "/out"); }
  std::string err() const { return text_of_file(folder_ + "/err"); }

  static constexpr int kFailed = 99;
  pid_t process = 0;

 private:
  const std::string folder_;
};

std::vector<std::string> in_shell(const std::string& script) { return {"sh", "-c", script}; }

TEST_CASE("a command beside a task has its environment and its directory, and ends as it ends") {
  const DoorTask task("exec sleep 600");
  const DoorVisitor visitor(task, in_shell("echo $COLOUR in $PWD; echo bad >&2; exit 3"));
  CHECK(visitor.code() == 3);
  CHECK(visitor.out() == str_cat("blue in ", task.folder, "\n"));
  CHECK(visitor.err() == "bad\n");
  CHECK(DoorVisitor(task, in_shell("kill -9 $$")).code() == 128 + SIGKILL);
}

TEST_CASE("more passes both ways than any pipe holds") {
  const DoorTask task("exec sleep 600");
  std::string much;
  for (int i = 0; i < 500'000; ++i) str_append(&much, i, "\n");
  const DoorVisitor visitor(task, {"cat"}, much);
  CHECK(visitor.code() == 0);
  CHECK(visitor.out() == much);
}

TEST_CASE("a command that is not there is named") {
  const DoorTask task("exec sleep 600");
  const DoorVisitor visitor(task, {"no-such-program"});
  CHECK(visitor.code() == 126);
  CHECK(visitor.err() ==
        "millrace exec: 'no-such-program' can't be run: No such file or directory\n");
}

TEST_CASE("who does not know the token, or means another task, runs nothing") {
  const DoorTask task("exec sleep 600");
  const DoorVisitor stranger(task, in_shell("touch been_here"), "", "other");
  CHECK(stranger.code() == DoorVisitor::kFailed);
  CHECK(stranger.err().find("token was not taken") != std::string::npos);
  const DoorVisitor lost(task, in_shell("touch been_here"), "", "t", "map:1");
  CHECK(lost.code() == DoorVisitor::kFailed);
  CHECK(lost.err() == "map:1 has ended");
  CHECK(!std::filesystem::exists(task.folder + "/been_here"));
}

// Writes its number, starts another that does, and stays.
constexpr const char* kTwoThatStay =
    "trap '' TERM; setsid sh -c 'echo $$ > second; exec sleep 600' & "
    "echo $$ > first; while :; do sleep 1; done";

pid_t number_written(const std::string& path) {
  pid_t process = 0;
  CHECK(soon_so([&] { return (process = std::atoi(text_of_file(path).c_str())) > 0; }));
  return process;
}

TEST_CASE("what guests have running ends with the task") {
  DoorTask task("exec sleep 600");
  const DoorVisitor visitor(task, in_shell(kTwoThatStay));
  const pid_t first = number_written(task.folder + "/first");
  const pid_t second = number_written(task.folder + "/second");
  REQUIRE(process_lives(first));
  task.end();
  CHECK(visitor.code() == DoorVisitor::kFailed);
  CHECK(visitor.err() == "map:0 has ended; so has what ran beside it");
  CHECK(soon_so([&] { return !process_lives(first) && !process_lives(second); }));
  const DoorVisitor late(task, {"true"});
  CHECK(late.code() == DoorVisitor::kFailed);
  CHECK(late.err().find("map:0 can't be reached at 127.0.0.1:") != std::string::npos);
}

TEST_CASE("what a guest has running ends with the guest") {
  const DoorTask task("exec sleep 600");
  const DoorVisitor visitor(task, in_shell(kTwoThatStay));
  const pid_t first = number_written(task.folder + "/first");
  const pid_t second = number_written(task.folder + "/second");
  kill(visitor.process, SIGKILL);
  CHECK(visitor.code() == -1);
  CHECK(soon_so([&] { return !process_lives(first) && !process_lives(second); }));
  CHECK(process_lives(task.process));
}

TEST_CASE("what a command leaves running ends with it") {
  const DoorTask task("exec sleep 600");
  const DoorVisitor visitor(task, in_shell("(echo up; exec sleep 600) & sleep 0.1; echo $!"));
  CHECK(visitor.code() == 0);
  const pid_t left = std::atoi(visitor.out().substr(visitor.out().rfind("up\n") + 3).c_str());
  REQUIRE(left > 0);
  CHECK(soon_so([&] { return !process_lives(left); }));
}

TEST_CASE("the door is nobody's child, and ends with the task") {
  DoorTask task("exec sleep 600");
  CHECK(DoorVisitor(task, {"true"}).code() == 0);
  CHECK(descendants_of(task.process).empty());
  task.end();
  CHECK(soon_so([&] {
    const DoorVisitor visitor(task, {"true"});
    return visitor.code() == DoorVisitor::kFailed &&
           visitor.err().find("Connection refused") != std::string::npos;
  }));
}

}  // namespace
}  // namespace millrace
