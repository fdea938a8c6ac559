#include "millrace/launch/yarn/master_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

constexpr int kQueue = 1024;

struct Address {
  sockaddr_un value{};
  socklen_t size = 0;
};

// A name after a zero byte, and no path.
Address address_of(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  const size_t most = sizeof address.value.sun_path - 1;
  const size_t length = std::min(name.size(), most);
  std::memcpy(address.value.sun_path + 1, name.data(), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

const sockaddr* plain(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.value);
}

}  // namespace

Result<Descriptor> listen_as_master(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Address address = address_of(name);
  if (socket.is_open() && bind(socket.number(), plain(address), address.size) == 0 &&
      listen(socket.number(), kQueue) == 0)
    return socket;
  return unavailable("no socket for the job's tasks: ", strerror(errno));
}

Result<Descriptor> connect_to_master(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (socket.is_open() && connect(socket.number(), plain(address), address.size) == 0)
    return socket;
  return unavailable("the application master can't be reached: ", strerror(errno));
}

Descriptor accept_errand(const Descriptor& listener) {
  Descriptor errand(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ucred who{};
  socklen_t size = sizeof who;
  if (!errand.is_open() || getsockopt(errand.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
      who.uid != geteuid())
    return {};
  return errand;
}

}  // namespace millrace
