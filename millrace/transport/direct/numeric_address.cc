#include "millrace/transport/direct/numeric_address.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "millrace/transport/sockets/socket_options.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kSchemes[] = {"ipv4:", "ipv6:"};

// "%5B::1%5D" as "[::1]".
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size();
    const std::string_view code = is_escape ? text.substr(i + 1, 2) : std::string_view();
    if (code == "5B" || code == "5D" || code == "25") {
      plain += code == "5B" ? '[' : code == "5D" ? ']' : '%';
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::optional<NumericAddress> NumericAddress::of_peer(std::string_view uri) {
  for (const std::string_view scheme : kSchemes) {
    if (!uri.starts_with(scheme)) continue;
    std::string host = unescaped(uri.substr(scheme.size()));
    const size_t colon = host.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    const std::string port = host.substr(colon + 1);
    host.resize(colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
      host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return std::nullopt;
    NumericAddress address;
    address.size = found->ai_addrlen;
    std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    return address;
  }
  return std::nullopt;
}

bool operator==(const NumericAddress& a, const NumericAddress& b) {
  return a.size == b.size && std::memcmp(&a.bytes, &b.bytes, a.size) == 0;
}

FileDescriptor begin_to_connect(const NumericAddress& address) {
  FileDescriptor connection(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connection) return connection;
  notice_loss(connection.get());
  const auto* to = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (::connect(connection.get(), to, address.size) != 0 && errno != EINPROGRESS)
    connection.close();
  return connection;
}

}  // namespace millrace::transport
