// What strangers may send to a task, and that it goes on serving.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <random>

#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/grpc/testing/test_task.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

using testing::Answered;
using testing::TestTask;

void check_it_serves(TestTask& task) {
  Answered<RunStepReply> answered;
  task.master_channel()->run_step({}, {.waiting = true}, answered.done());
  CHECK(answered.wait().ok());
}

FileDescriptor connect_to(const TestTask& task) {
  FileDescriptor connection(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(task.server->port()));
  REQUIRE(::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return connection;
}

void send_bytes(const FileDescriptor& connection, std::string_view bytes) {
  static_cast<void>(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

// A call with any method and any bytes.
Result<std::string> call(TestTask& task, std::string_view method, std::string_view bytes) {
  const auto channel =
      Channel::create(task.address(), task.threads.queue(), {},
                      std::make_shared<Rounds>(testing::test_host(), std::chrono::seconds(0)),
                      testing::test_host().metrics);
  OutgoingRequest request;
  request.peer = std::make_shared<const Peer>(Peer{"the server", task.address()});
  request.method = method;
  request.message.append(bytes);
  request.is_waited_for = true;
  Result<std::string> answered = internal("not answered");
  channel->start(std::move(request), Done<Chunks>([&](const Result<Chunks>& answer) {
                   std::string scratch;
                   answered = answer.ok() ? Result<std::string>(std::string(join(*answer, scratch)))
                                          : answer.status();
                 }));
  return answered;
}

TEST_CASE("unknown methods and services are UNIMPLEMENTED") {
  TestTask task;
  for (const char* method :
       {"/tensorflow.WorkerService/Tracing", "/tensorflow.WorkerService/CompleteGroup",
        "/tensorflow.grpc.MasterService/RunStep", "/tensorflow.eager.EagerService/CreateContext",
        "/tensorflow.CoordinationService/RegisterTask", "/x", "/", "/tensorflow.MasterService/"}) {
    CAPTURE(method);
    const auto answer = call(task, method, "");
    CHECK(answer.status().code() == Code::unimplemented);
    CHECK(answer.status().message().starts_with(str_cat("this server has no method ", method)));
  }
  check_it_serves(task);
}

TEST_CASE("bytes that are no message are refused by every method, with its name") {
  TestTask task;
  const std::string garbage = "\x0a\xff\xff\xff\xff\x0f this is not a message";
  for (const std::string_view method :
       {master_method::kCreateSession, master_method::kExtendSession,
        master_method::kPartialRunSetup, master_method::kRunStep, master_method::kCloseSession,
        master_method::kListDevices, master_method::kReset, master_method::kMakeCallable,
        master_method::kRunCallable, master_method::kReleaseCallable,
        worker_method::kCreateWorkerSession, worker_method::kDeleteWorkerSession,
        worker_method::kRegisterGraph, worker_method::kDeregisterGraph, worker_method::kRunGraph,
        worker_method::kCleanupGraph, worker_method::kCleanupAll, worker_method::kRecvTensor}) {
    CAPTURE(method);
    const auto answer = call(task, method, garbage);
    CHECK(answer.status().code() == Code::invalid_argument);
    CHECK(answer.status().message().starts_with(str_cat(short_name(method), ": ")));
  }
  check_it_serves(task);
}

TEST_CASE("an empty message is one with defaults") {
  TestTask task;
  CHECK(call(task, master_method::kRunStep, "").ok());
  CHECK(call(task, worker_method::kGetStatus, "").ok());
  CHECK(call(task, worker_method::kRegisterGraph, "").ok());
}

TEST_CASE("random messages to every method do no harm") {
  TestTask task;
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 32);
    static_cast<void>(call(task, master_method::kRunStep, bytes));
    static_cast<void>(call(task, worker_method::kRunGraph, bytes));
    static_cast<void>(call(task, worker_method::kRegisterGraph, bytes));
  }
  check_it_serves(task);
}

TEST_CASE("what is not gRPC is thrown out") {
  TestTask task;
  for (const std::string& opening :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string("\x16\x03\x01\x02\x00", 5), std::string(100'000, 'x'), std::string(1000, '\0'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(5000, '\xff')}) {
    const FileDescriptor connection = connect_to(task);
    send_bytes(connection, opening);
    // The server hangs up, with or without a last word.
    char answer[4096];
    ssize_t size = 1;
    while (size > 0) size = ::recv(connection.get(), answer, sizeof(answer), 0);
    CHECK(size <= 0);
  }
  check_it_serves(task);
}

TEST_CASE("a browser and a TLS client are told in their own language that nobody serves them") {
  TestTask task;
  for (const auto& [opening, answer] :
       {std::pair(std::string_view("GET /status HTTP/1.1\r\nHost: x\r\n\r\n"),
                  std::string_view("HTTP/1.1 501 Not Implemented\r\n")),
        std::pair(std::string_view("\x16\x03\x01\x00\x05hello", 10),
                  std::string_view("\x15\x03\x01\x00\x02\x02\x28", 7))}) {
    const FileDescriptor connection = connect_to(task);
    send_bytes(connection, opening);
    std::string heard;
    char bytes[4096];
    ssize_t size = 0;
    while ((size = ::recv(connection.get(), bytes, sizeof(bytes), 0)) > 0)
      heard.append(bytes, static_cast<size_t>(size));
    CHECK(size == 0);
    CHECK(heard.starts_with(answer));
  }
  check_it_serves(task);
}

TEST_CASE("connections that say nothing, or stop in the middle, do not disturb others") {
  TestTask task;
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(connect_to(task));
    if (i % 2 == 0) send_bytes(silent.back(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00");
  }
  check_it_serves(task);
  for (size_t i = 0; i < silent.size(); i += 3) silent[i].close();
  check_it_serves(task);
  CHECK(task.server->stop(aborted("done"), std::chrono::seconds(5)).ok());
}

TEST_CASE("a client that breaks its connection cancels its calls") {
  TestTask task;
  std::promise<void> arrived;
  std::promise<Status> ended;
  Done<RunStepReply> owed;
  Cancellation::Registration registration;
  task.master.on_run_step = [&](RunStepRequest, const Call& call, Done<RunStepReply> done) {
    owed = std::move(done);
    registration = call.cancellation->on_cancel([&](const Status& why) { ended.set_value(why); });
    arrived.set_value();
  };
  // The call as bytes, so that the connection can be cut under it: preface, empty SETTINGS, HEADERS
  // of stream 1 (literals without indexing), DATA of an empty message that ends the stream.
  const auto field = [](std::string_view name, std::string_view value) {
    return str_cat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                   std::string(1, static_cast<char>(value.size())), value);
  };
  const std::string headers = field(":method", "POST") + field(":scheme", "http") +
                              field(":path", master_method::kRunStep) + field(":authority", "x") +
                              field("content-type", "application/grpc") + field("te", "trailers");
  const auto frame = [](char type, char flags, char stream, std::string_view payload) {
    std::string bytes(9, '\0');
    bytes[1] = static_cast<char>(payload.size() >> 8);
    bytes[2] = static_cast<char>(payload.size());
    bytes[3] = type;
    bytes[4] = flags;
    bytes[8] = stream;
    return bytes + std::string(payload);
  };
  {
    const FileDescriptor connection = connect_to(task);
    send_bytes(connection, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") +
                               frame(1, 4, 1, headers) + frame(0, 1, 1, std::string(5, '\0')));
    // Only once the call is there: its answer to the SETTINGS says that the server reads.
    pollfd waited{connection.get(), POLLIN, 0};
    REQUIRE(::poll(&waited, 1, -1) == 1);
    arrived.get_future().wait();
  }
  const Status why = ended.get_future().get();
  CHECK(why == cancelled("the caller of RunStep cancelled it or lost its connection"));
  registration.release();
  owed(why);
  task.master.on_run_step = nullptr;
  check_it_serves(task);
}

TEST_CASE("a large message that ends in the middle costs its sender only") {
  TestTask task;
  const std::string truncated = "\x12\x80\x80\x80\x80\x01" + std::string(5'000'000, 'x');
  CHECK(call(task, master_method::kRunStep, truncated).status().code() == Code::invalid_argument);
  check_it_serves(task);
}

}  // namespace
}  // namespace millrace::transport
