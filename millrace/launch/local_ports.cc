#include "millrace/launch/local_ports.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/port_holder.h"
#include "millrace/launch/local_descriptors.h"

namespace millrace {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressList> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int fault = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (fault != 0) return invalid("host '", host, "' can't be resolved: ", gai_strerror(fault));
  return AddressList(found, &freeaddrinfo);
}

Status bind_error(const std::string& host, int port, int fault) {
  std::string address = HostPort{host, port}.to_string();
  if (fault == EADDRINUSE) {
    std::string holder = port_holder(port);
    return error(
        Code::already_exists, "port ", port, " of ", host, " is in use",
        holder.empty() ? "" : str_cat(" by ", holder),
        "; stop that process, or choose another; --ports chooses those of a run's tasks, which "
        "have free ones without it");
  }
  if (fault == EADDRNOTAVAIL)
    return invalid("can't listen on ", address, ": '", host, "' is not an address of this machine");
  return unavailable("can't listen on ", address, ": ", strerror(fault));
}

int bound_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

void set_reusable(int socket, int on) {
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

}  // namespace

Result<HeldPort> HeldPort::bind(const std::string& host, int port) {
  MR_ASSIGN(AddressList list, resolve(host, port));
  const addrinfo& address = *list;
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return bind_error(host, port, errno);
  int bound = ::bind(socket.number(), address.ai_addr, address.ai_addrlen);
  if (bound != 0 && errno == EADDRINUSE && port != 0) {
    // Connections of a former run may linger on it. Not the first choice: with this option two
    // sockets that do not listen yet may share a port.
    set_reusable(socket.number(), 1);
    bound = ::bind(socket.number(), address.ai_addr, address.ai_addrlen);
  }
  if (bound != 0) return bind_error(host, port, errno);
  int actual = bound_port(socket.number());
  return HeldPort(std::move(socket), actual);
}

Result<Descriptor> HeldPort::listen(int backlog) const {
  Descriptor listener(fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!listener.is_open() || ::listen(listener.number(), backlog) != 0)
    return unavailable("can't listen at port ", port_, ": ", strerror(errno));
  // What its connections leave behind does not keep the port from the next who serves at it.
  set_reusable(listener.number(), 1);
  never_block(listener);
  return listener;
}

void HeldPort::keep_alone() const { set_reusable(descriptor(), 0); }

Result<HeldPort> HeldPort::share() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(descriptor(), place, &size) != 0)
    return unavailable("port ", port_, " is not held any more: ", strerror(errno));
  Descriptor socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return unavailable("no socket for port ", port_, ": ", strerror(errno));
  // What lets two sockets that do not listen have one port.
  set_reusable(descriptor(), 1);
  set_reusable(socket.number(), 1);
  if (::bind(socket.number(), place, size) != 0)
    return unavailable("can't bind port ", port_, " again: ", strerror(errno));
  return HeldPort(std::move(socket), port_);
}

}  // namespace millrace
