// Worker sessions: handles, masters that restart, isolation, clusters that clients send.
#include "millrace/worker/testing/test_cluster.h"
#include "millrace/worker/worker_session.h"

namespace millrace::testing {
namespace {

Status open(Worker& worker, CreateWorkerSessionRequest request) {
  return outcome_of([&](Done<void> done) {
    worker.create_worker_session(std::move(request), {}, std::move(done));
  });
}

CreateWorkerSessionRequest session(std::string handle, std::string master = {},
                                   uint64_t incarnation = 0) {
  CreateWorkerSessionRequest request;
  request.session_handle = std::move(handle);
  request.master_task = std::move(master);
  request.master_incarnation = incarnation;
  return request;
}

// Registers a graph of one node in a session; what that says tells whether the session is there.
Status probe(TestCluster& cluster, const std::string& handle, const std::string& device = {}) {
  Graph graph(cluster.lab.ops);
  const NodeId node = graph.add({.name = "n", .op = "NoOp"}).value();
  graph.set_device(node, device.empty() ? TestCluster::device(0) : device);
  Status status;
  cluster.worker(0).register_graph(
      {.session_handle = handle, .graph = std::make_shared<const Graph>(std::move(graph))}, {},
      Done<RegisterGraphReply>([&](Result<RegisterGraphReply> reply) { status = reply.status(); }));
  return status;
}

GetStatusReply status_of(Worker& worker) {
  GetStatusReply found;
  worker.get_status(WhenDown::fail, {}, Done<GetStatusReply>([&](Result<GetStatusReply> reply) {
                      found = *std::move(reply);
                    }));
  return found;
}

TEST_CASE("a worker reports its devices with incarnations of this life") {
  TestCluster cluster(1, 2);
  const auto first = status_of(cluster.worker(0));
  REQUIRE(first.devices.size() == 2);
  CHECK(first.devices[1].name == "/job:worker/replica:0/task:0/device:CPU:1");
  CHECK(first.devices[1].type == "CPU");
  CHECK(first.devices[0].incarnation != 0);
  CHECK(first.devices[0].incarnation != first.devices[1].incarnation);
  cluster.restart(0);
  CHECK(status_of(cluster.worker(0)).devices[0].incarnation != first.devices[0].incarnation);
}

// Counts what is posted, and runs none of it.
class CountingPool final : public Runner {
 public:
  void post(Task) override { ++posted; }
  int posted = 0;
};

TEST_CASE("kernels, and the work of one, have as many threads as their session asked for") {
  TestCluster cluster;
  CountingPool all;
  TestHost here;
  WorkerSession session({.handle = "s", .calls = {here.host, nullptr}});
  const auto pools_for = [&](ThreadLimits threads) {
    RegisterGraphRequest request{.graph = std::make_shared<const Graph>(cluster.lab.ops),
                                 .threads = threads};
    return session.register_graph(std::move(request), all).value()->pools();
  };
  for (const int any : {0, -1}) {
    CHECK(pools_for({.intra_op = any, .inter_op = any}).intra_op.get() == &all);
    CHECK(pools_for({.intra_op = any, .inter_op = any}).inter_op.get() == &all);
  }
  CHECK(pools_for({.intra_op = 1}).intra_op == nullptr);
  CHECK(pools_for({.intra_op = 1}).inter_op.get() == &all);
  CHECK(pools_for({.inter_op = 1}).inter_op == nullptr);
  CHECK(pools_for({.inter_op = 1}).intra_op.get() == &all);
  // The thread that asks is the third.
  const auto two_more = pools_for({.intra_op = 3, .inter_op = 3});
  CHECK(pools_for({.intra_op = 3}).intra_op == two_more.intra_op);
  CHECK(two_more.intra_op != two_more.inter_op);
  for (int i = 0; i < 5; ++i) two_more.intra_op->post([] {});
  CHECK(all.posted == 2);
}

TEST_CASE("a session needs a handle, and a repeated one changes nothing") {
  TestCluster cluster;
  CHECK(open(cluster.worker(0), session("")) == invalid("Session must be non-empty."));
  CHECK(open(cluster.worker(0), session("a")).ok());
  CHECK(open(cluster.worker(0), session("a")).ok());
  CHECK(probe(cluster, "a").ok());
  CHECK(probe(cluster, "b").code() == Code::aborted);
}

TEST_CASE("with the last session the memory goes that was kept for its steps") {
  TestCluster cluster;
  const auto close = [&](const std::string& handle) {
    return outcome_of([&](Done<void> done) {
      cluster.worker(0).delete_worker_session({.session_handle = handle}, {}, std::move(done));
    });
  };
  REQUIRE(close("s").ok());  // the lab's own
  REQUIRE(open(cluster.worker(0), session("a")).ok());
  REQUIRE(open(cluster.worker(0), session("b")).ok());
  REQUIRE(Buffer::allocate(size_t{1} << 20).ok());
  CHECK(cached_block_bytes() > 0);
  CHECK(close("a").ok());
  CHECK(cached_block_bytes() > 0);
  CHECK(close("b").ok());
  CHECK(cached_block_bytes() == 0);
}

TEST_CASE("a deleted session is gone, and deleting is fine for one that is not known") {
  TestCluster cluster;
  const auto remove = [&](const std::string& handle) {
    return outcome_of([&](Done<void> done) {
      cluster.worker(0).delete_worker_session({.session_handle = handle}, {}, std::move(done));
    });
  };
  const std::string graph = cluster.add_graph(0, "w = Wait()");
  auto running = cluster.start(0, graph, {});
  CHECK(remove("s").ok());
  CHECK(remove("s").ok());
  CHECK(running->wait().status.code() == Code::cancelled);
  CHECK(probe(cluster, "s").code() == Code::aborted);
}

TEST_CASE("sessions of a master that has restarted are dropped when it comes back") {
  TestCluster cluster;
  CHECK(open(cluster.worker(0), session("old", "/job:worker/task:1", 1)).ok());
  CHECK(open(cluster.worker(0), session("same life", "/job:worker/task:1", 1)).ok());
  CHECK(open(cluster.worker(0), session("other", "/job:worker/task:2", 5)).ok());
  CHECK(probe(cluster, "old").ok());
  CHECK(open(cluster.worker(0), session("new", "/job:worker/task:1", 2)).ok());
  CHECK(probe(cluster, "old").code() == Code::aborted);
  CHECK(probe(cluster, "same life").code() == Code::aborted);
  CHECK(probe(cluster, "other").ok());
  CHECK(probe(cluster, "new").ok());
}

TEST_CASE("a master that creates no sessions is served by the legacy one") {
  TestCluster cluster;
  Graph graph(cluster.lab.ops);
  graph.set_device(graph.add({.name = "n", .op = "NoOp"}).value(), TestCluster::device(0));
  std::string handle;
  cluster.worker(0).register_graph({.session_handle = "any",
                                    .create_worker_session_called = false,
                                    .graph = std::make_shared<const Graph>(std::move(graph))},
                                   {},
                                   Done<RegisterGraphReply>([&](Result<RegisterGraphReply> reply) {
                                     handle = reply->graph_handle;
                                   }));
  RunGraphRequest request;
  request.create_worker_session_called = false;
  request.graph_handle = handle;
  Status status = internal("not answered");
  cluster.worker(0).run_graph(
      std::move(request), {},
      Done<RunGraphReply>([&](Result<RunGraphReply> reply) { status = reply.status(); }));
  CHECK(status.ok());
}

struct Mark final : Resource {
  static constexpr std::string_view kTypeName = "mark";
  std::string description() const override { return "a mark"; }
};

// An op that leaves a resource on its device, or fails if there is one.
void add_mark_op(OpRegistry& ops) {
  REQUIRE(ops.add({.name = "LeaveMark",
                   .doc = {},
                   .signature = "->",
                   .cpu = kernel([](KernelContext& c) {
                     return c.step().device->resources->add<Mark>("", "mark",
                                                                  std::make_shared<Mark>());
                   })})
              .ok());
}

Status leave_mark(TestCluster& cluster, const std::string& handle, const std::string& device) {
  Graph graph(cluster.lab.ops);
  graph.set_device(graph.add({.name = "n", .op = "LeaveMark"}).value(), device);
  Status status = internal("not answered");
  cluster.worker(0).register_graph(
      {.session_handle = handle, .graph = std::make_shared<const Graph>(std::move(graph))}, {},
      Done<RegisterGraphReply>([&](Result<RegisterGraphReply> registered) {
        if (!registered.ok()) {
          status = registered.status();
          return;
        }
        RunGraphRequest request;
        request.session_handle = handle;
        request.graph_handle = registered->graph_handle;
        cluster.worker(0).run_graph(
            std::move(request), {},
            Done<RunGraphReply>([&](Result<RunGraphReply> reply) { status = reply.status(); }));
      }));
  return status;
}

TEST_CASE("sessions share containers unless one is isolated, and a reset clears the shared ones") {
  TestCluster cluster;
  add_mark_op(cluster.lab.ops);
  CHECK(open(cluster.worker(0), session("a")).ok());
  CHECK(open(cluster.worker(0), session("b")).ok());
  CreateWorkerSessionRequest alone = session("alone");
  alone.isolate_session_state = true;
  CHECK(open(cluster.worker(0), alone).ok());
  const std::string device = TestCluster::device(0);
  CHECK(leave_mark(cluster, "a", device).ok());
  CHECK(leave_mark(cluster, "b", device).code() == Code::already_exists);
  CHECK(leave_mark(cluster, "alone", device).ok());

  CHECK(outcome_of([&](Done<void> done) {
          cluster.worker(0).cleanup_all({}, {}, std::move(done));
        }).ok());
  CHECK(leave_mark(cluster, "b", device).ok());
  CHECK(leave_mark(cluster, "alone", device).code() == Code::already_exists);
}

TEST_CASE("the default container bears the name of the task's job") {
  TestCluster cluster;
  add_mark_op(cluster.lab.ops);
  CHECK(open(cluster.worker(0), session("a")).ok());
  CHECK(leave_mark(cluster, "a", TestCluster::device(0)).ok());
  const auto reset = [&](std::string container) {
    return outcome_of([&](Done<void> done) {
      cluster.worker(0).cleanup_all({.containers = {std::move(container)}}, {}, std::move(done));
    });
  };
  REQUIRE(reset("localhost").ok());
  CHECK(leave_mark(cluster, "a", TestCluster::device(0)).code() == Code::already_exists);
  REQUIRE(reset("worker").ok());
  CHECK(leave_mark(cluster, "a", TestCluster::device(0)).ok());
}

TEST_CASE("in a cluster that the client sent, the task has the name that it has there") {
  TestCluster cluster;
  add_mark_op(cluster.lab.ops);
  CreateWorkerSessionRequest renamed = session("renamed");
  renamed.task = {.job = "mine", .replica = 0, .task = 7};
  ClusterSpec mine;
  REQUIRE(mine.add_task("mine", 7, "test:1").ok());
  renamed.cluster = std::make_shared<SentCluster>(mine);
  CHECK(open(cluster.worker(0), renamed).ok());
  CHECK(probe(cluster, "renamed").code() == Code::invalid_argument);
  CHECK(leave_mark(cluster, "renamed", "/job:mine/replica:0/task:7/device:CPU:0").ok());
  // The device is the same one.
  CHECK(open(cluster.worker(0), session("plain")).ok());
  CHECK(leave_mark(cluster, "plain", TestCluster::device(0)).code() == Code::already_exists);
}

}  // namespace
}  // namespace millrace::testing
