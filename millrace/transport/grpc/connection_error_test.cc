#include "millrace/transport/grpc/connection_error.h"

#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include <doctest/doctest.h>

#include "millrace/transport/grpc/testing/test_task.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

using Origin = CallFailure::Origin;
using testing::Answered;

const Peer kPeer{"/job:ps/replica:0/task:2", "ps2:2222"};

std::string explained(Status status, Origin origin = Origin::connection) {
  return explain_failure(kPeer, worker_method::kRunGraph, {std::move(status), origin}).to_string();
}

TEST_CASE("an error of the connection names the task, the address, the method and the reason") {
  CHECK(explained(
            unavailable("failed to connect to all addresses; last error: Connection refused")) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): nothing "
        "listens "
        "there (connection refused); is the task running, and on that port? [failed to connect to "
        "all "
        "addresses; last error: Connection refused]");
  CHECK(explained(unavailable("something new")) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): something "
        "new");
  CHECK(explained(error(Code::unknown, "Stream removed")).starts_with("UNAVAILABLE: "));
  CHECK(
      explained(error(Code::deadline_exceeded, "Deadline Exceeded")) ==
      "DEADLINE_EXCEEDED: /job:ps/replica:0/task:2 at ps2:2222 did not answer RunGraph before the "
      "deadline");
}

TEST_CASE(
    "a connection that breaks under a call is told as such, whoever is said to have said it") {
  CHECK(explained(unavailable("Socket closed"), Origin::peer) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): the "
        "connection broke; the task has probably ended or been restarted [Socket closed]");
}

TEST_CASE(
    "a connection that gRPC cut for want of an answer is told without gRPC's own words for it") {
  for (const Origin origin : {Origin::peer, Origin::connection}) {
    CHECK(explained(unavailable("keepalive watchdog timeout"), origin) ==
          "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): it does "
          "not answer any more, although the connection stands; it is frozen, overloaded or cut "
          "off from here");
  }
}

TEST_CASE("an error that the peer sent keeps its words") {
  CHECK(explained(out_of_range("end of input"), Origin::peer) == "OUT_OF_RANGE: end of input");
  CHECK(explained(unavailable("Socket closed, says the kernel"), Origin::peer) ==
        "UNAVAILABLE: Socket closed, says the kernel");
  CHECK(explained(unimplemented("nothing here"), Origin::peer) ==
        "UNIMPLEMENTED: nothing here (/job:ps/replica:0/task:2 at ps2:2222 does not know "
        "/tensorflow.WorkerService/RunGraph; is it a TensorFlow or Millrace task?)");
}

Status status_of(std::string_view address) {
  GrpcThreads threads;
  GrpcDirectory directory(threads, testing::test_host());
  Answered<GetStatusReply> answered;
  directory.worker({"worker", 0, 1}, address)
      .value()
      ->get_status(WhenDown::fail, {}, answered.done());
  return answered.wait().status();
}

TEST_CASE("nobody there") {
  int port = 0;
  { port = ListeningSocket::bind("127.0.0.1", 0).value().port(); }
  const Status status = status_of("127.0.0.1:" + std::to_string(port));
  CHECK(status.code() == Code::unavailable);
  CAPTURE(status.message());
  CHECK(status.message().find("connection refused") != std::string::npos);
}

TEST_CASE("no such host") {
  const Status status = status_of("no-such-host.invalid:2222");
  CHECK(status.code() == Code::unavailable);
  CAPTURE(status.message());
  CHECK(status.message().find("/job:worker/replica:0/task:1 at no-such-host.invalid:2222") == 0);
  CHECK(status.message().find("host name can't be resolved") != std::string::npos);
}

// Accepts one connection and answers it with `greeting`.
class OtherService {
 public:
  explicit OtherService(std::string greeting)
      : socket_(ListeningSocket::bind("127.0.0.1", 0).value()),
        thread_([this, greeting = std::move(greeting)] {
          pollfd waited{socket_.descriptor().get(), POLLIN, 0};
          ::poll(&waited, 1, -1);
          const FileDescriptor connection(::accept(socket_.descriptor().get(), nullptr, nullptr));
          static_cast<void>(!::write(connection.get(), greeting.data(), greeting.size()));
        }) {}
  ~OtherService() { thread_.join(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(socket_.port()); }

 private:
  ListeningSocket socket_;
  std::thread thread_;
};

TEST_CASE("somebody else there") {
  for (const char* greeting : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", ""}) {
    const OtherService other(greeting);
    const Status status = status_of(other.address());
    CAPTURE(greeting);
    CAPTURE(status.message());
    CHECK(status.code() == Code::unavailable);
    CHECK(status.message().find("/job:worker/replica:0/task:1 at " + other.address()) == 0);
  }
}

}  // namespace
}  // namespace millrace::transport
