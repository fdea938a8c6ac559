#include "millrace/launch/yarn/local_guest_visit.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/local_connect.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/guest_talk.h"
#include "millrace/launch/yarn/local_guest_link.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr seconds kToConnect{5};
constexpr seconds kForProofs{10};
constexpr int kGuestNotRun = 126;
constexpr int kGuestOfSignal = 128;
constexpr size_t kPieceOfInput = 65'536;

// False when nobody reads it any more.
bool write_to_end(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(to, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

Status has_ended(const GuestVisit& visit) { return failed_precondition(visit.task, " has ended"); }

Status knock_at(GuestLink& link, const GuestVisit& visit) {
  const Clock::Time until = visit.clock.now() + kForProofs;
  MR_ASSIGN(const std::string first, link.line(kLongestGuestLine, until, visit.clock));
  MR_ASSIGN(const DoorIsOf door, parse_door(first));
  // A port that is free again may be another task's.
  if (door.task != visit.task) return has_ended(visit);
  const std::string nonce = new_secret(visit.random);
  const auto proof = [&](GuestSide side) {
    return guest_proof(side, visit.token, door.nonce, nonce);
  };
  MR_TRY(link.say(to_line(GuestProof{.nonce = nonce, .proof = proof(GuestSide::guest)})));
  const Result<std::string> second = link.line(kLongestGuestLine, until, visit.clock);
  if (!second.ok())
    return second.status()
        .with("the job's token was not taken")
        .then("; it is another job's, or the task's machine or image lacks OpenSSL (libssl3)");
  MR_ASSIGN(const GuestProof shown, parse_guest_proof(*second));
  if (!is_same_secret(shown.proof, proof(GuestSide::door)))
    return failed_precondition("who answers there is not of this job");
  return link.say(command_line(visit.command));
}

class GuestTalk {
 public:
  GuestTalk(Descriptor socket, std::string unread, const GuestVisit& visit)
      : visit_(visit), socket_(std::move(socket)) {
    pieces_.feed(unread);
  }

  Result<int> run() {
    // Who is gone at the other end is told by the call.
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
      MR_ASSIGN(const std::optional<int> code, take_pieces());
      if (code) return *code;
      MR_TRY(turn());
    }
  }

 private:
  Status turn() {
    std::array<pollfd, 2> events = {
        pollfd{socket_.number(), static_cast<short>(POLLIN | (to_door_.empty() ? 0 : POLLOUT)), 0},
        pollfd{is_input_over_ || !to_door_.empty() ? -1 : STDIN_FILENO, POLLIN, 0}};
    poll(events.data(), events.size(), -1);
    if (events[1].revents != 0) read_input();
    if (!to_door_.write_to(socket_.number())) is_input_over_ = true;
    if ((events[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return {};
    std::array<char, 65536> bytes;
    const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (size <= 0)
      return unavailable("the connection to ", visit_.task,
                         " broke off: it is lost with its machine, or was killed");
    pieces_.feed({bytes.data(), static_cast<size_t>(size)});
    return {};
  }

  void read_input() {
    std::array<char, kPieceOfInput> bytes;
    const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    is_input_over_ = size <= 0;
    to_door_.add(to_bytes(GuestPieceKind::input,
                          {bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))}));
  }

  // The exit code, if the command has ended.
  Result<std::optional<int>> take_pieces() {
    for (;;) {
      MR_ASSIGN(const std::optional<GuestPiece> piece, pieces_.next());
      if (!piece) return std::optional<int>();
      const std::string& bytes = piece->bytes;
      switch (piece->kind) {
        case GuestPieceKind::output:
        case GuestPieceKind::error: {
          const bool is_output = piece->kind == GuestPieceKind::output;
          if (!write_to_end(is_output ? STDOUT_FILENO : STDERR_FILENO, bytes))
            return std::optional<int>(kGuestOfSignal + SIGPIPE);
          break;
        }
        case GuestPieceKind::not_run:
          std::fprintf(stderr, "millrace exec: %s\n", bytes.c_str());
          return std::optional<int>(kGuestNotRun);
        case GuestPieceKind::task_gone:
          return has_ended(visit_).then("; so has what ran beside it");
        case GuestPieceKind::ended: {
          int code = 0;
          std::from_chars(bytes.data(), bytes.data() + bytes.size(), code);
          return std::optional<int>(code);
        }
        case GuestPieceKind::input:
          break;
      }
    }
  }

  const GuestVisit& visit_;
  Descriptor socket_;
  GuestPieces pieces_;
  OutgoingBytes to_door_;
  bool is_input_over_ = false;
};

}  // namespace

Result<int> visit(const GuestVisit& wanted) {
  MR_ASSIGN(const HostPort at, HostPort::parse(wanted.at));
  Result<Descriptor> socket = connect_to(at, wanted.clock.now() + kToConnect, -1, wanted.clock);
  if (!socket.ok())
    return socket.status()
        .with(str_cat(wanted.task, " can't be reached at ", wanted.at))
        .then("; it may just have ended, or this machine does not reach that one's ports");
  GuestLink link(*std::move(socket));
  MR_TRY(knock_at(link, wanted));
  std::string unread;
  Descriptor unblocked = std::move(link).release(&unread);
  return GuestTalk(std::move(unblocked), std::move(unread), wanted).run();
}

}  // namespace millrace
