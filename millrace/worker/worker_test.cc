// One worker: graphs, runs, partial runs.
#include "millrace/worker/worker.h"

#include <algorithm>
#include <latch>
#include <thread>

#include "millrace/ops/flow/families.h"
#include "millrace/ops/random/families.h"
#include "millrace/worker/testing/test_cluster.h"

namespace millrace::testing {
namespace {

// A step is answered a moment before the thread that answers has let go of it.
bool soon_idle(const Worker& worker) {
  const auto deadline = Clock::real().now() + std::chrono::seconds(20);
  while (!worker.describe_waits().empty()) {
    if (Clock::real().now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

using Leg = TestCluster::Values::Leg;

TEST_CASE("a constant is fetched") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "c = Const(2)", {}, {"c"});
  CHECK(cluster.run(0, graph, {.fetches = {"c"}}).value("c") == number(2));
}

TEST_CASE("feeds and fetches go by key, in whichever order a request names them") {
  TestCluster cluster;
  const std::string graph =
      cluster.add_graph(0, "s = Add(a, b) d = Add(s, a)", {"a", "b"}, {"s", "d"});
  const auto one = cluster.run(
      0, graph, {.feeds = {{"a", number(1)}, {"b", number(10)}}, .fetches = {"s", "d"}});
  CHECK(one.value("s") == number(11));
  CHECK(one.value("d") == number(12));
  const auto other = cluster.run(
      0, graph, {.feeds = {{"b", number(20)}, {"a", number(2)}}, .fetches = {"d", "s"}});
  CHECK(other.value("s") == number(22));
  CHECK(other.value("d") == number(24));
}

TEST_CASE("a feed that does not come fails the step with its name") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "s = Add(a, a)", {"a"}, {"s"});
  const auto outcome = cluster.run(0, graph, {.fetches = {"s"}});
  CHECK(outcome.status.code() == Code::invalid_argument);
  CHECK(outcome.status.message().find("no value for its feed 'a'") != std::string::npos);
}

TEST_CASE("a key that the graph does not send fails the step") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "c = Const(2)");
  const auto outcome = cluster.run(0, graph, {.fetches = {"other"}, .step = 9});
  CHECK(outcome.status.code() == Code::internal);
  CHECK(outcome.status.message().find("Failed to fetch outputs for step 9") != std::string::npos);
}

TEST_CASE("a value of a branch that was not taken comes back dead") {
  TestCluster cluster;
  const std::string graph =
      cluster.add_graph(0, "p = Const(false) c = Const(1) s = Switch(c, p)", {}, {"s:1"});
  CHECK(cluster.run(0, graph, {.fetches = {"s:1"}}).at("s:1").is_dead);
}

TEST_CASE("a call that a master left in a graph is lowered where it runs") {
  TestCluster cluster(1, 2);
  const std::string graph =
      cluster.add_graph(0,
                        "function twice \"x: int32 -> y: int32\" { s = Add(x, x) @ /device:CPU:1 "
                        "return y = s:z:0 } "
                        "c = PartitionedCall(a, Tout={int32}, f=twice) -> $0",
                        {"a"}, {"c"});
  CHECK(cluster.run(0, graph, {.feeds = {{"a", number(4)}}, .fetches = {"c"}}).value("c") ==
        number(8));
  CHECK(cluster.try_add_graph(0, "c = PartitionedCall(Tin={}, Tout={}, f=f)").status().message() ==
        "Node 'c' (PartitionedCall): Function f is not defined: the graph came with 0 functions");
}

TEST_CASE("handles that are not known are ABORTED in TensorFlow's words") {
  TestCluster cluster;
  const auto outcome = cluster.run(0, "none", {});
  CHECK(outcome.status == aborted("Session handle is not found: s. Possibly this worker "
                                  "(\"/job:worker/replica:0/task:0\") just restarted."));
  CHECK(outcome.status.payloads().contains(kWorkerPossiblyRestartedUrl));

  cluster.open_session(0);
  CHECK(cluster.run(0, "none", {}).status == aborted("Graph handle is not found: none"));
  CHECK(outcome_of([&](Done<void> done) {
          cluster.worker(0).deregister_graph({.session_handle = "s", .graph_handle = "none"}, {},
                                             std::move(done));
        }) == aborted("Graph handle is not found: none. Possibly, this worker just restarted."));
}

TEST_CASE("a deregistered graph is gone") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "c = Const(2)");
  CHECK(cluster.run(0, graph, {}).status.ok());
  CHECK(outcome_of([&](Done<void> done) {
          cluster.worker(0).deregister_graph({.session_handle = "s", .graph_handle = graph}, {},
                                             std::move(done));
        }).ok());
  CHECK(cluster.run(0, graph, {}).status.code() == Code::aborted);
}

