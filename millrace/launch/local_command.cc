#include "millrace/launch/local_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

constexpr int kNotThere = 127;
constexpr int kKilledBase = 128;
constexpr int kMostLooks = 2000;  // a millisecond each, at a program that has closed its output

struct AskPipe {
  Descriptor read;
  Descriptor write;
};

Result<AskPipe> make_ask_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error(Code::resource_exhausted, "no pipe can be made: ", strerror(errno));
  return AskPipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// In the child: a program of its own group, so that a Ctrl-C for us is ours to obey.
[[noreturn]] void become(const std::vector<std::string>& argv, int in, int out, int err,
                         pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotThere);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(kNotThere);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? kKilledBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return code_of(status);
}

void kill_all_of(pid_t pid) {
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);  // it may not have its group yet
}

// Of a program that has closed its output, which does not have to end for that.
int reap_soon(pid_t pid) {
  int status = 0;
  for (int i = 0; i < kMostLooks; ++i) {
    if (waitpid(pid, &status, WNOHANG) == pid) return code_of(status);
    poll(nullptr, 0, 1);
  }
  kill_all_of(pid);
  return reap(pid);
}

void make_nonblocking(const Descriptor& end) {
  fcntl(end.number(), F_SETFL, fcntl(end.number(), F_GETFL) | O_NONBLOCK);
}

// False once the other end is closed.
bool read_some(Descriptor& end, std::string& text) {
  std::array<char, 65536> bytes;
  const ssize_t size = ::read(end.number(), bytes.data(), bytes.size());
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  text.append(bytes.data(), static_cast<size_t>(size));
  return size > 0;
}

// Writes what fits; closes the end when all is written or nobody reads.
void write_some(Descriptor& end, std::string_view& rest) {
  const ssize_t size = ::write(end.number(), rest.data(), rest.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) rest.remove_prefix(static_cast<size_t>(size));
  if (size <= 0 || rest.empty()) end.close();
}

// Ignores the end of a reader for as long as it lives: it is then an error of the write.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~NoBrokenPipe() { sigaction(SIGPIPE, &before_, nullptr); }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv, std::string_view input,
                                  Clock::Duration time_limit, const Clock& clock) {
  const NoBrokenPipe no_broken_pipe;
  MR_ASSIGN(AskPipe in, make_ask_pipe());
  MR_ASSIGN(AskPipe out, make_ask_pipe());
  MR_ASSIGN(AskPipe err, make_ask_pipe());
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv, in.read.number(), out.write.number(), err.write.number(), self);
  if (pid < 0) return error(Code::resource_exhausted, argv[0], ": no process: ", strerror(errno));
  in.read.close();
  out.write.close();
  err.write.close();
  for (const Descriptor* end : {&in.write, &out.read, &err.read}) make_nonblocking(*end);
  if (input.empty()) in.write.close();

  CommandOutput output;
  const Clock::Time deadline = clock.now() + time_limit;
  while (out.read.is_open() || err.read.is_open()) {
    std::array<pollfd, 3> events = {pollfd{out.read.number(), POLLIN, 0},
                                    pollfd{err.read.number(), POLLIN, 0},
                                    pollfd{in.write.number(), POLLOUT, 0}};
    poll(events.data(), events.size(), poll_milliseconds(deadline, clock.now()));
    if (events[0].revents != 0 && !read_some(out.read, output.out)) out.read.close();
    if (events[1].revents != 0 && !read_some(err.read, output.err)) err.read.close();
    if (events[2].revents != 0) write_some(in.write, input);
    const bool is_late = clock.now() >= deadline;
    const bool is_long = output.out.size() + output.err.size() > kLongestAnswer;
    if (!is_late && !is_long) continue;
    kill_all_of(pid);
    reap(pid);
    if (is_long) return error(Code::resource_exhausted, argv[0], ": its answer has no end");
    return error(Code::deadline_exceeded, argv[0], ": no answer in ",
                 std::chrono::duration_cast<std::chrono::seconds>(time_limit).count(), " s");
  }
  output.code = reap_soon(pid);
  if (output.code == kNotThere && output.out.empty() && output.err.empty())
    return not_found("no program '", argv[0], "' on the PATH");
  return output;
}

Result<RunningCommand> RunningCommand::start(const std::vector<std::string>& argv, Errors errors) {
  MR_ASSIGN(AskPipe out, make_ask_pipe());
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t self = getpid();
  const pid_t pid = fork();
  const Descriptor& err = errors == Errors::heard ? out.write : nothing;
  if (pid == 0) become(argv, nothing.number(), out.write.number(), err.number(), self);
  if (pid < 0) return error(Code::resource_exhausted, argv[0], ": no process: ", strerror(errno));
  make_nonblocking(out.read);
  return RunningCommand(pid, std::move(out.read));
}

RunningCommand::RunningCommand(RunningCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::move(other.out_)),
      lines_(std::move(other.lines_)) {}

RunningCommand::~RunningCommand() {
  if (pid_ == 0) return;
  kill_all_of(pid_);
  reap(pid_);
}

bool RunningCommand::read(const std::function<void(std::string_view line)>& sink) {
  std::string bytes;
  const bool goes_on = out_.is_open() && read_some(out_, bytes);
  lines_.feed(bytes, sink);
  if (goes_on) return true;
  lines_.finish(sink);
  out_.close();
  return false;
}

int RunningCommand::wait() { return reap_soon(std::exchange(pid_, 0)); }

}  // namespace millrace
