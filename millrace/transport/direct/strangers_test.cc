// What strangers may send over a line, and peers that fall silent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <latch>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "millrace/transport/direct/outbox.h"
#include "millrace/transport/direct/testing/served.h"

namespace millrace::transport {
namespace {

using testing::Client;
using testing::Served;

FileDescriptor connect_to(const Served& served) {
  FileDescriptor connection(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(served.port()));
  REQUIRE(::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return connection;
}

void send_bytes(const FileDescriptor& connection, std::string_view bytes) {
  static_cast<void>(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

// All that comes until the other side hangs up.
std::string heard_from(const FileDescriptor& connection) {
  std::string heard;
  char bytes[4096];
  ssize_t size = 0;
  while ((size = ::recv(connection.get(), bytes, sizeof(bytes), 0)) > 0)
    heard.append(bytes, static_cast<size_t>(size));
  return heard;
}

std::string bytes_of(DirectOutgoing message) {
  Outbox outbox;
  outbox.put(std::move(message));
  std::string bytes;
  for (const iovec& part : outbox.next())
    bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
  return bytes;
}

void check_it_serves(const Served& served) {
  Client client(served.uri());
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
}

TEST_CASE("who greets and then talks nonsense is hung up on") {
  Served served;
  for (const std::string& nonsense :
       {std::string(100, '\0'), std::string(100'000, 'x'), std::string(12, '\xff'),
        bytes_of(answer_frame(1, testing::pieces_of("an answer"), false)),
        bytes_of(error_frame(1, internal("an error")))}) {
    const FileDescriptor connection = connect_to(served);
    send_bytes(connection, str_cat(kGreeting, nonsense));
    CHECK(heard_from(connection) == kGreeting);
  }
  check_it_serves(served);
}

TEST_CASE("who uses the number of a call that runs is hung up on, and its calls are cancelled") {
  Served served;
  const FileDescriptor connection = connect_to(served);
  const std::string request = bytes_of(request_frame(1, "/wait", 0, {}));
  send_bytes(connection, str_cat(kGreeting, request, request));
  CHECK(heard_from(connection) == kGreeting);
  served.wait_for_cancelled(1);
  check_it_serves(served);
}

TEST_CASE("a question is answered, and what cancels nothing does nothing") {
  Served served;
  const FileDescriptor connection = connect_to(served);
  send_bytes(connection, str_cat(kGreeting, bytes_of(bare_frame(FrameKind::cancel, 77)),
                                 bytes_of(bare_frame(FrameKind::ask))));
  ::shutdown(connection.get(), SHUT_WR);
  CHECK(heard_from(connection) == str_cat(kGreeting, bytes_of(bare_frame(FrameKind::here))));
}

TEST_CASE("a client that hangs up in the middle of a message leaves nothing behind") {
  Served served;
  const std::string request =
      bytes_of(request_frame(1, "/echo", 0, testing::pieces_of(std::string(50'000, 'x'))));
  for (size_t size = 0; size < request.size(); size += 1 + size / 2) {
    const FileDescriptor connection = connect_to(served);
    send_bytes(connection, str_cat(kGreeting, std::string_view(request).substr(0, size)));
    ::shutdown(connection.get(), SHUT_WR);
    CHECK(heard_from(connection) == kGreeting);
  }
  while (served.threads().intake()->held() > 0) std::this_thread::yield();
  check_it_serves(served);
}

TEST_CASE("damaged requests do no harm") {
  Served served;
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (uint32_t call = 1; call < 4; ++call)
      bytes += bytes_of(request_frame(call, "/echo", 0, testing::pieces_of("some text")));
    for (int change = 0; change < 2; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const FileDescriptor connection = connect_to(served);
    send_bytes(connection, str_cat(kGreeting, bytes));
    ::shutdown(connection.get(), SHUT_WR);
    CHECK(heard_from(connection).starts_with(kGreeting));
  }
  check_it_serves(served);
}

TEST_CASE("a client that waits and does not say that it is there is hung up on") {
  Served served(std::chrono::milliseconds(60));
  const FileDescriptor frozen = connect_to(served);
  send_bytes(frozen, str_cat(kGreeting, bytes_of(request_frame(1, "/wait", 0, {}))));
  CHECK(heard_from(frozen) == str_cat(kGreeting, bytes_of(bare_frame(FrameKind::ask))));
  served.wait_for_cancelled(1);
}

// A server in the test's own hands.
struct Puppet {
  explicit Puppet(const ListeningSocket& socket) : connection(accepted(socket.descriptor().get())) {
    CHECK(next(kGreeting.size()) == kGreeting);
    send_bytes(connection, kGreeting);
  }
  std::string next(size_t size) const {
    std::string bytes(size, '\0');
    const ssize_t got = ::recv(connection.get(), bytes.data(), size, MSG_WAITALL);
    CHECK(got == static_cast<ssize_t>(size));
    return bytes;
  }
  // The socket itself does not wait.
  static int accepted(int listening) {
    pollfd waiting{.fd = listening, .events = POLLIN, .revents = 0};
    CHECK(::poll(&waiting, 1, -1) == 1);
    return ::accept(listening, nullptr, nullptr);
  }
  const FileDescriptor connection;
};

TEST_CASE("a client that waits says that it is there, whatever way it waits") {
  const ListeningSocket socket = ListeningSocket::bind("127.0.0.1", 0).value();
  Client client(str_cat("ipv4:127.0.0.1:", socket.port()));
  const std::string request = bytes_of(request_frame(1, "/x", 0, testing::pieces_of("me?")));
  const auto ask_and_answer = [&] {
    const Puppet server(socket);
    CHECK(server.next(request.size()) == request);
    send_bytes(server.connection, bytes_of(bare_frame(FrameKind::ask)));
    const std::string here = bytes_of(bare_frame(FrameKind::here));
    CHECK(server.next(here.size()) == here);
    send_bytes(server.connection, bytes_of(answer_frame(1, testing::pieces_of("you"), false)));
  };
  {
    std::thread server(ask_and_answer);
    CHECK(client.wait_for("/x", "me?").value().value() == "you");
    server.join();
  }
  std::thread server(ask_and_answer);
  client.wait_until_up();
  millrace::testing::Answered<std::string> answered;
  REQUIRE(client.start("/x", "me?", {}, answered.done()));
  CHECK(answered.wait().value() == "you");
  server.join();
}

TEST_CASE("a line that goes hangs up once its last call has been given up") {
  const ListeningSocket socket = ListeningSocket::bind("127.0.0.1", 0).value();
  Client client(str_cat("ipv4:127.0.0.1:", socket.port()));
  const std::string request = bytes_of(request_frame(1, "/x", 0, testing::pieces_of("me?")));
  std::latch has_come(1);
  std::thread server([&] {
    const Puppet server(socket);
    CHECK(server.next(request.size()) == request);
    has_come.count_down();
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(server.connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    // What it says of the call may go under with the connection.
    char byte = 0;
    ssize_t got = 0;
    while ((got = ::recv(server.connection.get(), &byte, 1, 0)) == 1) continue;
    CHECK_MESSAGE(got == 0, "it has not hung up: ", std::string(std::strerror(errno)));
  });
  client.wait_until_up();
  Cancellation cancellation;
  millrace::testing::Answered<std::string> answered;
  REQUIRE(client.start("/x", "me?", {.cancellation = &cancellation}, answered.done()));
  has_come.wait();
  client.lines().withdrawn();
  cancellation.cancel(cancelled("enough"));
  CHECK(answered.wait().status().code() == Code::cancelled);
  server.join();
}

}  // namespace
}  // namespace millrace::transport