TEST_CASE("a request that comes twice is run once") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "c = Const(2) l = Log(c)");
  CHECK(cluster.run(0, graph, {.request_id = 77}).status.ok());
  const auto again = cluster.run(0, graph, {.request_id = 77});
  CHECK(again.status.code() == Code::aborted);
  CHECK(again.status.message().starts_with("The same RunGraph request was received twice."));
  CHECK(cluster.lab.log().size() == 1);
}

TEST_CASE(
    "a graph on a device that is not here is refused, and the devices that are here are named") {
  TestCluster cluster(2);
  const auto handle = cluster.try_add_graph(0, "c = Const(2) -> $1");
  CHECK(handle.status().code() == Code::invalid_argument);
  CHECK(handle.status().message().find(
            "/job:worker/replica:0/task:1/device:CPU:0 unknown device.") != std::string::npos);
  CHECK(handle.status().message().find(TestCluster::device(0)) != std::string::npos);
}

TEST_CASE("a graph that only asks for devices, as from the wire, runs there") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "c = Const(2) @ $0 l = Log(c) @ $0", {}, {});
  CHECK(cluster.run(0, graph, {}).status.ok());
  CHECK(cluster.lab.log().size() == 1);
}

TEST_CASE("a graph on several devices is cut between them") {
  TestCluster cluster(1, 2);
  const std::string graph = cluster.add_graph(
      0,
      "a = Const(2) -> $0.1 b = Add(a, x) -> $0.1 c = Log(b) -> $0 d = Add(c, a) -> $0.1 "
      "last = Log(c) ^d -> $0",
      {"x"}, {"last", "d"});
  for (int i = 0; i < 3; ++i) {
    const auto outcome =
        cluster.run(0, graph, {.feeds = {{"x", number(i)}}, .fetches = {"d", "last"}});
    CHECK(outcome.value("d") == number(4 + i));
    CHECK(outcome.value("last") == number(2 + i));
  }
}

TEST_CASE("what one device of a task waits for from another is told by its key, and is cancelled") {
  TestCluster cluster(1, 2);
  const std::string graph =
      cluster.add_graph(0, "w = Wait() -> $0.1 l = Add(w, w, T=int32) -> $0", {}, {"l"});
  for (int i = 0; i < 2; ++i) {
    auto running = cluster.start(0, graph, {.fetches = {"l"}});
    const auto waits = cluster.worker(0).describe_waits();
    REQUIRE(waits.size() == 1);
    REQUIRE(waits[0].receives.size() == 1);
    CHECK(waits[0].receives[0].key.find("/device:CPU:1;") != std::string::npos);
    cluster.lab.answer("w", 3);
    CHECK(running->wait().value("l") == number(6));
  }
  auto running = cluster.start(0, graph, {.fetches = {"l"}});
  running->cancellation.cancel(cancelled("the client left"));
  CHECK(running->wait().status.code() == Code::cancelled);
  CHECK(soon_idle(cluster.worker(0)));
}

TEST_CASE("a branch that is not taken is dead on the other device too, step after step") {
  TestCluster cluster(1, 2);
  for (const bool taken : {true, false}) {
    const std::string graph = cluster.add_graph(
        0,
        str_cat("p = Const(", taken ? "true" : "false",
                ") -> $0 s = Switch(x, p) -> $0 y = Log(s:1) -> $0.1 z = Log(y) -> $0"),
        {"x"}, {"z"});
    for (int i = 0; i < 2; ++i) {
      const auto outcome = cluster.run(0, graph, {.feeds = {{"x", number(4)}}, .fetches = {"z"}});
      CHECK(outcome.at("z").is_dead == !taken);
      if (taken) CHECK(outcome.value("z") == number(4));
    }
  }
}

TEST_CASE("a failure on one device stops the others and is the one that is told") {
  TestCluster cluster(1, 2);
  const std::string graph = cluster.add_graph(0, "w = Wait() -> $0 f = Fail() -> $0.1");
  const auto outcome = cluster.run(0, graph, {});
  CHECK(outcome.status == invalid("no\n\t [[{{node f}}]]"));
  CHECK_FALSE(outcome.status.is_consequence());
}

TEST_CASE("cancelling the call ends a step that waits, as a consequence") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "w = Wait()");
  auto running = cluster.start(0, graph, {});
  CHECK_FALSE(running->is_done());
  running->cancellation.cancel(cancelled("the client left"));
  const auto outcome = running->wait();
  CHECK(outcome.status.code() == Code::cancelled);
  CHECK(outcome.status.message().starts_with("the client left"));
  CHECK(outcome.status.is_consequence());
}

// What waits inside a system call, in both places that there are for it.
class SystemCalls {
 public:
  explicit SystemCalls(Runner& blocking) {
    for (int i = 0; i < 2; ++i) blocking.post([over = over_] { over->wait(); });
  }
  ~SystemCalls() { over_->count_down(); }

