#include "millrace/launch/local_ports.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr int kListenQueue = 8;
constexpr int kConnectMillis = 10'000;

Descriptor caller_of(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  REQUIRE(connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

TEST_CASE("a port that is held or listened to is nobody else's") {
  const HeldPort held = HeldPort::bind("127.0.0.1", 0).value();
  CHECK(HeldPort::bind("127.0.0.1", held.port()).status().code() == Code::already_exists);
  const Descriptor listener = held.listen(kListenQueue).value();
  const Status refused = HeldPort::bind("127.0.0.1", held.port()).status();
  CHECK(refused.code() == Code::already_exists);
  CHECK(refused.message().find("is in use by process ") != std::string::npos);
}

TEST_CASE("a port is had again at once when its server has ended before its clients") {
  int port = 0;
  Descriptor client;
  {
    const HeldPort held = HeldPort::bind("127.0.0.1", 0).value();
    const Descriptor listener = held.listen(kListenQueue).value();
    port = held.port();
    client = caller_of(port);
    pollfd event{listener.number(), POLLIN, 0};
    REQUIRE(poll(&event, 1, kConnectMillis) == 1);
    const Descriptor accepted(accept(listener.number(), nullptr, nullptr));
    REQUIRE(accepted.is_open());
  }
  client.close();
  CHECK(HeldPort::bind("127.0.0.1", port).status().message() == "");
}

}  // namespace
}  // namespace millrace
