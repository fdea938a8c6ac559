#include "millrace/launch/yarn/local_guest_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_descendants.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/guest_talk.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr seconds kToShowProof{10};
constexpr seconds kToHearTheRest{10};
constexpr size_t kMostUnheard = size_t{1} << 20;  // of what the command writes
constexpr size_t kMostUnread = size_t{1} << 18;   // of what it is to read
constexpr int kGuestSweep = 50;                   // milliseconds
constexpr int kLongestGuestWait = 1000;           // milliseconds
constexpr int kGuestDiedOfSignal = 128;
constexpr int kGuestNotStarted = 126;

// In a process of its own; what could not be done is told there.
[[noreturn]] void become_guest(GuestCommand& guest, int input, int output, int fault, int told_at) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(fault, STDERR_FILENO);
  const auto fail = [&](const std::string& what) {
    const std::string text = str_cat(what, std::strerror(errno));
    (void)!write(told_at, text.data(), text.size());
    _exit(kGuestNotStarted);
  };
  if (!guest.directory.empty() && chdir(guest.directory.c_str()) != 0)
    fail(str_cat("the task's directory '", guest.directory, "': "));
  if (guest.environment) {
    clearenv();
    for (const auto& [name, value] : *guest.environment) setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  for (std::string& word : guest.words) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  fail(str_cat("'", guest.words[0], "' can't be run: "));
  _exit(kGuestNotStarted);
}

// The proofs, and what the guest wants.
Result<std::vector<std::string>> wanted_by_guest(GuestLink& link, const GuestRequest& request) {
  const Clock& clock = request.clock;
  const Clock::Time until = clock.now() + kToShowProof;
  MR_TRY(link.say(to_line(DoorIsOf{.task = request.task, .nonce = request.nonce})));
  MR_ASSIGN(const std::string line, link.line(kLongestGuestLine, until, clock));
  MR_ASSIGN(const GuestProof shown, parse_guest_proof(line));
  const auto proof = [&](GuestSide side) {
    return guest_proof(side, request.token, request.nonce, shown.nonce);
  };
  if (shown.nonce.empty() || !is_same_secret(shown.proof, proof(GuestSide::guest)))
    return error(Code::permission_denied, "it does not know the job's token");
  MR_TRY(link.say(to_line(GuestProof{.proof = proof(GuestSide::door)})));
  MR_ASSIGN(const std::string command, link.line(kLongestGuestCommand, until, clock));
  return parse_command_line(command);
}

class GuestRun {
 public:
  GuestRun(Descriptor socket, std::string unread, const GuestRequest& request)
      : request_(request), socket_(std::move(socket)) {
    pieces_.feed(unread);
  }

  void run(GuestCommand guest) {
    const Status started = start(guest);
    if (!started.ok()) {
      to_guest_.add(to_bytes(GuestPieceKind::not_run, started.message()));
      return hear_out();
    }
    take_pieces();
    while (!is_over()) turn();
    if (!is_guest_gone_) tell_end();
    hear_out();
  }

 private:
  Status start(GuestCommand& guest) {
    MR_ASSIGN(Pipe input, make_pipe());
    MR_ASSIGN(Pipe output, make_pipe());
    MR_ASSIGN(Pipe fault, make_pipe());
    MR_ASSIGN(Pipe told, make_pipe());
    command_ = fork();
    if (command_ < 0) return unavailable("no process: ", std::strerror(errno));
    if (command_ == 0)
      become_guest(guest, input.read.number(), output.write.number(), fault.write.number(),
                   told.write.number());
    told.write.close();
    std::array<char, 4096> words;
    ssize_t size = -1;
    while (size < 0 && (size = read(told.read.number(), words.data(), words.size())) < 0)
      if (errno != EINTR) break;
    if (size > 0) {
      waitpid(command_, nullptr, 0);
      return failed_precondition(std::string_view(words.data(), static_cast<size_t>(size)));
    }
    input_ = std::move(input.write);
    output_ = std::move(output.read);
    error_ = std::move(fault.read);
    for (const Descriptor* end : {&input_, &output_, &error_}) never_block(*end);
    return {};
  }

  bool is_over() const { return !has_children_ && !output_.is_open() && !error_.is_open(); }
  bool is_killing() const { return status_ || is_guest_gone_ || is_task_gone_; }

