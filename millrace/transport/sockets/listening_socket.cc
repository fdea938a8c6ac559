#include "millrace/transport/sockets/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/port_holder.h"

namespace millrace {
namespace {

using transport::FileDescriptor;

// Connections that may wait to be accepted; the kernel has a lower bound of its own.
constexpr int kBacklog = 4096;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int port() const {
    if (storage.ss_family == AF_INET)
      return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
    if (storage.ss_family == AF_INET6)
      return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
    return 0;
  }
};

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<std::vector<Address>> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = host.empty() ? AF_INET : AF_UNSPEC;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return not_found("can't listen on host '", host, "': ", gai_strerror(failed),
                     "; give an address of this machine, or a name that resolves to one");
  }
  const AddressList owned(found, &freeaddrinfo);
  std::vector<Address> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
      if (entry->ai_family != family) continue;
      Address& address = addresses.emplace_back();
      std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
      address.size = entry->ai_addrlen;
    }
  }
  if (addresses.empty()) return not_found("host '", host, "' has no IP address");
  return addresses;
}

Status bind_error(const std::string& host, int port, int number) {
  const std::string where = str_cat(host.empty() ? "0.0.0.0" : host, ":", port);
  switch (number) {
    case EADDRINUSE: {
      const std::string holder = port_holder(port);
      return error(Code::already_exists, "can't listen on ", where, ": the port is in use",
                   holder.empty() ? "" : str_cat(" by ", holder),
                   "; stop that process, or choose another port (0 takes a free one)");
    }
    case EADDRNOTAVAIL:
      return invalid("can't listen on ", where,
                     ": this machine has no interface with that address");
    case EACCES:
      return error(Code::permission_denied, "can't listen on ", where,
                   ": the system does not allow it; ports below 1024 need privileges");
    default:
      return internal("can't listen on ", where, ": ", std::strerror(number));
  }
}

void set_reusable(const FileDescriptor& descriptor) {
  const int on = 1;
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

// 0, or the error number.
int try_bind(const FileDescriptor& descriptor, const Address& address) {
  const int on = 1;
  // For the connections that an earlier server left behind; a port that is listened to stays taken.
  set_reusable(descriptor);
  if (address.storage.ss_family == AF_INET6)
    ::setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  if (::bind(descriptor.get(), address.get(), address.size) != 0) return errno;
  if (::listen(descriptor.get(), kBacklog) != 0) return errno;
  return 0;
}

}  // namespace

Result<ListeningSocket> ListeningSocket::bind(const std::string& host, int port) {
  if (port < 0 || port > 65535) return invalid("port ", port, " is not between 0 and 65535");
  MR_ASSIGN(const std::vector<Address> addresses, resolve(host, port));
  int first_error = 0;
  for (const Address& address : addresses) {
    FileDescriptor descriptor(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int failed = descriptor ? try_bind(descriptor, address) : errno;
    if (failed == 0) return listen(std::move(descriptor));
    if (first_error == 0) first_error = failed;
  }
  return bind_error(host, port, first_error);
}

Result<ListeningSocket> ListeningSocket::adopt(int number) {
  FileDescriptor descriptor(number);
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return invalid("file descriptor ", number, " is not a TCP socket to listen on");
  ::fcntl(number, F_SETFD, FD_CLOEXEC);
  ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
  return listen(std::move(descriptor));
}

std::string ListeningSocket::address() const {
  Address bound;
  char host[NI_MAXHOST];
  if (::getsockname(descriptor_.get(), bound.get(), &bound.size) != 0 ||
      ::getnameinfo(bound.get(), bound.size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0)
    return str_cat("port ", port_);
  return HostPort{host, port_}.to_string();
}

Result<ListeningSocket> ListeningSocket::listen(FileDescriptor descriptor) {
  Address bound;
  if (::getsockname(descriptor.get(), bound.get(), &bound.size) != 0 || bound.port() == 0)
    return invalid("socket ", descriptor.get(), " is not bound to a TCP port");
  if (::listen(descriptor.get(), kBacklog) != 0) return bind_error("", bound.port(), errno);
  // The connections that stay when this server ends do not keep the port from the next. Not before
  // it listens: whoever bound a socket that is adopted here wants no other bound beside it.
  set_reusable(descriptor);
  return ListeningSocket(std::move(descriptor), bound.port());
}

bool may_be_of_this_machine(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return true;
  const AddressList owned(found, &freeaddrinfo);
  const FileDescriptor descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return !descriptor || ::bind(descriptor.get(), found->ai_addr, found->ai_addrlen) == 0 ||
         errno != EADDRNOTAVAIL;
}

}  // namespace millrace
