#include "millrace/launch/local_connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

constexpr int kLongestPause = 2000;  // milliseconds, between two tries to connect

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// 0, or the error that `socket`, which does not block, failed of.
int connect_until(const Descriptor& socket, const addrinfo& address, Clock::Time deadline,
                  const Clock& clock) {
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd event{socket.number(), POLLOUT, 0};
  while (poll(&event, 1, poll_milliseconds(deadline, clock.now())) <= 0)
    if (clock.now() >= deadline) return ETIMEDOUT;
  int fault = 0;
  socklen_t size = sizeof fault;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &fault, &size) != 0) return errno;
  return fault;
}

// Whoever gets the connection may wait on it.
Status make_blocking(const Descriptor& socket) {
  const int flags = fcntl(socket.number(), F_GETFL);
  if (flags >= 0 && fcntl(socket.number(), F_SETFL, flags & ~O_NONBLOCK) == 0) return {};
  return unavailable("the connection to the job's launcher: ", strerror(errno));
}

// Open, or what the last try failed of.
Result<Descriptor> connect_once(const HostPort& server, Clock::Time deadline, const Clock& clock) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault =
      getaddrinfo(server.host.c_str(), std::to_string(server.port).c_str(), &hints, &found);
  if (fault != 0) return unavailable(server.to_string(), ": ", gai_strerror(fault));
  const AddressList list(found, &freeaddrinfo);
  int last = ECONNREFUSED;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    Descriptor socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    last = socket.is_open() ? connect_until(socket, *address, deadline, clock) : errno;
    if (last != 0) continue;
    MR_TRY(make_blocking(socket));
    return socket;
  }
  return unavailable(server.to_string(), ": ", strerror(last));
}

}  // namespace

Result<Descriptor> connect_to(const HostPort& server, Clock::Time deadline, int leash,
                              const Clock& clock) {
  for (int pause = 100;; pause = std::min(2 * pause, kLongestPause)) {
    Result<Descriptor> socket = connect_once(server, deadline, clock);
    if (socket.ok()) return socket;
    const int left = poll_milliseconds(deadline, clock.now());
    if (left == 0) return socket;
    pollfd event{leash, POLLIN, 0};
    if (poll(&event, 1, std::min(left, pause)) > 0) MR_TRY(heed_leash(leash));
  }
}

Status heed_leash(int leash) {
  char byte = 0;
  const ssize_t size = read(leash, &byte, 1);
  if (size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN))) return {};
  return error(Code::cancelled, "it is told to end before it has begun");
}

}  // namespace millrace
