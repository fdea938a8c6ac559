#include "millrace/launch/local_leash.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "millrace/launch/local_attendant.h"
#include "millrace/launch/local_descendants.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"
#include "millrace/launch/signal_words.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLongestFirstLine = 4096;
constexpr milliseconds kBetweenLeashKills{100};
constexpr int kOfSignal = 128;
constexpr int kNotRun = 126;
// Of what the program left behind, after SIGKILL.
constexpr int kMostSweeps = 100;
constexpr int kSweepEvery = 20;  // milliseconds

[[noreturn]] void become_leashed(const std::vector<std::string>& command,
                                 const std::string& directory, pid_t parent) {
  setpgid(0, 0);
  // Nobody else would end it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kOfSignal + SIGKILL);
  if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(kNotRun);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  _exit(become_command(command));
}

class Leash {
 public:
  Leash(pid_t program, const LeashedRun& run, const Clock& clock, SignalWatch& signals)
      : program_(program), grace_(run.grace), clock_(clock), signals_(signals), leash_(run.leash) {}

  int run() {
    while (!status_) turn();
    for (int i = 0; i < kMostSweeps && waitpid(-1, nullptr, WNOHANG) >= 0; ++i) {
      kill_children();
      poll(nullptr, 0, kSweepEvery);
    }
    return WIFSIGNALED(*status_) ? kOfSignal + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }

 private:
  void turn() {
    std::array<pollfd, 2> events = {pollfd{signals_.descriptor(), POLLIN, 0},
                                    pollfd{leash_, POLLIN, 0}};
    const int time = kill_at_ ? poll_milliseconds(*kill_at_, clock_.now()) : -1;
    poll(events.data(), events.size(), time);
    while (const std::optional<TakenSignal> signal = signals_.take())
      if (signal->number != SIGCHLD) end(signal->number);
    if (events[1].revents != 0) read_input();
    if (kill_at_ && clock_.now() >= *kill_at_) {
      kill(-program_, SIGKILL);
      kill_at_ = clock_.now() + kBetweenLeashKills;
    }
    reap();
  }

  void read_input() {
    std::array<char, 256> bytes;
    const ssize_t size = read(leash_, bytes.data(), bytes.size());
    if (size > 0) return hear({bytes.data(), static_cast<size_t>(size)});
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    leash_ = -1;
    end(SIGTERM);
  }

  void hear(std::string_view bytes) {
    unread_ += bytes;
    for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
      if (const auto signal = parse_signal_line(std::string_view(unread_).substr(0, end)))
        kill(-program_, *signal);
      unread_.erase(0, end + 1);
    }
    if (unread_.size() > kLongestFirstLine) unread_.clear();
  }

  void end(int signal) {
    if (!kill_at_) kill_at_ = clock_.now() + grace_;
    kill(-program_, signal);
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 1; pid > 0;) {
      pid = waitpid(-1, &status, WNOHANG);
      if (pid == program_) status_ = status;
    }
  }

  const pid_t program_;
  const Clock::Duration grace_;
  const Clock& clock_;
  SignalWatch& signals_;
  int leash_;  // -1: it is cut, or there is none
  std::string unread_;
  std::optional<int> status_;
  std::optional<Clock::Time> kill_at_;
};

}  // namespace

Result<std::string> first_line_of_input() {
  std::string line;
  for (;;) {
    char byte = 0;
    const ssize_t size = read(STDIN_FILENO, &byte, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return unavailable("the input has ended before the token");
    if (byte == '\n') return line;
    line += byte;
    if (line.size() > kLongestFirstLine) return unavailable("the token is too long");
  }
}

int run_on_leash(const LeashedRun& run, const Clock& clock) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  SignalWatch signals{SIGCHLD};
  const pid_t self = getpid();
  const pid_t program = fork();
  if (program == 0) become_leashed(run.command, run.directory, self);
  if (program < 0) return kOfSignal + SIGKILL;
  setpgid(program, program);  // as it does itself: whoever is first
  return Leash(program, run, clock, signals).run();
}

}  // namespace millrace
