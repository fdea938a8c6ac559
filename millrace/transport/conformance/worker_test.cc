// The worker's methods through every transport.
#include "millrace/graph/text.h"
#include "millrace/transport/conformance/testing/suite.h"

namespace millrace::testing {
namespace {

TEST_CASE_TEMPLATE("get_status reports devices", Transport, TRANSPORTS) {
  Transport transport;
  transport.worker_behind.on_get_status = [](const Call&, Done<GetStatusReply> done) {
    done(GetStatusReply{two_devices()});
  };
  Answered<GetStatusReply> answered;
  transport.worker().get_status(WhenDown::wait, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  check_same(reply->devices, two_devices());
}

TEST_CASE_TEMPLATE("what a task can beyond TensorFlow's protocol is told", Transport, TRANSPORTS) {
  Transport transport;
  const Capabilities can = Capabilities::from_bits(uint64_t{1} << 50 | 3);
  transport.worker_behind.on_get_status = [can](const Call&, Done<GetStatusReply> done) {
    done(GetStatusReply{.devices = two_devices(), .can = can});
  };
  Answered<GetStatusReply> answered;
  transport.worker().get_status(WhenDown::wait, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  CHECK(reply->can == can);
}

TEST_CASE_TEMPLATE("who has ended is told, and passed on", Transport, TRANSPORTS) {
  Transport transport;
  EndedTask heard;
  transport.worker_behind.on_farewell = keep(heard);
  transport.worker_behind.on_get_status = [](const Call&, Done<GetStatusReply> done) {
    done(GetStatusReply{two_devices(), {{{"map", 0, 7}, 9}}});
  };
  CHECK(
      ask(transport.worker(), &WorkerService::farewell, {{"map", 1, 3}, 0xfedcba9876543210}).ok());
  CHECK(heard.task == TaskName{"map", 1, 3});
  CHECK(heard.incarnation == 0xfedcba9876543210);
  Answered<GetStatusReply> answered;
  transport.worker().get_status(WhenDown::wait, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  REQUIRE(reply->ended.size() == 1);
  CHECK(reply->ended[0].task == TaskName{"map", 0, 7});
  CHECK(reply->ended[0].incarnation == 9);
}

TEST_CASE_TEMPLATE("worker sessions are made and deleted", Transport, TRANSPORTS) {
  Transport transport;
  CreateWorkerSessionRequest made;
  DeleteWorkerSessionRequest deleted;
  transport.worker_behind.on_create_worker_session = keep(made);
  transport.worker_behind.on_delete_worker_session = keep(deleted);
  CreateWorkerSessionRequest request;
  request.session_handle = "abc";
  request.task = {"ps", 1, 3};
  ClusterSpec cluster;
  REQUIRE(cluster.add_task("ps", 3, "h:1,h:2").ok());
  request.cluster = std::make_shared<SentCluster>(cluster);
  request.isolate_session_state = true;
  request.master_task = "/job:worker/replica:0/task:0";
  request.master_incarnation = 0xfedcba9876543210;
  CHECK(ask(transport.worker(), &WorkerService::create_worker_session, request).ok());
  CHECK(made.session_handle == "abc");
  CHECK(made.task == request.task);
  REQUIRE(made.cluster);
  CHECK(made.cluster->spec() == cluster);
  CHECK(made.isolate_session_state);
  CHECK(made.master_task == request.master_task);
  CHECK(made.master_incarnation == request.master_incarnation);
  CHECK(ask(transport.worker(), &WorkerService::delete_worker_session,
            DeleteWorkerSessionRequest{"abc"})
            .ok());
  CHECK(deleted.session_handle == "abc");
}

TEST_CASE_TEMPLATE("a registered graph is the graph that was sent", Transport, TRANSPORTS) {
  Transport transport;
  RegisterGraphRequest seen;
  DeregisterGraphRequest gone;
  transport.worker_behind.on_register_graph = keep(seen, RegisterGraphReply{"g1"});
  transport.worker_behind.on_deregister_graph = keep(gone);
  auto graph = parse_graph(
      "a = Placeholder(dtype=float) -> /job:worker/replica:0/task:1/device:CPU:0\n"
      "b = Identity(a) ^a -> /job:worker/replica:0/task:1/device:CPU:0\n",
      test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  RegisterGraphRequest request;
  request.session_handle = "abc";
  request.graph = std::make_shared<const Graph>(std::move(graph).value());
  for (const bool session_created : {true, false}) {
    request.create_worker_session_called = session_created;
    request.threads = {.intra_op = session_created ? 3 : 0, .inter_op = session_created ? 2 : 0};
    const auto reply = ask(transport.worker(), &WorkerService::register_graph, request);
    REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
    CHECK(reply->graph_handle == "g1");
    CHECK(seen.create_worker_session_called == session_created);
    CHECK(seen.threads.intra_op == request.threads.intra_op);
    CHECK(seen.threads.inter_op == request.threads.inter_op);
    CHECK(to_text(*seen.graph, {.devices = PrintOptions::Devices::hidden}) ==
          to_text(*request.graph, {.devices = PrintOptions::Devices::hidden}));
  }
  CHECK(ask(transport.worker(), &WorkerService::deregister_graph,
            DeregisterGraphRequest{"abc", true, "g1"})
            .ok());
  CHECK(gone.graph_handle == "g1");
  CHECK(gone.create_worker_session_called);
}

TEST_CASE_TEMPLATE("run_graph carries values, dead ones and statistics", Transport, TRANSPORTS) {
  Transport transport;
  RunGraphRequest seen;
  RunGraphReply given;
  given.values = {{large_tensor(2'000'000), false}, {Tensor(), true}, {Tensor::scalar(1.5), false}};
  given.traces = some_metadata().traces;
  given.partition_graphs = {small_graph()};
  transport.worker_behind.on_run_graph = keep(seen, given);
  RunGraphRequest request;
  request.session_handle = "abc";
  request.graph_handle = "g1";
  request.step_id = int64_t{1} << 56;
  request.keys = std::make_shared<const StepKeys>(StepKeys{{"k1", "k2"}, {"r1", "r2", "r3"}});
  request.values = {Tensor::scalar(1.0f), large_tensor(70'000)};
  request.trace = Trace::on;
  request.record_partition_graphs = true;
  request.is_partial = true;
  request.is_last_partial_run = true;
  request.request_id = -5;
  const auto reply = ask(transport.worker(), &WorkerService::run_graph, request);
  REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
  REQUIRE(reply->values.size() == 3);
  CHECK(reply->values[0].tensor == given.values[0].tensor);
  CHECK_FALSE(reply->values[0].is_dead);
  CHECK(reply->values[1].is_dead);
  CHECK(reply->values[2].tensor == given.values[2].tensor);
  CHECK(reply->traces.size() == 1);
  CHECK(reply->partition_graphs.size() == 1);
  CHECK(seen.session_handle == "abc");
  CHECK(seen.create_worker_session_called);
  CHECK(seen.graph_handle == "g1");
  CHECK(seen.step_id == int64_t{1} << 56);
  CHECK(seen.keys->send == request.keys->send);
  CHECK(seen.keys->receive == request.keys->receive);
  CHECK(seen.values == request.values);
  CHECK(seen.trace == Trace::on);
  CHECK(seen.record_partition_graphs);
  CHECK(seen.is_partial);
  CHECK(seen.is_last_partial_run);
  CHECK(seen.request_id == -5);
}

TEST_CASE_TEMPLATE("steps and containers are cleaned up", Transport, TRANSPORTS) {
  Transport transport;
  CleanupGraphRequest step;
  CleanupAllRequest containers;
  transport.worker_behind.on_cleanup_graph = keep(step);
  transport.worker_behind.on_cleanup_all = keep(containers);
  CHECK(ask(transport.worker(), &WorkerService::cleanup_graph, CleanupGraphRequest{77}).ok());
  CHECK(step.step_id == 77);
  CHECK(ask(transport.worker(), &WorkerService::cleanup_all, CleanupAllRequest{{"a", "b"}}).ok());
  CHECK(containers.containers == std::vector<std::string>{"a", "b"});
}

TEST_CASE_TEMPLATE("recv_tensor gives the tensor, whatever its size", Transport, TRANSPORTS) {
  Transport transport;
  RecvTensorRequest seen;
  for (const int64_t elements : {0, 1, 100, 300'000, 1'048'576, 5'000'001}) {
    RecvTensorReply given;
    given.delivery.tensor = large_tensor(elements);
    given.send_start_micros = 123;
    transport.worker_behind.on_recv_tensor = keep(seen, given);
    const auto reply = ask(transport.worker(), &WorkerService::recv_tensor,
                           RecvTensorRequest{9, "src;0;dst;t;0:0", 33});
    REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
    CHECK(reply->delivery.tensor.shape() == given.delivery.tensor.shape());
    CHECK((reply->delivery.tensor == given.delivery.tensor));
    CHECK_FALSE(reply->delivery.is_dead);
    CHECK(reply->send_start_micros == 123);
    CHECK(seen.step_id == 9);
    CHECK(seen.rendezvous_key == "src;0;dst;t;0:0");
    CHECK(seen.request_id == 33);
  }
}

TEST_CASE_TEMPLATE("a dead value arrives dead", Transport, TRANSPORTS) {
  Transport transport;
  RecvTensorRequest seen;
  RecvTensorReply given;
  given.delivery.is_dead = true;
  transport.worker_behind.on_recv_tensor = keep(seen, given);
  const auto reply =
      ask(transport.worker(), &WorkerService::recv_tensor, RecvTensorRequest{9, "k", 33});
  REQUIRE(reply.ok());
  CHECK(reply->delivery.is_dead);
}

}  // namespace
}  // namespace millrace::testing