  void turn() {
    std::array<pollfd, 6> events{};
    const bool has_room = to_guest_.size() < kMostUnheard || is_guest_gone_;
    const auto watch = [&](size_t at, const Descriptor& what, int of, bool is_watched) {
      events[at] = {is_watched && what.is_open() ? what.number() : -1, static_cast<short>(of), 0};
    };
    const int of_guest = (to_command_.size() < kMostUnread ? POLLIN : 0) |
                         (to_guest_.empty() ? 0 : POLLOUT) | POLLRDHUP;
    watch(0, socket_, of_guest, !is_guest_gone_);
    watch(1, output_, POLLIN, has_room);
    watch(2, error_, POLLIN, has_room);
    watch(3, input_, POLLOUT, !to_command_.empty());
    events[4] = {is_task_gone_ ? -1 : request_.owner, POLLIN, 0};
    events[5] = {children_.descriptor(), POLLIN, 0};
    poll(events.data(), events.size(), is_killing() ? kGuestSweep : kLongestGuestWait);
    while (children_.take()) continue;
    if (events[4].revents != 0) is_task_gone_ = true;
    if (events[0].revents != 0) attend_guest(events[0].revents);
    if (events[1].revents != 0) pass_on(output_, GuestPieceKind::output);
    if (events[2].revents != 0) pass_on(error_, GuestPieceKind::error);
    if (input_.is_open() && !to_command_.write_to(input_.number())) input_.close();
    if (input_.is_open() && is_input_over_ && to_command_.empty()) input_.close();
    reap();
    if (is_killing() && has_children_) kill_children();
  }

  void attend_guest(int events) {
    const bool writes = to_guest_.write_to(socket_.number());
    std::array<char, 65536> bytes;
    ssize_t size = -1;
    if ((events & POLLIN) != 0) {
      size = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (size > 0) pieces_.feed({bytes.data(), static_cast<size_t>(size)});
    }
    take_pieces();
    if (!writes || size == 0 || (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
      is_guest_gone_ = true;
  }

  void take_pieces() {
    for (;;) {
      const Result<std::optional<GuestPiece>> piece = pieces_.next();
      if (!piece.ok()) is_guest_gone_ = true;
      if (!piece.ok() || !*piece) return;
      if ((*piece)->kind != GuestPieceKind::input) continue;
      if ((*piece)->bytes.empty()) is_input_over_ = true;
      if (input_.is_open()) to_command_.add((*piece)->bytes);
    }
  }

  void pass_on(Descriptor& from, GuestPieceKind kind) {
    std::array<char, 65536> bytes;
    const ssize_t size = read(from.number(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) return from.close();
    if (!is_guest_gone_) to_guest_.add(to_bytes(kind, {bytes.data(), static_cast<size_t>(size)}));
  }

  void reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      has_children_ = pid >= 0;
      if (pid <= 0) return;
      // What it has left running goes with it.
      if (pid == command_ && !is_task_gone_) status_ = status;
    }
  }

  void tell_end() {
    if (!status_) {
      to_guest_.add(to_bytes(GuestPieceKind::task_gone, ""));
      return;
    }
    const int code =
        WIFSIGNALED(*status_) ? kGuestDiedOfSignal + WTERMSIG(*status_) : WEXITSTATUS(*status_);
    to_guest_.add(to_bytes(GuestPieceKind::ended, std::to_string(code)));
  }

  void hear_out() {
    const Clock::Time until = request_.clock.now() + kToHearTheRest;
    while (!is_guest_gone_ && !to_guest_.empty() && request_.clock.now() < until) {
      pollfd event = {socket_.number(), POLLOUT, 0};
      poll(&event, 1, kLongestGuestWait);
      if (!to_guest_.write_to(socket_.number())) return;
    }
  }

  const GuestRequest& request_;
  Descriptor socket_;
  SignalWatch children_{SIGCHLD};
  GuestPieces pieces_;
  Descriptor input_, output_, error_;  // ends of the command's pipes
  OutgoingBytes to_guest_;
  OutgoingBytes to_command_;
  pid_t command_ = 0;
  std::optional<int> status_;  // of the command, if it ended before the task
  bool has_children_ = true;
  bool is_input_over_ = false;
  bool is_guest_gone_ = false;
  bool is_task_gone_ = false;
};

}  // namespace

void serve_guest(Descriptor socket, const GuestRequest& request) {
  // What the command starts and leaves becomes a child of this one.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "millrace-guest");
  GuestLink link(std::move(socket));
  const Result<std::vector<std::string>> command = wanted_by_guest(link, request);
  if (!command.ok()) return;
  Result<GuestCommand> guest = request.beside(*command);
  if (!guest.ok()) {
    (void)link.say(to_bytes(GuestPieceKind::not_run, guest.status().message()));
    return;
  }
  std::string unread;
  Descriptor unblocked = std::move(link).release(&unread);
  GuestRun(std::move(unblocked), std::move(unread), request).run(*std::move(guest));
}

}  // namespace millrace
