#include "millrace/transport/sockets/listening_socket.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace millrace {
namespace {

int bound_port(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int bind_by_hand() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return descriptor;
}

TEST_CASE("an address of another machine is told from those of this one") {
  CHECK(may_be_of_this_machine("127.0.0.1"));
  CHECK(may_be_of_this_machine("a.name.is.not.looked.up.invalid"));
  CHECK(!may_be_of_this_machine("192.0.2.1"));
}

TEST_CASE("a socket knows where it is bound") {
  const auto local = ListeningSocket::bind("localhost", 0).value();
  CHECK(local.address() == str_cat("127.0.0.1:", local.port()));
  const auto open = ListeningSocket::bind("", 0).value();
  CHECK(open.address() == str_cat("0.0.0.0:", open.port()));
}

TEST_CASE("port 0 takes a free port and tells which") {
  const auto socket = ListeningSocket::bind("127.0.0.1", 0);
  REQUIRE(socket.ok());
  CHECK(socket->port() > 0);
  CHECK(socket->port() == bound_port(socket->descriptor().get()));
}

TEST_CASE("a port in use is refused, with the process that has it") {
  const auto holder = ListeningSocket::bind("127.0.0.1", 0);
  REQUIRE(holder.ok());
  const auto socket = ListeningSocket::bind("127.0.0.1", holder->port());
  CHECK(socket.status().code() == Code::already_exists);
  const std::string& message = socket.status().message();
  CAPTURE(message);
  CHECK(message.find("the port is in use by process " + std::to_string(::getpid()) + " (") !=
        std::string::npos);
  CHECK(message.find("_test") != std::string::npos);
}

TEST_CASE("all interfaces and one interface do not share a port") {
  const auto all = ListeningSocket::bind("", 0);
  REQUIRE(all.ok());
  CHECK(ListeningSocket::bind("127.0.0.1", all->port()).status().code() == Code::already_exists);
  CHECK(ListeningSocket::bind("0.0.0.0", all->port()).status().code() == Code::already_exists);
}

TEST_CASE("a port is free again when its socket is gone") {
  int port = 0;
  {
    const auto socket = ListeningSocket::bind("127.0.0.1", 0);
    REQUIRE(socket.ok());
    port = socket->port();
  }
  CHECK(ListeningSocket::bind("127.0.0.1", port).ok());
}

TEST_CASE("a name is resolved; a host that is none, or not of this machine, is refused") {
  CHECK(ListeningSocket::bind("localhost", 0).ok());
  const Status unknown = ListeningSocket::bind("no-such-host.invalid", 0).status();
  CHECK(unknown.code() == Code::not_found);
  CHECK(unknown.message().find("no-such-host.invalid") != std::string::npos);
  const Status foreign = ListeningSocket::bind("192.0.2.1", 0).status();
  CHECK(foreign.code() == Code::invalid_argument);
  CHECK(foreign.message() ==
        "can't listen on 192.0.2.1:0: this machine has no interface with that address");
  CHECK(ListeningSocket::bind("127.0.0.1", 70000).status().code() == Code::invalid_argument);
  CHECK(ListeningSocket::bind("127.0.0.1", -1).status().code() == Code::invalid_argument);
}

TEST_CASE("a socket that a launcher has bound is taken over") {
  const int inherited = bind_by_hand();
  const int port = bound_port(inherited);
  const auto socket = ListeningSocket::adopt(inherited);
  REQUIRE(socket.ok());
  CHECK(socket->port() == port);
  CHECK(ListeningSocket::bind("127.0.0.1", port).status().code() == Code::already_exists);
}

TEST_CASE("what the connections of an ended server leave behind keeps no port that it took over") {
  const int inherited = bind_by_hand();
  const int port = bound_port(inherited);
  {
    const auto server = ListeningSocket::adopt(inherited);
    REQUIRE(server.ok());
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    ::getsockname(inherited, reinterpret_cast<sockaddr*>(&address), &size);
    REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&address), size) == 0);
    pollfd event{inherited, POLLIN, 0};
    REQUIRE(::poll(&event, 1, 10'000) == 1);
    // Whoever closes first has the connection linger.
    REQUIRE(::close(::accept(inherited, nullptr, nullptr)) == 0);
    ::close(client);
  }
  CHECK(ListeningSocket::bind("127.0.0.1", port).status().message() == "");
}

TEST_CASE("a descriptor that is no bound TCP socket is not taken over") {
  CHECK(ListeningSocket::adopt(-1).status().code() == Code::invalid_argument);
  CHECK(ListeningSocket::adopt(::socket(AF_INET, SOCK_DGRAM, 0)).status().code() ==
        Code::invalid_argument);
  CHECK(ListeningSocket::adopt(::socket(AF_INET, SOCK_STREAM, 0)).status().code() ==
        Code::invalid_argument);
  CHECK(ListeningSocket::adopt(::socket(AF_UNIX, SOCK_STREAM, 0)).status().code() ==
        Code::invalid_argument);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(ListeningSocket::adopt(ends[0]).status().code() == Code::invalid_argument);
  ::close(ends[1]);
}

}  // namespace
}  // namespace millrace
