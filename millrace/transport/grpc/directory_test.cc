// Which connections a directory keeps: those that somebody uses, and a few for whoever comes next.
#include "millrace/transport/grpc/directory.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "millrace/base/testing/footprint.h"
#include "millrace/transport/grpc/testing/test_task.h"

namespace millrace::testing {
namespace {

// A task that is reached by as many addresses as one likes, a connection each.
struct Neighbourhood {
  explicit Neighbourhood(size_t kept_channels)
      : directory(threads, process.host, {.kept_channels = kept_channels}) {
    auto socket = ListeningSocket::bind("0.0.0.0", 0);
    REQUIRE(socket.ok());
    server = GrpcServer::start(process.host, std::move(socket).value(), threads, test_ops(), master,
                               worker)
                 .value();
  }
  // Asks the worker at the address and lets go of it, or keeps it.
  std::shared_ptr<WorkerService> ask(int address) {
    auto found =
        directory.worker({"worker", 0, 1}, str_cat("127.0.0.", address, ":", server->port()));
    REQUIRE(found.ok());
    Answered<GetStatusReply> answered;
    (*found)->get_status(WhenDown::wait, {}, answered.done());
    CHECK(answered.wait().ok());
    return *found;
  }

  FakeMaster master;
  FakeWorker worker;
  TestHost process;
  GrpcThreads threads;
  GrpcDirectory directory;
  std::unique_ptr<GrpcServer> server;
};

// Connections end by themselves once nobody has them; both ends are in this process.
bool falls_to(size_t descriptors) {
  for (int tries = 0; tries < 6'000; ++tries) {
    if (static_cast<size_t>(Footprint::now().descriptors) <= descriptors) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

TEST_CASE("of the connections that nobody uses so many are kept, however many there were") {
  Neighbourhood neighbours(2);
  (void)neighbours.ask(1);
  (void)neighbours.ask(2);
  const auto kept = static_cast<size_t>(Footprint::now().descriptors);
  for (int address = 3; address < 40; ++address) (void)neighbours.ask(address);
  CHECK(falls_to(kept));
}

TEST_CASE("a connection that somebody uses stays, and is shared, kept or not") {
  Neighbourhood neighbours(0);
  const auto used = neighbours.ask(1);
  const auto one = static_cast<size_t>(Footprint::now().descriptors);
  for (int address = 2; address < 10; ++address) (void)neighbours.ask(address);
  CHECK(falls_to(one));
  const auto again = neighbours.ask(1);
  CHECK(static_cast<size_t>(Footprint::now().descriptors) == one);
}

TEST_CASE("a task that comes back is found by whoever asks for it next, without resting first") {
  TestHost process;
  GrpcThreads threads;
  FakeMaster master;
  FakeWorker worker;
  GrpcDirectory directory(threads, process.host, {});
  // The port is held, and nobody listens on it.
  const int held = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(held, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(held, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string there = str_cat("127.0.0.1:", ntohs(address.sin_port));
  const auto ask = [&] {
    Answered<GetStatusReply> answered;
    auto found = directory.worker({"worker", 0, 1}, there);
    (*found)->get_status(WhenDown::fail, {}, answered.done());
    return answered.wait().status();
  };
  for (int tries = 0; tries < 5; ++tries) CHECK(ask().code() == Code::unavailable);
  auto server = GrpcServer::start(process.host, ListeningSocket::adopt(held).value(), threads,
                                  test_ops(), master, worker)
                    .value();
  CHECK(ask().ok());
}

TEST_CASE("what is let go of is connected to anew") {
  Neighbourhood neighbours(2);
  (void)neighbours.ask(1);
  const auto kept = static_cast<size_t>(Footprint::now().descriptors);
  (void)neighbours.ask(2);
  neighbours.directory.let_go(str_cat("127.0.0.2:", neighbours.server->port()));
  CHECK(falls_to(kept));
  neighbours.directory.let_go("nowhere");
  neighbours.directory.let_go("127.0.0.3:1");
  (void)neighbours.ask(2);
}

}  // namespace
}  // namespace millrace::testing
