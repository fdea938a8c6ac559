// What tests of this room share: a served task with fake services.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/testing/answered.h"
#include "millrace/cluster/testing/fake_services.h"
#include "millrace/graph/testing/test_ops.h"
#include "millrace/transport/grpc/directory.h"
#include "millrace/transport/grpc/master_channel.h"
#include "millrace/transport/grpc/server.h"

namespace millrace::testing {

// A task on the loopback.
struct TestTask {
  explicit TestTask(GrpcThreads::Options options = {}) : threads(options) { serve(); }

  // Binds and starts; port 0 takes any.
  void serve(int port = 0) {
    auto socket = ListeningSocket::bind("127.0.0.1", port);
    REQUIRE_MESSAGE(socket.ok(), socket.status().to_string());
    auto started = GrpcServer::start(test_host(), std::move(socket).value(), threads, test_ops(),
                                     master, worker);
    REQUIRE_MESSAGE(started.ok(), started.status().to_string());
    server = std::move(started).value();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }

  std::shared_ptr<WorkerService> worker_channel() {
    return directory.worker({"worker", 0, 1}, address()).value();
  }
  std::unique_ptr<GrpcMasterChannel> master_channel() const {
    return GrpcMasterChannel::create("grpc://" + address(), threads, test_host()).value();
  }

  FakeMaster master;
  FakeWorker worker;
  GrpcThreads threads;
  GrpcDirectory directory{threads, test_host()};
  std::unique_ptr<GrpcServer> server;
};

// The same, called by clients that have met it: without gRPC (transport/direct).
struct DirectTask : TestTask {
  DirectTask() : TestTask({.direct = true}) {}

  std::shared_ptr<WorkerService> worker_channel() {
    auto channel = TestTask::worker_channel();
    Answered<GetStatusReply> met;
    channel->get_status(WhenDown::fail, {}, met.done());
    REQUIRE(met.wait().ok());
    wait_until_direct([&](Done<void> done) { channel->deregister_graph({}, {}, std::move(done)); });
    return channel;
  }
  std::unique_ptr<GrpcMasterChannel> master_channel() const {
    auto channel = TestTask::master_channel();
    Answered<CreateSessionReply> met;
    channel->create_session({}, {}, met.done());
    REQUIRE(met.wait().ok());
    wait_until_direct([&](Done<void> done) { channel->release_callable({}, {}, std::move(done)); });
    return channel;
  }

 private:
  // The line connects while calls go the other way.
  template <class Make>
  void wait_until_direct(Make make) const {
    const auto& intake = *threads.direct()->intake();
    const uint64_t before = intake.num_messages();
    while (intake.num_messages() == before) {
      Answered<void> answered;
      make(answered.done());
      REQUIRE(answered.wait().ok());
    }
  }
};

}  // namespace millrace::testing

// Whatever way the calls take.
#define ALL_TASKS millrace::testing::TestTask, millrace::testing::DirectTask
