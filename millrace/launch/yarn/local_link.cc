#include "millrace/launch/yarn/local_link.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

}  // namespace

Result<HadoopLink> HadoopLink::connect(const std::string& host, int port, HadoopLogin login) {
  addrinfo hints{};
  hints.ai_family = AF_INET;  // all that Hadoop speaks
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (fault != 0) return unavailable(host, ": ", gai_strerror(fault));
  const AddressList list(found, &freeaddrinfo);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return unavailable("no socket: ", strerror(errno));
  if (::connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    return unavailable(strerror(errno));
  return HadoopLink(std::move(socket), std::move(login));
}

pollfd HadoopLink::event() const {
  const bool wants_out = !is_connected_ || !unsent_.empty() || connection_.has_output();
  return {socket_.number(), static_cast<short>(wants_out ? POLLIN | POLLOUT : POLLIN), 0};
}

Status HadoopLink::finish_connecting() {
  if (is_connected_) return {};
  pollfd event{socket_.number(), POLLOUT, 0};
  if (poll(&event, 1, 0) <= 0) return {};
  int fault = 0;
  socklen_t size = sizeof fault;
  if (getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &fault, &size) != 0) fault = errno;
  if (fault != 0) return unavailable(strerror(fault));
  is_connected_ = true;
  return {};
}

Status HadoopLink::write() {
  unsent_ += connection_.take_output();
  while (!unsent_.empty()) {
    const ssize_t size = send(socket_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0) return unavailable(strerror(errno));
    unsent_.erase(0, static_cast<size_t>(size));
  }
  return {};
}

Result<std::vector<HadoopConnection::Answer>> HadoopLink::turn() {
  std::vector<HadoopConnection::Answer> answers;
  MR_TRY(finish_connecting());
  if (!is_connected_) return answers;
  MR_TRY(write());
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    // Those that came before are worth more than the end.
    if (size <= 0 && !answers.empty()) break;
    if (size < 0) return unavailable(strerror(errno));
    if (size == 0) return unavailable("it has closed the connection");
    MR_ASSIGN(auto more, connection_.feed({bytes.data(), static_cast<size_t>(size)}));
    std::move(more.begin(), more.end(), std::back_inserter(answers));
  }
  MR_TRY(write());  // a login goes on
  return answers;
}

}  // namespace millrace
