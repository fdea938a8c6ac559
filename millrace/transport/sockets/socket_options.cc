#include "millrace/transport/sockets/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

namespace millrace::transport {
namespace {

constexpr std::string_view kUnpaced = "cubic";

// Seconds of silence before the system asks, between its questions, and how many it asks.
constexpr int kSilence = 20;
constexpr int kBetweenQuestions = 5;
constexpr int kQuestions = 4;
constexpr unsigned kUnacknowledgedMillis = 40'000;

// The address without the port; nothing for what is not IP.
std::string_view ip_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof(ip)};
  }
  if (address.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof(ip)};
  }
  return {};
}

// Both ends have one address: only a machine that talks to itself sees that.
bool is_on_this_machine(int descriptor) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof(here);
  socklen_t there_size = sizeof(there);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &here_size) != 0) return false;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&there), &there_size) != 0)
    return false;
  const std::string_view ip = ip_of(here);
  return !ip.empty() && ip == ip_of(there);
}

}  // namespace

void tune_connection(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (is_on_this_machine(descriptor))
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
}

void notice_loss(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &kSilence, sizeof(kSilence));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &kBetweenQuestions,
               sizeof(kBetweenQuestions));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof(kQuestions));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMillis,
               sizeof(kUnacknowledgedMillis));
}

}  // namespace millrace::transport
