#include "millrace/launch/yarn/own_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "millrace/cluster/host_port.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

std::string address_towards(const std::string& url) {
  const size_t begin = url.find("://");
  const std::string rest = begin == std::string::npos ? url : url.substr(begin + 3);
  const Result<HostPort> server = HostPort::parse(rest.substr(0, rest.find('/')));
  if (!server.ok()) return "";
  addrinfo hints{};
  hints.ai_family = AF_INET;  // all that Hadoop speaks
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(server->host.c_str(), std::to_string(server->port).c_str(), &hints, &found) != 0)
    return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  // Of datagrams, connecting only chooses the way.
  if (!socket.is_open() || connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return "";
  return text.data();
}

}  // namespace millrace
