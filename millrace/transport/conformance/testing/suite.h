// What every way to a master or worker must do, whether it passes pointers or bytes: the request
// that goes in is the request that arrives, the reply that is given is the reply that comes out, an
// error stays what it is, and a cancellation gets through. The suite is calls_test.cc,
// master_test.cc and worker_test.cc; a new transport joins with one more line in TRANSPORTS.
#pragma once

#include <numeric>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/testing/answered.h"
#include "millrace/cluster/testing/fake_services.h"
#include "millrace/graph/testing/test_ops.h"
#include "millrace/transport/grpc/handover.h"
#include "millrace/transport/grpc/transport.h"
#include "millrace/transport/inproc/transport.h"

namespace millrace::testing {

// The fakes themselves: what the suite takes for granted must hold without any transport.
struct ByPointer {
  FakeMaster master_behind;
  FakeWorker worker_behind;
  MasterService& master() { return master_behind; }
  WorkerService& worker() { return worker_behind; }
};

// The fakes served through a transport, and what it gives to those who look for them. A worker is
// found through an object of its own, as another task has it.
template <class T>
struct Over {
  MasterService& master() { return *dialled; }
  WorkerService& worker() { return *found; }

  static ListeningSocket bound() {
    auto socket = ListeningSocket::bind("127.0.0.1", 0);
    REQUIRE_MESSAGE(socket.ok(), socket.status().to_string());
    return std::move(socket).value();
  }
  template <class Made>
  static Made must(Result<Made> made) {
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return std::move(made).value();
  }

  static T made() {
    if constexpr (std::is_constructible_v<T, const Host&>) {
      return T(test_host());
    } else {
      return T();
    }
  }

  T transport = made();
  ListeningSocket socket = bound();
  const std::string address = socket.address();
  std::shared_ptr<FakeMaster> fake_master = std::make_shared<FakeMaster>();
  std::shared_ptr<FakeWorker> fake_worker = std::make_shared<FakeWorker>();
  FakeMaster& master_behind = *fake_master;
  FakeWorker& worker_behind = *fake_worker;
  std::unique_ptr<Serving> serving = must(transport.serve(
      {test_ops(), fake_master, fake_worker}, {.address = address, .socket = std::move(socket)}));
  std::shared_ptr<MasterService> dialled =
      must(transport.dial(str_cat(transport.scheme(), "://", address), {}));
  std::unique_ptr<WorkerDirectory> peers = transport.peers({});
  std::shared_ptr<WorkerService> found = must(peers->worker({"worker", 0, 1}, address));
};

// gRPC between two that have met: without gRPC (transport/direct).
struct OverLines : Over<GrpcTransport> {
  OverLines() {
    Answered<CreateSessionReply> session;
    dialled->create_session({}, {}, session.done());
    REQUIRE(session.wait().ok());
    Answered<GetStatusReply> status;
    found->get_status(WhenDown::fail, {}, status.done());
    REQUIRE(status.wait().ok());
    wait_until_direct([&](Done<void> done) { dialled->release_callable({}, {}, std::move(done)); });
    wait_until_direct([&](Done<void> done) { found->deregister_graph({}, {}, std::move(done)); });
  }

 private:
  // The line connects while calls go the other way.
  template <class Make>
  void wait_until_direct(Make make) {
    const uint64_t before = transport.num_direct_messages();
    while (transport.num_direct_messages() == before) {
      Answered<void> answered;
      make(answered.done());
      REQUIRE(answered.wait().ok());
    }
  }
};

// One line per transport.
#define TRANSPORTS ByPointer, Over<InprocTransport>, Over<GrpcTransport>, OverLines

// A server has handled the request before its answer arrives. The thread sanitizer does not see
// that through the network.
inline int the_network;

// Makes the call and waits for its outcome.
template <class Reply, class Service, class Request>
Outcome<Reply> ask(Service& service, void (Service::*method)(Request, Call, Done<Reply>),
                   Request request, Call call = {}) {
  Answered<Reply> answered;
  (service.*method)(std::move(request), call, answered.done());
  Outcome<Reply> outcome = answered.wait();
  transport::take_over(&the_network);
  return outcome;
}

template <class Request, class Reply>
Answer<Request, Reply> keep(Request& seen, Reply reply) {
  return [&seen, reply](Request request, const Call&, Done<Reply> done) {
    seen = std::move(request);
    transport::hand_over(&the_network);
    done(reply);
  };
}
template <class Request>
Answer<Request, void> keep(Request& seen) {
  return [&seen](Request request, const Call&, Done<void> done) {
    seen = std::move(request);
    transport::hand_over(&the_network);
    done(Status());
  };
}

inline wire::GraphDef small_graph() {
  wire::GraphDef graph;
  wire::NodeDef& node = graph.nodes.emplace_back();
  node.name = "c";
  node.op = "Const";
  node.device = "/job:ps";
  node.attrs = {{"dtype", DType::f32}, {"value", Tensor::scalar(2.5f)}};
  graph.versions.producer = 2313;
  return graph;
}

inline std::vector<DeviceAttributes> two_devices() {
  std::vector<DeviceAttributes> devices(2);
  devices[0].name = "/job:worker/replica:0/task:0/device:CPU:0";
  devices[0].type = "CPU";
  devices[0].incarnation = 0xffffffffffffffff;
  devices[1].name = "/job:worker/replica:0/task:1/device:CPU:0";
  devices[1].memory_limit = int64_t{1} << 40;
  devices[1].description = "spare";
  return devices;
}

inline void check_same(const std::vector<DeviceAttributes>& a,
                       const std::vector<DeviceAttributes>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].type == b[i].type);
    CHECK(a[i].memory_limit == b[i].memory_limit);
    CHECK(a[i].incarnation == b[i].incarnation);
    CHECK(a[i].description == b[i].description);
  }
}

inline RunMetadata some_metadata() {
  RunMetadata metadata;
  DeviceTrace& trace = metadata.traces.emplace_back();
  trace.device = "/job:worker/replica:0/task:0/device:CPU:0";
  trace.nodes.push_back({"x/sum",
                         "Add",
                         1'700'000'000'000'000,
                         1'700'000'000'000'042,
                         7,
                         {{0, DType::f32, Shape{2, 3}}, {2, DType::string, Shape{}}}});
  metadata.partition_graphs.push_back(small_graph());
  return metadata;
}

inline void check_same(const RunMetadata& a, const RunMetadata& b) {
  REQUIRE(a.traces.size() == b.traces.size());
  for (size_t i = 0; i < a.traces.size(); ++i) {
    CHECK(a.traces[i].device == b.traces[i].device);
    REQUIRE(a.traces[i].nodes.size() == b.traces[i].nodes.size());
    for (size_t j = 0; j < a.traces[i].nodes.size(); ++j) {
      const NodeTiming& left = a.traces[i].nodes[j];
      const NodeTiming& right = b.traces[i].nodes[j];
      CHECK(left.node_name == right.node_name);
      CHECK(left.op == right.op);
      CHECK(left.start_micros == right.start_micros);
      CHECK(left.end_micros == right.end_micros);
      CHECK(left.thread == right.thread);
      CHECK(left.outputs == right.outputs);
    }
  }
  REQUIRE(a.partition_graphs.size() == b.partition_graphs.size());
}

inline Tensor large_tensor(int64_t elements) {
  Tensor tensor = Tensor::allocate(DType::i32, Shape{elements}).value();
  auto values = tensor.mutable_flat<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return tensor;
}

}  // namespace millrace::testing
