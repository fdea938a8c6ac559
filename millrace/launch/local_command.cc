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

#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/poll_time.h"

namespace millrace {

// Of PipedCommand::Ends, and therefore with names that are known outside.
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

// A program with our ends of its input and output, which never make us wait.
struct StartedCommand {
  pid_t pid;
  Descriptor in;
  Descriptor out;
  Descriptor err;
};

namespace {

constexpr int kNotThere = 127;
constexpr int kKilledBase = 128;
// What a program that goes on says last on standard error is why it failed.
constexpr size_t kMostSaid = size_t{64} << 10;
constexpr int kMostLooks = 2000;  // a millisecond each, at a program that has closed its output

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

// False once the other end is closed.
bool read_some(Descriptor& end, std::string& text) {
  std::array<char, 65536> bytes;
  const ssize_t size = ::read(end.number(), bytes.data(), bytes.size());
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  text.append(bytes.data(), static_cast<size_t>(size));
  return size > 0;
}

// read_some() of what may go on for ever: the last of it is kept.
bool read_last(Descriptor& end, std::string& text) {
  const bool goes_on = read_some(end, text);
  if (text.size() > kMostSaid) text.erase(0, text.size() - kMostSaid);
  return goes_on;
}

// Writes what fits; closes the end when all is written or nobody reads.
void write_some(Descriptor& end, std::string_view& rest) {
  const ssize_t size = ::write(end.number(), rest.data(), rest.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) rest.remove_prefix(static_cast<size_t>(size));
  if (size <= 0 || rest.empty()) end.close();
}

Result<StartedCommand> start_command(const std::vector<std::string>& argv) {
  MR_ASSIGN(Pipe in, make_pipe());
  MR_ASSIGN(Pipe out, make_pipe());
  MR_ASSIGN(Pipe err, make_pipe());
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv, in.read.number(), out.write.number(), err.write.number(), self);
  if (pid < 0) return error(Code::resource_exhausted, argv[0], ": no process: ", strerror(errno));
  StartedCommand started{pid, std::move(in.write), std::move(out.read), std::move(err.read)};
  for (const Descriptor* end : {&started.in, &started.out, &started.err}) never_block(*end);
  return started;
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv, std::string_view input,
                                  Clock::Duration time_limit, const Clock& clock) {
  const NoBrokenPipe no_broken_pipe;
  MR_ASSIGN(StartedCommand started, start_command(argv));
  auto& [pid, in, out, err] = started;
  if (input.empty()) in.close();

  CommandOutput output;
  const Clock::Time deadline = clock.now() + time_limit;
  while (out.is_open() || err.is_open()) {
    std::array<pollfd, 3> events = {pollfd{out.number(), POLLIN, 0},
                                    pollfd{err.number(), POLLIN, 0},
                                    pollfd{in.number(), POLLOUT, 0}};
    poll(events.data(), events.size(), poll_milliseconds(deadline, clock.now()));
    if (events[0].revents != 0 && !read_some(out, output.out)) out.close();
    if (events[1].revents != 0 && !read_some(err, output.err)) err.close();
    if (events[2].revents != 0) write_some(in, input);
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
  MR_ASSIGN(Pipe out, make_pipe());
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t self = getpid();
  const pid_t pid = fork();
  const Descriptor& err = errors == Errors::heard ? out.write : nothing;
  if (pid == 0) become(argv, nothing.number(), out.write.number(), err.number(), self);
  if (pid < 0) return error(Code::resource_exhausted, argv[0], ": no process: ", strerror(errno));
  never_block(out.read);
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

struct PipedCommand::Ends : StartedCommand {
  std::string said = {};
  NoBrokenPipe no_broken_pipe = {};
};

PipedCommand::PipedCommand(pid_t pid, std::unique_ptr<Ends> ends)
    : pid_(pid), ends_(std::move(ends)) {}

Result<std::unique_ptr<PipedCommand>> PipedCommand::start(const std::vector<std::string>& argv) {
  MR_ASSIGN(StartedCommand command, start_command(argv));
  const pid_t pid = command.pid;
  std::unique_ptr<Ends> ends(new Ends{{std::move(command)}});
  return std::unique_ptr<PipedCommand>(new PipedCommand(pid, std::move(ends)));
}

PipedCommand::~PipedCommand() {
  if (pid_ == 0) return;
  kill_all_of(pid_);
  reap(pid_);
}

bool PipedCommand::await(const Descriptor& end, short events, Clock::Duration patience,
                         const Clock& clock) {
  const Clock::Time deadline = clock.now() + patience;
  for (;;) {
    std::array<pollfd, 2> waited = {pollfd{end.number(), events, 0},
                                    pollfd{ends_->err.number(), POLLIN, 0}};
    poll(waited.data(), waited.size(), poll_milliseconds(deadline, clock.now()));
    if (waited[1].revents != 0 && !read_last(ends_->err, ends_->said)) ends_->err.close();
    if (waited[0].revents != 0) return true;
    if (clock.now() >= deadline) return false;
  }
}

Status PipedCommand::write(std::string_view bytes, Clock::Duration patience, const Clock& clock) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(ends_->in.number(), bytes.data(), bytes.size());
    if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
    if (size > 0 || (size < 0 && errno == EINTR)) continue;
    if (errno != EAGAIN) return unavailable("it reads no more: ", strerror(errno));
    if (!await(ends_->in, POLLOUT, patience, clock))
      return error(Code::deadline_exceeded, "it takes nothing for ",
                   std::chrono::duration_cast<std::chrono::seconds>(patience).count(), " s");
  }
  return {};
}

void PipedCommand::close_input() { ends_->in.close(); }

Result<std::string> PipedCommand::read(Clock::Duration patience, const Clock& clock) {
  std::string bytes;
  while (ends_->out.is_open() && bytes.empty()) {
    if (!await(ends_->out, POLLIN, patience, clock))
      return error(Code::deadline_exceeded, "it says nothing for ",
                   std::chrono::duration_cast<std::chrono::seconds>(patience).count(), " s");
    if (!read_some(ends_->out, bytes)) ends_->out.close();
  }
  return bytes;
}

CommandOutput PipedCommand::finish() {
  ends_->in.close();
  const int code = reap_soon(std::exchange(pid_, 0));
  while (ends_->err.is_open() && read_last(ends_->err, ends_->said)) {
    pollfd more{ends_->err.number(), POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
  }
  return {.code = code, .err = ends_->said};
}

}  // namespace millrace