 private:
  const std::shared_ptr<std::latch> over_ = std::make_shared<std::latch>(1);
};

TEST_CASE("kernels that block do so at the host's place for it, and a cancelled step leaves them") {
  for (const Leg leg : {Leg::none, Leg::last}) {
    TestCluster cluster;
    REQUIRE(register_checks(cluster.lab.ops).ok());
    const SystemCalls calls(cluster.process.host.blocking);
    const std::string graph =
        cluster.add_graph(0, R"(t = Const("") p = PrintV2(t, end="") d = Const(1) ^p)", {}, {"d"});
    auto running = cluster.start(0, graph, {.fetches = {"d"}, .step = 3, .leg = leg});
    running->cancellation.cancel(cancelled("the client left"));
    CHECK(running->wait().status.code() == Code::cancelled);
  }
}

TEST_CASE("numbers without a seed come from the host's randomness") {
  const auto draw = [] {
    TestCluster cluster;
    REQUIRE(register_random(cluster.lab.ops).ok());
    const std::string graph =
        cluster.add_graph(0, "n = Const([4]) r = RandomUniform(n, dtype=float)", {}, {"r"});
    return cluster.run(0, graph, {.fetches = {"r"}}).value("r");
  };
  CHECK(draw() == draw());
}

TEST_CASE("a traced step tells when its nodes ran and what they made, by device") {
  TestCluster cluster(1, 2);
  const std::string graph = cluster.add_graph(0, "a = Const(1) -> $0 b = Const(1) -> $0.1", {}, {});
  const auto outcome = cluster.run(0, graph, {.trace = Trace::on, .record_partition_graphs = true});
  REQUIRE(outcome.reply.traces.size() == 2);
  CHECK(outcome.reply.traces[0].device == TestCluster::device(0, 0));
  REQUIRE(outcome.reply.traces[1].nodes.size() == 1);
  const NodeTiming& timing = outcome.reply.traces[1].nodes[0];
  CHECK(timing.node_name == "b");
  CHECK(timing.op == "Const");
  CHECK(timing.start_micros <= timing.end_micros);
  CHECK(timing.outputs == std::vector<OutputTrace>{{0, DType::i32, Shape{}}});
  CHECK(outcome.reply.partition_graphs.size() == 2);
}

TEST_CASE("what runs can be asked what it waits for") {
  TestCluster cluster(2);
  const std::string graph = cluster.add_graph(
      0, str_cat("r = _Recv(tensor_type=int32, ", cluster.channel("x", 1, 0), ")"));
  auto running = cluster.start(0, graph, {.step = 5});
  const auto waits = cluster.worker(0).describe_waits();
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].step_id == 5);
  CHECK(waits[0].session_handle == "s");
  CHECK(waits[0].graph_handle == graph);
  REQUIRE(waits[0].receives.size() == 1);
  CHECK(waits[0].receives[0].key == cluster.key("x", 1, 0));
  CHECK(waits[0].receives[0].age <= waits[0].age);
  running->cancellation.cancel(cancelled("enough"));
  (void)running->wait();
  CHECK(soon_idle(cluster.worker(0)));
}

TEST_CASE("a step says in which of its nodes it waits, and not in those of the step before") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "a = Wait()\nb = Wait()\nc = Add(a, b, T=int32)");
  for (const int64_t step : {5, 6}) {
    auto running = cluster.start(0, graph, {.step = step});
    CHECK(to_text(cluster.worker(0).describe_waits().at(0))
              .ends_with(", is in b (Wait) and a (Wait)"));
    cluster.lab.answer("a", 1);
    cluster.lab.answer("b", 1);
    CHECK(running->wait().status.ok());
  }
}

TEST_CASE("a worker that stops ends its steps and refuses calls with the reason") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "w = Wait()");
  auto running = cluster.start(0, graph, {});
  auto receiving = cluster.receive(0, cluster.key("x", 0, 0), 99);
  cluster.worker(0).stop(unavailable("the task is going down"));
  CHECK(running->wait().status.message().starts_with("the task is going down"));
  CHECK(receiving->wait().status().message() == "the task is going down");
  CHECK(cluster.run(0, graph, {}).status == unavailable("the task is going down"));
  CHECK(cluster.receive(0, cluster.key("x", 0, 0))->wait().status() ==
        unavailable("the task is going down"));
}

