#include "millrace/launch/yarn/local_guest_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

// Of a machine that is lost nothing comes, not even an end.
constexpr int kSilent = 30;  // seconds
constexpr int kBetweenProbes = 10;
constexpr int kProbes = 3;

}  // namespace

GuestLink::GuestLink(Descriptor socket) : socket_(std::move(socket)) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket_.number(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilent);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenProbes);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

Result<std::string> GuestLink::line(size_t most, Clock::Time deadline, const Clock& clock) {
  for (;;) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > most) return invalid("the other side talks too much");
    pollfd event = {socket_.number(), POLLIN, 0};
    if (poll(&event, 1, poll_milliseconds(deadline, clock.now())) == 0 && clock.now() >= deadline)
      return error(Code::deadline_exceeded, "nobody says anything there");
    std::array<char, 4096> bytes;
    const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return unavailable("the other side has hung up");
    unread_.append(bytes.data(), static_cast<size_t>(size));
  }
}

Status GuestLink::say(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("the other side does not hear: ", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return {};
}

Descriptor GuestLink::release(std::string* unread) && {
  *unread = std::move(unread_);
  never_block(socket_);
  return std::move(socket_);
}

bool OutgoingBytes::write_to(int descriptor) {
  while (!bytes_.empty()) {
    const ssize_t size = write(descriptor, bytes_.data(), bytes_.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    bytes_.erase(0, static_cast<size_t>(size));
  }
  return true;
}

}  // namespace millrace
