// What is said of peers that can't be called, with gRPC's own words for it.
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include <doctest/doctest.h>

#include "millrace/transport/grpc/testing/test_task.h"

namespace millrace::transport {
namespace {

using testing::Answered;

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
