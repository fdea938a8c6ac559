#include "millrace/launch/local_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "millrace/launch/local_descendants.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

constexpr int kAboveInherited =
    16;  // descriptors from here on can't collide with those a task gets
constexpr int kKeeperSweepMilliseconds = 50;

void send_report(int pipe, const KeeperReport& report) {
  // A launcher that is gone reads no reports; the control pipe tells.
  [[maybe_unused]] ssize_t written = write(pipe, &report, sizeof report);
}

void send_failure(int pipe, KeeperReport::Stage stage, int fault) {
  send_report(pipe, {KeeperReport::Kind::not_started, stage, fault, 0, 0});
}

bool enter_group(const char* file) {
  if (file[0] == '\0') return true;
  const int group = open(file, O_WRONLY | O_CLOEXEC);
  const bool is_in = group >= 0 && write(group, "0", 1) == 1;
  close(group);
  return is_in;
}

[[noreturn]] void become_task(const KeeperDuty& duty, pid_t keeper) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);  // it died before the line above
  int reports = fcntl(duty.reports, F_DUPFD_CLOEXEC, kAboveInherited);
  int listen = duty.listen < 0 ? -1 : fcntl(duty.listen, F_DUPFD_CLOEXEC, kAboveInherited);
  int records = fcntl(duty.records, F_DUPFD_CLOEXEC, kAboveInherited);
  if (duty.input >= 0) dup2(duty.input, STDIN_FILENO);
  dup2(duty.out, STDOUT_FILENO);
  dup2(duty.err, STDERR_FILENO);
  if (listen >= 0) dup2(listen, kListenDescriptor);
  dup2(records, kReportDescriptor);
  if (!enter_group(duty.group)) {
    send_failure(reports, KeeperReport::Stage::group, errno);
    _exit(127);
  }
  if (duty.directory[0] != '\0' && chdir(duty.directory) != 0) {
    send_failure(reports, KeeperReport::Stage::directory, errno);
    _exit(127);
  }
  setrlimit(RLIMIT_NOFILE, &duty.task_files);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &duty.task_signals, nullptr);
  environ = const_cast<char**>(duty.environment);
  execvp(duty.argv[0], duty.argv);
  send_failure(reports, KeeperReport::Stage::program, errno);
  _exit(127);
}

class Keeper {
 public:
  Keeper(const KeeperDuty& duty, pid_t task, int child_signals)
      : control_(duty.control),
        reports_(duty.reports),
        task_(task),
        left_alone_(duty.left_alone / kKeeperSweepMilliseconds),
        child_signals_(child_signals) {}

  void run() {
    while (reap() == Left::some) {
      if (killing_ && left_alone_ <= 0) kill_children();
      wait();
    }
  }

 private:
  enum class Left { none, some };

  Left reap() {
    while (true) {
      int status = 0;
      rusage usage{};
      pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid == 0) return Left::some;
      if (pid < 0) return errno == EINTR ? Left::some : Left::none;
      if (pid == task_) report_end(status, usage);
    }
  }

  void report_end(int status, const rusage& usage) {
    task_ = 0;
    killing_ = true;
    send_report(reports_, {KeeperReport::Kind::ended, KeeperReport::Stage::program, status, 0,
                           int64_t{usage.ru_maxrss} * 1024});
  }

  void wait() {
    std::array<pollfd, 2> events = {pollfd{child_signals_, POLLIN, 0}, pollfd{control_, POLLIN, 0}};
    // While it kills, it looks again now and then: a process may become a child without a signal.
    const int ready = poll(events.data(), events.size(), killing_ ? kKeeperSweepMilliseconds : -1);
    if (ready == 0) --left_alone_;
    signalfd_siginfo ignored;
    if (events[0].revents != 0) [[maybe_unused]]
      ssize_t size = read(child_signals_, &ignored, sizeof ignored);
    if (events[1].revents != 0) obey();
  }

  void obey() {
    char command = 0;
    ssize_t size = read(control_, &command, 1);
    if (size < 0 && errno == EINTR) return;
    if (size == 1 && command == kTerminateTask) {
      if (task_ != 0) kill(-task_, SIGTERM);
      return;
    }
    killing_ = true;
    if (task_ != 0) kill(left_alone_ > 0 ? task_ : -task_, SIGKILL);
    if (size <= 0) control_ = -1;  // poll() passes over it
  }

  int control_;
  const int reports_;
  pid_t task_;      // 0 once it has ended
  int left_alone_;  // for so many sweeps, since it kills
  const int child_signals_;
  bool killing_ = false;
};

}  // namespace

void keep_task(const KeeperDuty& duty) {
  leave_terminal();
  // Pipes of other tasks above all, whose ends would otherwise stay open after the launcher is
  // gone.
  close_all_but(
      {duty.control, duty.reports, duty.out, duty.err, duty.records, duty.input, duty.listen});
  prctl(PR_SET_NAME, "millrace-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  int child_signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);

  pid_t keeper = getpid();
  pid_t task = fork();
  if (task == 0) become_task(duty, keeper);
  if (task < 0) {
    send_failure(duty.reports, KeeperReport::Stage::fork, errno);
    _exit(1);
  }
  setpgid(task, task);  // as the task does itself: whoever is first
  close(duty.out);
  close(duty.err);
  close(duty.records);
  if (duty.input >= 0) close(duty.input);
  if (duty.listen >= 0) close(duty.listen);
  Keeper(duty, task, child_signals).run();
  _exit(0);
}

}  // namespace millrace