TEST_CASE("a run that is used again leaves nothing behind of the runs beside the earlier one") {
  TestCluster cluster;
  const std::string first = cluster.add_graph(0, "a = Wait()"),
                    second = cluster.add_graph(0, "b = Wait()");
  auto one = cluster.start(0, first, {.step = 1});
  auto other = cluster.start(0, second, {.step = 2});
  cluster.lab.answer("a", 1);
  CHECK(one->wait().status.ok());
  cluster.lab.answer("b", 1);
  CHECK(other->wait().status.ok());
  one.reset();
  one = cluster.start(0, first, {.step = 3});
  cluster.lab.answer("a", 1);
  CHECK(one->wait().status.ok());
  CHECK(cluster.worker(0).describe_waits().empty());
}

TEST_CASE("steps from many threads each get their own answer") {
  TestCluster cluster(1, 2);
  const std::string graph = cluster.add_graph(
      0, "a = Add(x, x) -> $0 b = Add(a, x) -> $0.1 c = Add(b, a) -> $0", {"x"}, {"c"});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int32_t x = 1000 * t + i;
        const auto outcome =
            cluster.run(0, graph, {.feeds = {{"x", number(x)}}, .fetches = {"c"}, .step = x + 1});
        if (outcome.value("c") == number(5 * x)) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == 800);
}

// ---- Partial runs ----

const char* const kTwoSums = "ab = Add(a, b) abc = Add(ab, c)";

TEST_CASE("a partial run takes feeds as they come and gives fetches as they are ready") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, kTwoSums, {"a", "b", "c"}, {"ab", "abc"});
  const auto first = cluster.run(0, graph,
                                 {.feeds = {{"a", number(1)}, {"b", number(2)}},
                                  .fetches = {"ab"},
                                  .step = 3,
                                  .leg = Leg::more});
  CHECK(first.value("ab") == number(3));
  const auto last = cluster.run(
      0, graph, {.feeds = {{"c", number(10)}}, .fetches = {"abc"}, .step = 3, .leg = Leg::last});
  CHECK(last.value("abc") == number(13));
  CHECK(soon_idle(cluster.worker(0)));
}

TEST_CASE("a leg waits for feeds that a later one brings") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, kTwoSums, {"a", "b", "c"}, {"ab", "abc"});
  auto first = cluster.start(
      0, graph, {.feeds = {{"a", number(1)}}, .fetches = {"ab"}, .step = 3, .leg = Leg::more});
  CHECK_FALSE(first->is_done());
  const auto last = cluster.run(0, graph,
                                {.feeds = {{"b", number(2)}, {"c", number(10)}},
                                 .fetches = {"abc"},
                                 .step = 3,
                                 .leg = Leg::last});
  CHECK(last.value("abc") == number(13));
  CHECK(first->wait().value("ab") == number(3));
}

TEST_CASE("cancelling a leg ends the partial run") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, kTwoSums, {"a", "b", "c"}, {"ab", "abc"});
  auto first = cluster.start(
      0, graph, {.feeds = {{"a", number(1)}}, .fetches = {"ab"}, .step = 3, .leg = Leg::more});
  auto second = cluster.start(0, graph, {.fetches = {"abc"}, .step = 3, .leg = Leg::more});
  second->cancellation.cancel(cancelled("enough"));
  CHECK(first->wait().status.code() == Code::cancelled);
  CHECK(second->wait().status.code() == Code::cancelled);
}

TEST_CASE("a failure in a partial run reaches every leg with its cause") {
  TestCluster cluster;
  const std::string graph =
      cluster.add_graph(0, "f = Fail() ^a d = Add(b, b) ^f", {"a", "b"}, {"d"});
  auto first = cluster.start(
      0, graph, {.feeds = {{"b", number(1)}}, .fetches = {"d"}, .step = 3, .leg = Leg::more});
  const auto second =
      cluster.run(0, graph, {.feeds = {{"a", number(1)}}, .step = 3, .leg = Leg::last});
  CHECK(first->wait().status == invalid("no\n\t [[{{node f}}]]"));
  CHECK(second.status == invalid("no\n\t [[{{node f}}]]"));
}

TEST_CASE("a leg that asks for what the step never sends gets an error when it has run") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, "d = Add(a, a)", {"a"}, {"d"});
  const auto outcome = cluster.run(
      0, graph, {.feeds = {{"a", number(1)}}, .fetches = {"d", "e"}, .step = 3, .leg = Leg::last});
  CHECK(outcome.status.code() == Code::internal);
  CHECK(outcome.status.message().find("Failed to fetch outputs for step 3") != std::string::npos);
}

TEST_CASE("cleaning up ends a partial run that was given up") {
  TestCluster cluster;
  const std::string graph = cluster.add_graph(0, kTwoSums, {"a", "b", "c"}, {"ab", "abc"});
  auto first = cluster.start(
      0, graph, {.feeds = {{"a", number(1)}}, .fetches = {"ab"}, .step = 3, .leg = Leg::more});
  cluster.cleanup(0, 3);
  CHECK_FALSE(first->wait().status.ok());
}

}  // namespace
}  // namespace millrace::testing
